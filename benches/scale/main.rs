//! Measures how costs grow: with runs at once, files in the workspace, rules, the depth of a tree, and programs started
//! by one run.
//!
//! `cargo bench --bench scale -- [--smoke] [PART]...`: `--smoke` uses small numbers, whose times mean nothing. The parts are
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

/// The sandboxes that are compared.
const COMPARED: [&str; 4] = ["cooperative", "layered", "strict", "bubblewrap"];

/// Each can be measured by itself.
const PARTS: [&str; 5] = ["runs", "files", "rules", "depth", "execs"];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let smoke = words.iter().any(|word| word == "--smoke");
    let wanted: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();

    let folder = tempfile::Builder::new().prefix("jp-scale-").tempdir()?;
    let folder = folder.path();
    compile(folder);
    let sandboxes: Vec<Sandbox> =
        usable(folder).into_iter().filter(|it| COMPARED.contains(&it.name)).collect();
    let mut columns = vec!["what grows", "measured", "bare"];
    columns.extend(sandboxes.iter().map(|it| it.name));
    let mut text = page::machine() + &page::heading(&columns)?;
    for part in PARTS {
        if !wanted.is_empty() && !wanted.iter().any(|word| *word == part) {
            continue;
        }
        let panels = match part {
            "runs" => runs::measure(folder, &sandboxes, smoke),
            "execs" => execs::measure(folder, &sandboxes, smoke),
            _ => growth::measure(part, folder, &sandboxes, smoke),
        };
        for panel in &panels {
            text += &page::row(&panel.row(&columns[2..]))?;
        }
        if page::is_updated() && !smoke {
            plot::write(part, &panels).expect("a plot");
        }
    }
    let plots = PARTS.map(|part| format!("[{part}](scale/{part}.svg)"));
    text = format!("{text}\nAs plots: {}.\n", plots.join(",\n"));
    if !smoke && wanted.is_empty() { page::publish("scale", &text) } else { Ok(()) }
}
