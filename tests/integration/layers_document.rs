//! Writes and checks the tables of `docs/enforcement.md`: the system calls, and the number of rows, the holders that
//! they run against, and the differences.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::layers::{all_tests, differences};
use crate::layers_calls;

/// Modules whose tests are rows: they run with every holder.
const MODULES: [&str; 3] = ["answers", "attacks_", "policy_"];

/// Modules of these names that are no rows, because they are about the machine or the library alone.
const ELSEWHERE: [&str; 3] = ["attacks_race", "attacks_faults", "attacks_machines"];

/// Rows of programs that the library is not in, or whose calls it does not see.
const BEYOND_THE_LIBRARY: [&str; 5] = [
    "attacks_bounds",
    "attacks_go",
    "attacks_instruction",
    "attacks_outside",
    "attacks_set_id_calls",
];

fn is_of_rows(module: &str) -> bool {
    MODULES.iter().any(|prefix| module.starts_with(prefix)) && !ELSEWHERE.contains(&module)
}

fn matrix() -> String {
    let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for test in all_tests() {
        let module = test.split("::").next().unwrap_or_default().to_owned();
        if is_of_rows(&module) {
            modules.entry(module).or_default().push(test);
        }
    }
    let mut text =
        "| tests | rows | library | supervisor | strict |\n|---|---|---|---|---|\n".to_owned();
    let mut sums = [0; 4];
    for (module, tests) in &modules {
        let all = tests.len();
        let like_the_others = ["library", "supervisor", "strict"].map(|holder| {
            let beyond = holder == "library" && BEYOND_THE_LIBRARY.contains(&module.as_str());
            let differing = differences().iter().filter(|difference| {
                difference.is_of(holder) && tests.iter().any(|test| test == difference.test)
            });
            if beyond { 0 } else { all - differing.count() }
        });
        let [library, supervisor, strict] = like_the_others;
        let _ = writeln!(text, "| `{module}` | {all} | {library} | {supervisor} | {strict} |");
        for (sum, count) in sums.iter_mut().zip([all, library, supervisor, strict]) {
            *sum += count;
        }
    }
    let [all, library, supervisor, strict] = sums;
    let _ = writeln!(text, "| together | {all} | {library} | {supervisor} | {strict} |\n");
    text.push_str("The differences and their reasons:\n\n");
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for difference in differences() {
        let row = difference.test;
        match reasons.last_mut() {
            Some((reason, tests)) if *reason == difference.reason => tests.push(row),
            _ => reasons.push((difference.reason, vec![row])),
        }
    }
    for (reason, tests) in reasons {
        let _ = writeln!(text, "- {reason} (`{}`)", tests.join("`, `"));
    }
    text
}

/// `UPDATE_DOCS=1` writes both tables anew.
#[test]
fn the_document_has_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/enforcement.md");
    let written = std::fs::read_to_string(path).expect("the document");
    let expected = with_part(&written, "matrix", &matrix());
    let expected = with_part(&expected, "calls", &layers_calls::table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(path, expected).expect("written");
    }
    assert_eq!(written, expected, "docs/enforcement.md is out of date: run with UPDATE_DOCS=1");
}

/// The document with that generated part.
fn with_part(document: &str, name: &str, part: &str) -> String {
    let begin = format!("<!-- begin of the {name} -->\n");
    let (before, rest) = document.split_once(&begin).expect("where the part begins");
    let end = format!("<!-- end of the {name} -->");
    let (_, after) = rest.split_once(&end).expect("where it ends");
    [before, &begin, part, &end, after].concat()
}

/// The matrix counts them for each holder.
#[test]
fn every_test_of_these_modules_is_a_row() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration");
    for file in std::fs::read_dir(folder).expect("the tests").flatten() {
        let path = file.path();
        if is_of_rows(&path.file_stem().unwrap_or_default().to_string_lossy()) {
            let text = std::fs::read_to_string(&path).expect("a module");
            let other = text.lines().position(|line| line.trim() == "#[test]");
            let other = other.map(|line| line + 1);
            assert!(other.is_none(), "{}:{other:?}: write `#[apply(row!)]`", path.display());
        }
    }
}
