//! What confinement costs: the same programs bare and confined, by turns, medians and quartiles.
//!
//! `cargo bench --bench programs -- [--smoke] [WORD]`: `--smoke` does everything once and says
//! nothing about time; with a word, only the cases whose name has it.
//! `JP_CONFINE_BENCH` is another line to confine by: `bwrap --dev-bind / /`, this program with options, or
//! `./kernel`, which is what the kernel's layers cost by themselves. Cases called "the least" run no sandbox: the
//! fewest system calls that use what was judged and nothing else.

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
