//! Generates `docs/truth-table.md` from the rows that [`crate::policy_truth`] checks.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::policy_truth::kernel_answers;
use crate::truth_rows::{Grid, Row, above, between, one_rule, onto, opening};

const INTRODUCTION: &str = "# The truth table

The tables show the capabilities that each operation needs. They come from the rows that
`tests/integration/policy_truth.rs` runs: each with all 32 sets of capabilities, and those about two rules with
all 1,024 pairs of sets. The capabilities are **r**ead, **c**reate, **u**pdate, **d**elete and e**x**ecute. If the
needed ones are granted, the answer is the kernel's own, given here. Otherwise it is EACCES.
";

/// `UPDATE_DOCS=1` writes the document anew.
#[test]
fn is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/truth-table.md");
    let made = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &made).expect("the document");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "docs/truth-table.md is not what the rows say: run with UPDATE_DOCS=1");
}

fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    text += "\n## Opening, below one rule\n\n";
    opening_table(&mut text);
    text += "\n## Entries and attributes, below one rule\n\n";
    table(&mut text, &one_rule());
    text += "\n## Between two rules\n\nThe first path lies below one rule, the second below another.\n\n";
    pair_tables(&mut text, &between());
    text += "\n## A directory above a rule\n\nThe directory lies below one rule. The anchor of \
             another rule lies further down in it.\n\n";
    pair_tables(&mut text, &above());
    text += "\n## A name above a rule\n\nThe name lies below one rule. The anchor of another rule lies further down. EXDEV \
             makes a program copy, so that each name is judged. The same holds for patterns below the name.\n\n";
    pair_tables(&mut text, &onto());
    text
}

/// A line for each row.
fn table(text: &mut String, rows: &[Row]) {
    *text += "| call | state | needs | answer |\n|---|---|---|---|\n";
    for (row, answer) in rows.iter().zip(kernel_answers(rows)) {
        let copied = if row.copied { "; EXDEV if only the first grants c" } else { "" };
        let (what, state, needs) = (&row.what, row.state, row.needs);
        let _ = writeln!(text, "| {what} | {state} | {needs} | {answer}{copied} |");
    }
}

/// A line for each row, and for some rows a table of all pairs of sets.
fn pair_tables(text: &mut String, rows: &[Row]) {
    table(text, rows);
    for row in rows.iter().filter(|row| row.gridded) {
        let (what, state) = (&row.what, row.state);
        let _ = write!(
            text,
            "\n{what}, {state} (down: the first rule; across: the second; `+` is granted{}):\n\n\
             ```\n{}```\n",
            if row.copied { ", `c` is EXDEV" } else { "" },
            Grid(row)
        );
    }
}

/// A line for each set of flags, a column for each state.
fn opening_table(text: &mut String) {
    let rows = opening();
    let answers = kernel_answers(&rows);
    let rows: Vec<(Row, String)> = rows.into_iter().zip(answers).collect();
    for (number, line) in rows.chunk_by(|one, next| one.0.what == next.0.what).enumerate() {
        if number == 0 {
            let states: Vec<&str> = line.iter().map(|(row, _)| row.state).collect();
            let _ = writeln!(text, "| flags | {} |", states.join(" | "));
            let _ = writeln!(text, "|---|{}", "---|".repeat(states.len()));
        }
        let cells: Vec<String> =
            line.iter().map(|(row, answer)| format!("{}: {answer}", row.needs)).collect();
        let _ = writeln!(text, "| {} | {} |", line[0].0.what, cells.join(" | "));
    }
}
