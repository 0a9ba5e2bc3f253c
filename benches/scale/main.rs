//! Measures how costs grow: with runs at once, files in the workspace, rules, the depth of a tree, and programs started
//! by one run.
//!
//! `cargo bench --bench scale -- [--smoke] [PART]...`: `--smoke` uses small numbers and shows no times. The parts are
//! `runs`, `files`, `rules`, `depth` and `execs`. `JP_CONFINE_BENCH` names another build of this product.
//! `UPDATE_DOCS=1` writes the tables into `docs/benchmarks.md` and the plots into `docs/scale/`.

#[path = "../common/mod.rs"]
mod common;
mod execs;
mod growth;
mod plot;
mod processes;
mod runs;

use std::io::Result;

use common::sandboxes::{Sandbox, usable};
use common::{compile, page};
use plot::Panel;

/// The sandboxes that are compared.
const COMPARED: [&str; 4] = ["cooperative", "layered", "strict", "bubblewrap"];

/// What a part found out.
struct Findings {
    /// The first cell of the table, and the sizes.
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    panels: Vec<Panel>,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let smoke = words.iter().any(|word| word == "--smoke");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();

    let folder = tempfile::Builder::new().prefix("jp-scale-").tempdir()?;
    let folder = folder.path();
    compile(folder);
    let sandboxes: Vec<Sandbox> =
        usable(folder).into_iter().filter(|it| COMPARED.contains(&it.name)).collect();
    let mut text = page::machine();
    for part in ["runs", "files", "rules", "depth", "execs"] {
        if !wanted.is_empty() && !wanted.iter().any(|word| *word == part) {
            continue;
        }
        let found = match part {
            "runs" => runs::measure(folder, &sandboxes, smoke),
            "execs" => execs::measure(folder, &sandboxes, smoke),
            _ => growth::measure(part, folder, &sandboxes, smoke),
        };
        let heading: Vec<&str> = found.heading.iter().map(String::as_str).collect();
        text += &page::heading(&heading)?;
        for row in &found.rows {
            text += &page::row(row)?;
        }
        if page::is_updated() {
            plot::write(part, &found.panels).expect("a plot");
        }
    }
    if smoke || !wanted.is_empty() { Ok(()) } else { page::publish("scale", &text) }
}

/// A whole number with commas.
fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|it| str::from_utf8(it).expect("digits")).collect();
    groups.join(",")
}
