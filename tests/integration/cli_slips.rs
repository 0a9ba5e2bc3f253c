//! A likely slip in a policy file causes a warning with its file and line, or an error that says what to write.

use crate::cli_status::product;
use crate::scratch::Scratch;

/// Runs `cat file` under a policy file, and compares the messages.
fn says(file: &str, options: &[&str], expected: &str) {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", file);
    let run = product(&scratch, &[options, &["--", "cat", "file"]].concat()).run();
    let said = run.stderr.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    if expected.is_empty() {
        assert!(!said.contains("warning"), "{run}");
    } else {
        assert!(said.contains(expected), "no {expected:?}: {run}");
    }
}

#[test]
fn rules_on_paths_that_are_meant_otherwise() {
    const ROOT: &str = "[[access.fs]]\npath='.'\nread=true\nexecute=true\n";
    for (rule, expected) in [
        ("path='file'\nread=true", ""),
        ("path='new'\ncreate=true", ""),
        ("path='secert'", "`secert` does not exist"),
        ("path='src/*.rs'\nread=true", "`src/*.rs` is a literal path"),
        ("path='src/*.rs'\nread=true", "(line 6)"),
        ("path='~/notes'\nread=true", "a directory called `~` in the workspace"),
        ("path='./'\nread=true", "replaces the rule on line 2"),
    ] {
        says(&format!("{ROOT}[[access.fs]]\n{rule}\n"), &[], expected);
    }
}

#[test]
fn a_denial_that_is_no_pattern() {
    let scratch = Scratch::new();
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath='.'\nread=true\n[[access.fs]]\npath='*.key'\n",
    );
    let run = product(&scratch, &["--", "cat", "file"]).run();
    run.assert_code(125).assert_stderr("jp-confine.toml:5").assert_stderr("deny_paths");
    scratch.write("ws/*.key", "");
    product(&scratch, &["--", "cat", "file"]).run().assert_ok();
}

#[test]
fn hosts_that_nobody_allows() {
    let closed = "jp-confine.toml:1: `example.org` has no `allow`";
    says("[[access.net]]\nhost='example.org'\n", &[], closed);
    says("[[access.net]]\nhost='example.org'\nallow=false\n", &[], "");
    let narrowed = "[[access.net]]\nhost='a.org'\nallow=true\n[[access.net]]\nhost='a.org'\npath_prefix='/x'\n";
    says(narrowed, &[], "");
}

#[test]
fn rules_of_tools_without_their_name() {
    let file = "[tools.fmt]\nsource='local'\n[[tools.fmt.access.fs]]\npath='.'\nread=true\nexecute=true\n[tools.other]\nsource='local'\n";
    says(file, &[], "only `--tool fmt` has rules of access.fs: a run without `--tool`");
    says(file, &["--tool", "fmt"], "");
    says(file, &["--tool", "other"], "`other` may use everything in the workspace");
}

#[test]
fn more_warnings_than_people_read_are_counted() {
    let scratch = Scratch::new();
    let rule = |number| format!("[[access.fs]]\npath = 'missing-{number}'\nread = true\n");
    scratch.write("ws/jp-confine.toml", &(1..=20).map(rule).collect::<String>());
    let run = product(&scratch, &["-r", ".", "--", "true"]).run();
    run.assert_stderr("missing-16` does not exist");
    run.assert_stderr("4 more warnings: -v shows them");
    assert!(!run.stderr.contains("missing-17"), "{run}");
    product(&scratch, &["-v", "-r", ".", "--", "true"]).run().assert_stderr("missing-20");
}
