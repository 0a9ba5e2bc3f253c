//! Measures what confinement costs: runs the same programs bare and confined, by turns, and prints medians and
//! quartiles.
//!
//! `cargo bench --bench programs -- [--smoke] [WORD]`: `--smoke` runs everything once and reports no times. `WORD`
//! selects the cases whose name contains it.
//! `JP_CONFINE_BENCH` names another command to confine with: `bwrap --dev-bind / /`, this program with options, or
//! `./kernel`, which measures the kernel's layers by themselves. Cases called "the least" run no sandbox. They make the
//! fewest system calls that act on the object that was judged, and no others.

mod cases;
mod measure;

use std::io::{Result, Write as _, stdout};

use cases::Size;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let smoke = words.iter().any(|word| word == "--smoke");
    let size = if smoke { Size::SMOKE } else { Size::FULL };
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();

    let folder = tempfile::Builder::new().prefix("jp-bench-").tempdir()?;
    cases::prepare(folder.path(), size);
    writeln!(
        stdout(),
        "{:34} {:>10} {:>10}      ratio  quartiles        added",
        "",
        "bare",
        "confined"
    )?;
    for case in cases::cases(folder.path(), size) {
        if wanted.iter().all(|word| case.name.contains(*word)) {
            let result = case.measure(folder.path());
            if smoke {
                writeln!(stdout(), "{:34} runs", case.name)?;
            } else {
                writeln!(stdout(), "{:34} {result}", case.name)?;
            }
        }
    }
    Ok(())
}
