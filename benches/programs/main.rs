//! Measures what confinement costs: runs the same programs bare and with each sandbox, by turns, and prints medians and
//! quartiles.
//!
//! `cargo bench --bench programs -- [--smoke] [WORD]`: `--smoke` runs everything once and reports no times. `WORD`
//! selects the cases whose name contains it. `JP_CONFINE_BENCH` names another build of this product, with options if
//! need be. `UPDATE_DOCS=1` writes the tables into `docs/benchmarks.md`. Cases in the column "the least" run no
//! sandbox. They make the fewest system calls that act on the object that was judged, and no others.

mod cases;
#[path = "../common/mod.rs"]
mod common;

use std::io::Result;
use std::path::Path;

use cases::{Case, Show, Size, Table};
use common::measure::{Clock, Run, by_turns, quartiles};
use common::sandboxes::{Kind, Sandbox, usable};
use common::{compile, page};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let smoke = words.iter().any(|word| word == "--smoke");
    let size = if smoke { Size::SMOKE } else { Size::FULL };
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();

    let folder = tempfile::Builder::new().prefix("jp-bench-").tempdir()?;
    let folder = folder.path();
    compile(folder);
    cases::prepare(folder, size);
    let sandboxes = usable(folder);
    let mut text = page::machine();
    for table in cases::tables(folder, size) {
        let is_column = |it: &&Sandbox| !(table.is_of_calls && it.kind == Kind::Other);
        let sandboxes: Vec<&Sandbox> = sandboxes.iter().filter(is_column).collect();
        let mut names = vec![table.name, "bare"];
        names.extend(table.is_of_calls.then_some("the least"));
        names.extend(sandboxes.iter().map(|it| it.name));
        text += &page::heading(&names)?;
        for case in &table.cases {
            if wanted.iter().all(|word| case.name.contains(*word)) {
                text += &page::row(&cells(case, &table, &sandboxes, folder, smoke))?;
            }
        }
    }
    if !smoke && wanted.is_empty() { page::publish("programs", &text) } else { Ok(()) }
}

/// The row of a case. A cell stays empty if the sandbox cannot do what the case needs, or fails.
fn cells(case: &Case, table: &Table, by: &[&Sandbox], folder: &Path, smoke: bool) -> Vec<String> {
    let run = |line| Run {
        line,
        folder: folder.to_owned(),
        before: case.before.clone(),
        clock: case.clock,
    };
    let mut columns = vec![Some(run(case.line.clone()))];
    if table.is_of_calls {
        columns.push(case.least.clone().map(run));
    }
    columns.extend(by.iter().map(|sandbox| {
        let hole = case.hole.as_deref();
        let run = sandbox.confine(folder, &[], hole, &case.line).map(run)?;
        (sandbox.is_ours() || run.once().is_ok()).then_some(run)
    }));
    let runs: Vec<Run> = columns.iter().flatten().cloned().collect();
    let times = by_turns(&runs, case.rounds);
    let mut shown = times.iter().enumerate().map(|(which, own)| match (smoke, which) {
        (true, _) => "runs".to_owned(),
        (false, 0) => bare(quartiles(own.clone())[1], case.clock),
        (false, _) => compare(case, &times[0], own),
    });
    let cells = columns.iter().map(|run| match run {
        Some(_) => shown.next().expect("one for each run"),
        None => String::new(),
    });
    std::iter::once(case.name.clone()).chain(cells).collect()
}

/// A time in the unit that a reader expects.
fn bare(value: f64, clock: Clock) -> String {
    match clock {
        Clock::Wall => format!("{value:.1} ms"),
        Clock::Own => format!("{:.2} µs", value / 1e3),
    }
}

/// The median of pairs from the same rounds, and its quartiles.
fn compare(case: &Case, bare: &[f64], own: &[f64]) -> String {
    let pairs = bare.iter().zip(own);
    match case.show {
        Show::Ratio => {
            let [low, middle, high] = quartiles(pairs.map(|(bare, own)| own / bare));
            format!("{middle:.2} [{low:.2} {high:.2}]")
        }
        Show::Added => {
            let [low, middle, high] = quartiles(pairs.map(|(bare, own)| own - bare));
            format!("+{middle:.1} ms [{low:.1} {high:.1}]")
        }
    }
}
