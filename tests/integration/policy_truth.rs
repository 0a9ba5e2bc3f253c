//! The truth table: the needs of each operation, against every set of capabilities, and between every two.
//! [`crate::truth_document`] publishes the same rows.
//!
//! A row says what must be granted. If it is granted, the answer must be the one that the kernel gives without
//! confinement. Otherwise it must be EACCES. A directory that may move, but whose contents are not judged, answers
//! EXDEV.

use std::fmt::Write as _;
use std::fs;

use macro_rules_attribute::apply;

use crate::attack::{arena, call};
use crate::layers::{Holder, row, share};
use crate::run::Mode;
use crate::scratch::Scratch;
use crate::truth_rows::{ABOVE, Row, SETS, above, between, capabilities, one_rule, onto, opening};

/// One answer for each line, in the same order.
fn answers(scratch: &Scratch, mode: Mode, flags: &str, lines: &[String]) -> Vec<String> {
    fs::write(scratch.path("ws/bin/lines"), lines.join("\n")).expect("the lines");
    let run = call(scratch, mode, &format!("-q {flags} -- batch bin/lines"));
    let seen: Vec<String> = run
        .stdout
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(seen.len(), lines.len(), "an answer for each line: {}", run.stderr);
    seen
}

/// Prepares two places in the workspace for a row, and returns the row's call there.
fn prepare(scratch: &Scratch, row: &Row, first: &str, second: &str) -> String {
    for place in [first, second] {
        fs::create_dir_all(scratch.ws().join(place)).expect("a place");
    }
    (row.make)(&scratch.ws().join(first), &scratch.ws().join(second));
    row.call.replace("{1}", first).replace("{2}", second)
}

/// The kernel's answer to each row without confinement.
pub(crate) fn kernel_answers(rows: &[Row]) -> Vec<String> {
    let scratch = arena(Scratch::new());
    let lines: Vec<String> = (0..)
        .zip(rows)
        .map(|(index, row): (usize, _)| {
            let first = format!("a/{index}");
            let second =
                if row.call.contains("{2}") { format!("b/{index}") } else { first.clone() };
            prepare(&scratch, row, &first, &second)
        })
        .collect();
    scratch.hand_over();
    answers(&scratch, Mode::Bare, "", &lines)
}

fn rule(text: &mut String, path: &str, caps: u8) {
    let _ = write!(text, "[[access.fs]]\npath = '{path}'\n");
    for name in capabilities(caps) {
        let _ = writeln!(text, "{name} = true");
    }
}

/// Returns the two places of a pair, with rules that grant the two sets there.
type Places = fn(usize, u8, u8) -> [String; 2];

/// Runs each row with every pair of sets in `pairs`: it must succeed exactly when they suffice.
fn assert_rows(rows: &[Row], rules: &str, pairs: &[(u8, u8)], places: Places) {
    let kernel = kernel_answers(rows);
    let scratch = arena(Scratch::new());
    let mut lines = Vec::new();
    let mut expected = Vec::new();
    let each = rows.iter().enumerate().zip(&kernel);
    let each = each.flat_map(|row| pairs.iter().map(move |&pair| (row, pair)));
    for (((index, row), answer), (first, second)) in share(&Holder::ALL, each) {
        let [at, to] = places(index, first, second);
        lines.push(prepare(&scratch, row, &at, &to));
        expected.push(row.answer(first, second, answer));
    }
    let policy = scratch.path("policy.toml");
    fs::write(&policy, rules).expect("a policy");
    scratch.hand_over();
    let seen = answers(&scratch, Mode::under_test(), &format!("-p {}", policy.display()), &lines);
    let wrong: Vec<String> = lines
        .iter()
        .zip(seen.iter().zip(expected))
        .filter(|(_, (seen, expected))| seen != expected)
        .map(|(line, (seen, expected))| format!("{line}: {seen}, not {expected}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        lines.len(),
        wrong[..wrong.len().min(80)].join("\n")
    );
}

fn bin() -> String {
    let mut rules = String::new();
    rule(&mut rules, "bin", 0b1_0001);
    rules
}

fn assert_one_rule(rows: &[Row]) {
    let mut rules = bin();
    for caps in SETS {
        rule(&mut rules, &format!("one/{caps}"), caps);
    }
    let pairs: Vec<(u8, u8)> = SETS.map(|caps| (caps, caps)).collect();
    assert_rows(rows, &rules, &pairs, |index, caps, _| {
        [format!("one/{caps}/{index}"), format!("one/{caps}/{index}")]
    });
}

fn every_pair() -> Vec<(u8, u8)> {
    SETS.flat_map(|first| SETS.map(move |second| (first, second))).collect()
}

// conformance: 076-39, 076-40, 076-41, 076-43, 076-152
#[apply(row!)]
fn opening_below_one_rule() {
    assert_one_rule(&opening());
}

// conformance: 076-39, 076-40, 076-41, 076-43, 076-152, 076-155
#[apply(row!)]
fn changing_entries_below_one_rule() {
    assert_one_rule(&one_rule());
}

// conformance: 076-42, 076-57, 076-58
#[apply(row!)]
fn between_two_rules() {
    let mut rules = bin();
    for caps in SETS {
        rule(&mut rules, &format!("from/{caps}"), caps);
        rule(&mut rules, &format!("to/{caps}"), caps);
    }
    assert_rows(&between(), &rules, &every_pair(), |index, from, to| {
        [format!("from/{from}/{index}/{to}"), format!("to/{to}/{index}/{from}")]
    });
}

#[apply(row!)]
fn a_directory_above_a_rule() {
    assert_above(&above());
}

#[apply(row!)]
fn a_name_above_a_rule() {
    assert_above(&onto());
}

fn assert_above(rows: &[Row]) {
    let mut rules = bin();
    for outer in SETS {
        rule(&mut rules, &format!("above/{outer}"), outer);
        for inner in SETS {
            for index in 0..rows.len() {
                rule(&mut rules, &format!("above/{outer}/{index}/{inner}/{ABOVE}"), inner);
            }
        }
    }
    assert_rows(rows, &rules, &every_pair(), |index, outer, inner| {
        [format!("above/{outer}/{index}/{inner}"), format!("above/{outer}/{index}/{inner}")]
    });
}
