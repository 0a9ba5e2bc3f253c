//! Tests the policies that `init` writes, for workspaces of all sorts.

use std::fs;
use std::os::unix::fs::symlink;

use jp_confine_engine::approvals::ApprovedTargets;
use jp_confine_engine::canonical::Root;
use jp_confine_engine::compile;

use super::*;
use crate::config::layers::Layers;
use crate::config::policy_files::Named;

/// A workspace with these entries. An entry with `=` is a symlink.
fn workspace(entries: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in entries.split_whitespace() {
        match entry.split_once('=') {
            Some((name, text)) => symlink(text, folder.path().join(name)).expect("a link"),
            None => fs::write(folder.path().join(entry), "").expect("a file"),
        }
    }
    folder
}

/// The lines of the rules, without comments.
fn granted(entries: &str) -> String {
    let folder = workspace(entries);
    let root = folder.path().canonicalize().expect("a folder");
    let text = starter(&root);
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let words: Vec<&str> = lines.map(|line| line.trim_end_matches(" = true")).collect();
    words.join(" ").replace("[[access.fs]] path = ", "").replace('"', "")
}

#[test]
fn by_what_is_there() {
    let all = "read write execute";
    assert_eq!(granted(""), format!(". {all}"));
    assert_eq!(granted("Cargo.toml .git"), format!(". {all} target {all} .git read"));
    assert_eq!(granted("package.json .env"), format!(". {all} node_modules {all} .env"));
    assert_eq!(granted("Cargo.toml pom.xml target"), format!(". {all} target {all}"));
    assert_eq!(granted("Cargo.toml target=/usr"), format!(". {all}"), "only an example");
}

/// Asserts that a workspace's policy file with this `text` can be read and its rules are valid.
fn assert_stands(folder: &Path, text: &str) {
    let (root, file) = (Root::open(folder).expect("a root"), folder.join(FILE));
    fs::write(&file, text).expect("a policy file");
    let context = Context::bare(folder);
    let mut layers = Layers::load(&context, root.as_path(), Named::default())
        .unwrap_or_else(|failure| panic!("{failure:?}\n{text}"));
    let tool = text.contains("\n[tools.format]").then_some("format");
    let declared = layers.declared(tool).unwrap_or_else(|failure| panic!("{failure:?}\n{text}"));
    compile::compile(&root, declared.rules.as_deref(), &ApprovedTargets::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn every_example_stands_once_it_is_uncommented() {
    let everything = "Cargo.toml CMakeLists.txt package.json pyproject.toml .git .env";
    for entries in ["", everything, "Cargo.toml target=/usr"] {
        let folder = workspace(entries);
        let text = starter(&folder.path().canonicalize().expect("a folder"));
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_stands(folder.path(), &text);
        let is_example = |line: &str| {
            line.starts_with('#') && line != "#" && !["# ", "#:"].contains(&&line[..2])
        };
        assert!(text.lines().any(is_example));
        let uncommented: Vec<&str> =
            text.lines().map(|line| if is_example(line) { &line[1..] } else { line }).collect();
        assert_stands(folder.path(), &uncommented.join("\n"));
    }
}

#[test]
fn never_over_anything() {
    let folder = workspace("jp-confine.toml=elsewhere");
    let root = folder.path().canonicalize().expect("a folder");
    let place = WritePlace::of(&root, FILE.as_ref()).expect("a place");
    assert_eq!(place.create(b"x").expect_err("a link").kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_dir(&root).expect("listed").count(), 1, "something was left");
    assert!(!folder.path().join("elsewhere").exists());
}
