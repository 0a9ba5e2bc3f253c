//! Generates `docs/conformance.md`: each statement of the documents that jp-confine follows, with the tests that show it.
//!
//! `tests/conformance/` has the statements. A comment like `// conformance: 076-31, 076-32` names those that a test shows.
//! It stands above the test, or above a row in it. Where the product differs, the statement names the decision
//! (`decision = "0060"`), the row of decision 0084 (`spec = "R20"`), or the difference itself (`differs`). If no test can
//! show a statement, `beyond` says why.
//! `UPDATE_DOCS=1` writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

const PAGE: &str = "docs/conformance.md";

/// The decision with a row for each contradiction between the documents.
const CONTRADICTIONS: &str = "0084";

const INTRODUCTION: &str = "# Conformance

jp-confine follows five documents. The tables have each of their statements in our own words, with the tests that show
it. Where jp-confine differs on purpose, the cell names the decision. A statement that no confined program can show has
the reason. `tests/conformance.rs` writes this page, and fails where a statement has none of these.

";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    document: String,
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    statements: Vec<Statement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    id: String,
    says: String,
    decision: Option<String>,
    spec: Option<String>,
    differs: Option<String>,
    beyond: Option<String>,
}

/// The tests that show each statement, as `file::function`.
type Tests = BTreeMap<String, BTreeSet<String>>;

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a directory, in order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let (directories, mut found): (Vec<_>, Vec<_>) = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .map(|entry| entry.path())
        .partition(|path| path.is_dir());
    found.extend(directories.iter().flat_map(|directory| files(directory)));
    found.sort();
    found
}

/// The name of the function or table that begins in a line. In `rows! { … }` each row is a test.
fn begins(line: &str, is_in_rows: bool) -> Option<&str> {
    let words = ["fn ", "def ", "const ", "static "];
    let mut words = words.iter().take(if line.starts_with(' ') { 2 } else { 4 });
    let qualifies = |text: &str| text.chars().all(|it| it.is_alphabetic() || " ()".contains(it));
    let named = words.find_map(|word| line.split_once(word)).filter(|(all, _)| qualifies(all));
    let rest = named.map(|(_, rest)| rest).or(is_in_rows.then(|| line.trim_start()))?;
    let (name, after) = rest.split_at(rest.find(|it: char| !it.is_alphanumeric() && it != '_')?);
    (named.is_some() || after.starts_with(':')).then_some(name)
}

/// Adds the tests that tags in one file name.
fn add_tests(file: &str, text: &str, tests: &mut Tests) {
    let (mut owner, mut waiting, mut is_in_rows) = ("", Vec::new(), false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        let comment = trimmed.strip_prefix("//").or_else(|| trimmed.strip_prefix('#'));
        if let Some(ids) = comment.and_then(|text| text.strip_prefix(" conformance: ")) {
            waiting.extend(ids.split(", "));
        } else if !trimmed.is_empty() && comment.is_none() && !trimmed.starts_with('@') {
            is_in_rows = line.ends_with("! {") || is_in_rows && line.starts_with(' ');
            owner = begins(line, is_in_rows).unwrap_or(owner);
            for id in waiting.drain(..) {
                tests.entry(id.to_owned()).or_default().insert(format!("`{file}::{owner}`"));
            }
        }
    }
    assert!(waiting.is_empty(), "{file} ends with a tag above no test");
}

fn tests() -> Tests {
    let mut tests = Tests::new();
    let directories = ["tests", "policy", "vfs", "shim", "launcher"].map(root);
    for path in directories.iter().flat_map(|directory| files(directory)) {
        if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            let file = path.strip_prefix(root("")).expect("below the root").display().to_string();
            add_tests(&file, &read(&path), &mut tests);
        }
    }
    tests
}

/// A link to a decision.
fn decision(number: &str) -> Result<String, String> {
    let names = files(&root("docs/decisions")).into_iter();
    let mut names = names.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let name = names.find(|name| name.starts_with(&format!("{number}-")));
    name.map(|name| format!("[{number}](decisions/{name})"))
        .ok_or_else(|| format!("there is no decision {number}"))
}

/// A link to the row about a contradiction.
fn contradiction(row: &str) -> Result<String, String> {
    let link = decision(CONTRADICTIONS)?;
    let page = link.split(['(', ')']).nth(1).map(|name| read(&root("docs").join(name)));
    page.is_some_and(|page| page.contains(&format!("\n| {row} |")))
        .then(|| format!("{row} of {link}"))
        .ok_or_else(|| format!("decision {CONTRADICTIONS} has no row {row}"))
}

/// The last cell of a statement, and which count it belongs to: shown, different, beyond.
fn cell(statement: &Statement, tests: &[String]) -> Result<(String, usize), String> {
    let spec = statement.spec.as_deref().map(contradiction).transpose()?;
    let decision = statement.decision.as_deref().map(decision).transpose()?;
    let differences = [spec, decision, statement.differs.clone()];
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    match (&differences[..], &statement.beyond, tests) {
        ([], None, []) => Err(format!("no test shows it: {}", statement.says)),
        ([], None, tests) => Ok((tests.join(", "), 0)),
        ([], Some(why), []) => Ok((format!("beyond: {why}"), 2)),
        (differences, None, tests) => {
            let differ = format!("differs: {}", differences.join(", "));
            Ok(([&[differ], tests].concat().join("; "), 1))
        }
        _ => Err("`beyond` beside a test or a decision".to_owned()),
    }
}

/// The page, and what is wrong with statements and tags.
fn page() -> (String, Vec<String>) {
    let (mut tests, mut ids, mut wrong) = (tests(), BTreeSet::new(), Vec::new());
    let mut counts = "| document | statements | shown by tests | different on purpose | beyond |\n\
                      |---|---|---|---|---|\n"
        .to_owned();
    let mut tables = String::new();
    for path in files(&root("tests/conformance")) {
        let parsed = toml::from_str(&read(&path));
        let Document { document, section } =
            parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let _ = write!(tables, "\n## {document}\n");
        let mut each = [0; 4];
        for Section { title, statements } in section {
            let _ = write!(tables, "\n### {title}\n\n| | statement | test |\n|---|---|---|\n");
            for statement in statements {
                let id = &statement.id;
                if !ids.insert(id.clone()) {
                    wrong.push(format!("{id}: two statements have this name"));
                }
                let shown: Vec<String> = tests.remove(id).unwrap_or_default().into_iter().collect();
                let (cell, count) = cell(&statement, &shown).unwrap_or_else(|problem| {
                    wrong.push(format!("{id}: {problem}"));
                    ("nothing".to_owned(), 3)
                });
                each[count] += 1;
                let says = statement.says.replace('|', "\\|");
                let _ = writeln!(tables, "| {id} | {says} | {cell} |");
            }
        }
        let (all, [shown, differ, beyond, _]) = (each.iter().sum::<usize>(), each);
        let _ = writeln!(counts, "| {document} | {all} | {shown} | {differ} | {beyond} |");
    }
    wrong.extend(tests.iter().map(|(id, tests)| format!("{id}: no such statement: {tests:?}")));
    (format!("{INTRODUCTION}{counts}{tables}"), wrong)
}

#[test]
fn every_statement_is_shown_or_explained() {
    let (made, wrong) = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(root(PAGE), &made).expect("the page");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read(&root(PAGE)) == made, "{PAGE} is out of date: run with UPDATE_DOCS=1");
}
