//! Files that `fs.grep` skips because ignore files of the project name them.

use serde_json::{Value, json};

use crate::both::{Place, answer, rows};

const POLICY: &str = r#"{"access": {"fs": [
    {"path": ".", "read": true, "write": true},
    {"path": "none"}
]}}"#;

/// Writes `said`, then searches `paths` for "spring". It must be found in the files `expected`, in that order.
#[track_caller]
fn found(said: &[(&str, &str)], paths: &[&str], expected: &[&str]) {
    let write = |(path, text): &(&str, &str)| {
        ("fs.write", json!({"path": path, "content": text}), json!({}))
    };
    let line = |path: &&str| {
        let content = if path.contains(".rs") { "fn spring() {}" } else { "spring" };
        let line = json!({"line_number": 1, "content": content, "is_match": true});
        json!({"path": path, "lines": [line]})
    };
    let matches: Vec<Value> = expected.iter().map(line).collect();
    let grep = json!({"pattern": "^(fn )?spring", "paths": paths});
    let mut requests: Vec<_> = said.iter().map(write).collect();
    requests.push(("fs.grep", grep, json!({ "matches": matches })));
    rows(POLICY, &requests);
}

// conformance: d11-73
#[test]
fn files_say_what_is_passed_over() {
    found(&[(".gitignore", "*.rs\n/a.txt\n# rw\n")], &["."], &["rw/a.txt", "rw/seasons"]);
    found(&[(".gitignore", "rw/\n")], &["."], &["a.txt"]);
    found(&[("rw/.ignore", "/a.txt\n")], &["."], &["a.txt", "rw/b.rs", "rw/seasons"]);
    found(&[(".git/info/exclude", "a.txt\n")], &["."], &["rw/b.rs", "rw/seasons"]);
    found(&[("rw/.gitignore", "[\nseasons\n")], &["rw"], &["rw/a.txt", "rw/b.rs"]);
}

#[test]
fn the_nearest_word_counts_and_the_more_decisive_file() {
    let deeper = [(".gitignore", "a.txt\n*.rs\n"), ("rw/.gitignore", "!a.txt\n")];
    found(&deeper, &["."], &["rw/a.txt", "rw/seasons"]);
    let decisive = [("rw/.gitignore", "!a.txt\n"), (".ignore", "a.txt\n")];
    found(&decisive, &["."], &["rw/b.rs", "rw/seasons"]);
}

#[test]
fn what_is_named_is_searched_under_what_is_said_above() {
    found(&[(".gitignore", "a.txt\nrw\n")], &["a.txt"], &["a.txt"]);
    found(&[(".gitignore", "a.txt\nrw\n")], &["rw"], &["rw/b.rs", "rw/seasons"]);
    found(&[(".gitignore", "a.txt\n")], &["./rw"], &["./rw/b.rs", "./rw/seasons"]);
}

/// Compiled patterns take much more memory than their text.
#[test]
fn what_is_too_long_says_nothing() {
    let place = Place::in_memory(POLICY);
    let mut nobody = jp_confine_vfs::person::Nobody;
    let mut service = place.service(&mut nobody);
    let mut found = |path: &str, length: usize| {
        let said = json!({"path": path, "content": format!("b.rs\n#{}", "x".repeat(length - 6))});
        assert_eq!(answer(&mut service, "fs.write", &said), json!({}));
        let asked = json!({"pattern": "fn spring", "paths": ["rw"]});
        answer(&mut service, "fs.grep", &asked)["matches"].as_array().map(Vec::len)
    };
    assert_eq!(found("rw/.gitignore", 256 << 10), Some(0));
    assert_eq!(found("rw/.gitignore", (256 << 10) + 1), Some(1));
    assert_eq!(found("rw/.gitignore", 200 << 10), Some(0));
    // Ignore files above the directory count, too.
    assert_eq!(found(".ignore", 100 << 10), Some(0));
    assert_eq!(found(".ignore", 300 << 10), Some(0));
}

/// Otherwise a search would reveal the contents of a file that may not be read.
#[test]
fn what_may_not_be_read_says_nothing() {
    let hidden = r#"{"access": {"fs": [
        {"path": ".", "read": true, "write": true}, {"path": "rw/.gitignore", "write": true}
    ]}}"#;
    let write = json!({"path": "rw/.gitignore", "content": "b.rs\n"});
    let grep = json!({"pattern": "fn spring", "paths": ["rw"]});
    let line = json!({"line_number": 1, "content": "fn spring() {}", "is_match": true});
    let found = json!({"matches": [{"path": "rw/b.rs", "lines": [line]}]});
    rows(hidden, &[("fs.write", write, json!({})), ("fs.grep", grep, found)]);
}
