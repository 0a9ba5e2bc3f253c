//! Prints tables, and with `UPDATE_DOCS` writes them into `docs/benchmarks.md`. Used by `programs` and `scale`.

use std::fs;
use std::io::{Result, Write as _, stdout};
use std::time::SystemTime;

/// Where the tables are.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");

/// Whether the documents are to be written.
pub(crate) fn is_updated() -> bool {
    std::env::var_os("UPDATE_DOCS").is_some()
}

/// Puts `text` between the markers of that name on the page, if that is wanted.
pub(crate) fn publish(name: &str, text: &str) -> Result<()> {
    if !is_updated() {
        return Ok(());
    }
    let page = fs::read_to_string(PAGE)?;
    let (begin, end) = (format!("<!-- begin of {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = page.split_once(&begin).expect("a marker");
    let (_, after) = rest.split_once(&end).expect("a marker");
    fs::write(PAGE, format!("{before}{begin}{text}{end}{after}"))
}

/// Prints the heading of a table. Returns it with the lines around it.
pub(crate) fn heading(cells: &[&str]) -> Result<String> {
    Ok("\n".to_owned() + &row(cells)? + "|" + &"---|".repeat(cells.len()) + "\n")
}

/// Prints a row, and returns it.
pub(crate) fn row<T: AsRef<str>>(cells: &[T]) -> Result<String> {
    let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
    let row = format!("| {} |\n", cells.join(" | "));
    stdout().write_all(row.as_bytes())?;
    Ok(row)
}

/// One sentence: the machine, how busy it was, and the date.
pub(crate) fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let load = read("/proc/loadavg");
    let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    format!(
        "Measured on {} on {model}, {cores} cores, Linux {}, at a load of {} before.\n",
        &date[..10],
        kernel.trim(),
        load.split(' ').next().unwrap_or_default()
    )
}
