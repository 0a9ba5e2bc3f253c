//! `authorize`: absolute paths, for programs in other languages (spec §15).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run};
use crate::scratch::Scratch;

const POLICY: &str = "[[access.fs]]\npath = '.'\nread = true\n\n[[tools.edit.access.fs]]\npath = 'dir'\nwrite = true\n";

/// A workspace with a symlink out of it.
fn workspace() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", POLICY);
    symlink(scratch.out(), scratch.path("ws/link")).expect("a link");
    scratch
}

/// The answers to `line`, with paths spelled by `$WS` and `$OUT`, and the exit status.
fn answers(scratch: &Scratch, line: &str) -> (Vec<Value>, i32) {
    let line = scratch.expand(line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let run = product(scratch, &words).run();
    let answers =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
    (answers, run.code())
}

#[test]
fn results_are_those_of_the_library() {
    let scratch = workspace();
    let line = "authorize read --json --source read_file $WS/file $WS/new $WS/link/secret $OUT/secret $WS/file/x";
    let (answers, status) = answers(&scratch, line);
    let ok = |name: &str| json!({"ok": true, "resolved_path": scratch.path(name)});
    assert_eq!((&answers[0], &answers[1]), (&ok("ws/file"), &ok("ws/new")));
    let reasons = ["symlink_escapes_workspace", "outside_workspace", "realpath_failed"];
    for (answer, reason) in answers[2..].iter().zip(reasons) {
        assert_eq!((&answer["ok"], &answer["reason"]), (&json!(false), &json!(reason)));
        let message = answer["message"].as_str().expect("a message");
        assert!(message.starts_with("read_file: "), "{message}");
    }
    assert_eq!((answers.len(), status), (5, 1));
}

/// In JSON such a path would name another file. In words it need not.
#[test]
fn what_is_not_utf8_is_answered_in_words_alone() {
    let scratch = workspace();
    scratch.write("ws/a\u{fffd}", "");
    std::fs::write(scratch.ws().join(OsStr::from_bytes(b"a\xff")), "").expect("a file");
    let answer = |line: &str| {
        let line = format!("exec {PRODUCT} {line} \"$(printf \"$WS/a\\377\")\"");
        Run::sh(&scratch, &scratch.expand(&line)).mode(Mode::Bare).run()
    };
    answer("authorize read").assert_ok().assert_stdout("/a\\xff\n");
    answer("authorize read --json").assert_code(1).assert_stdout("is not UTF-8");
    let answer = |line: &str| {
        let line = format!("exec {PRODUCT} {line} \"$(printf 'a\\377')\"");
        Run::sh(&scratch, &line).mode(Mode::Bare).run()
    };
    answer("check read").assert_ok().assert_stdout("allow read a\\xff\n");
    let run = answer("check --json read");
    run.assert_code(1).assert_stdout("\"resolved\": null").assert_stderr("it is not UTF-8");
}

#[test]
fn the_policy_of_the_tool_counts() {
    let scratch = workspace();
    let (refused, status) = answers(&scratch, "authorize write --json $WS/dir/new");
    assert_eq!((&refused[0]["reason"], status), (&json!("permission_denied"), 1));
    let (allowed, status) = answers(&scratch, "authorize write --json --tool edit $WS/dir/new");
    assert_eq!((&allowed[0]["ok"], status), (&json!(true), 0));
    product(&scratch, &["authorize", "write", "--tool", "edti", "/x"]).run().assert_code(125);
}

#[test]
fn further_folders_have_their_own_policies() {
    let scratch = workspace();
    let line = "authorize write --json --root $OUT $OUT/target $WS/link/target $WS/file";
    let (answers, status) = answers(&scratch, line);
    let oks: Vec<&Value> = answers.iter().map(|answer| &answer["ok"]).collect();
    assert_eq!((oks, status), (vec![&json!(true), &json!(true), &json!(false)], 1));
    scratch.write("out/jp-confine.toml", "[acess]\n");
    let run = |line: &str| {
        let line = scratch.expand(line);
        product(&scratch, &line.split_whitespace().collect::<Vec<_>>()).run()
    };
    run("authorize read --root $OUT $WS/file").assert_code(125);
    scratch.write("out/jp-confine.toml", "");
    let told = scratch.expand("--root $OUT: no policy file has [tools.edit]");
    let run = run("authorize read --tool edit --root $OUT $WS/file");
    run.assert_code(125).assert_stderr(&told);
}

/// A profile that a person wrote and names grants tool input what an option would (spec §18). A profile for programs
/// does not, even if a person wrote it.
#[test]
fn a_profile_that_is_named_counts_as_options_do() {
    let scratch = workspace();
    let own = scratch.expand("[profiles.git]\nread = ['$OUT', '/etc/passwd']\n");
    scratch.write("home/.config/jp-confine/config.toml", &own);
    let paths = "$OUT/secret $WS/link/secret /etc/passwd /etc/group";
    for (options, expected) in [
        ("", [false, false, false, false]),
        ("--profile none", [false, false, false, false]),
        ("--profile c", [false, false, false, false]),
        ("--profile git", [true, true, true, false]),
        ("-r $OUT -r /etc/passwd", [true, true, true, false]),
    ] {
        let (answers, _) = answers(&scratch, &format!("{options} authorize read --json {paths}"));
        let oks: Vec<&Value> = answers.iter().map(|answer| &answer["ok"]).collect();
        assert_eq!(oks, expected.map(|ok| json!(ok)).iter().collect::<Vec<_>>(), "{options}");
        let line = format!("{options} check read --json link/secret");
        let verdict = if expected[1] { "allow" } else { "deny" };
        assert_eq!(self::answers(&scratch, &line).0[0]["verdict"], json!(verdict), "{options}");
    }
    let (checked, _) = answers(&scratch, "--profile git check read --json link/secret");
    assert_eq!(checked[0]["granting"], json!([scratch.out(), "/etc/passwd", "."]));
    let (written, _) = answers(&scratch, "--profile git authorize write --json $OUT/secret");
    assert_eq!(written[0]["reason"], json!("permission_denied"));
}

#[test]
fn a_folder_that_is_not_there_authorises_nothing() {
    let scratch = workspace();
    let line = scratch.expand("authorize read --root $OUT/gone $OUT/gone/x $WS/file");
    let words: Vec<&str> = line.split_whitespace().collect();
    let run = product(&scratch, &words).run();
    run.assert_code(1).assert_stderr("authorises nothing");
    run.assert_stdout("refused authorize: ").assert_stdout(&scratch.expand("ok $WS/file"));
}

/// Inside a run, `openat2` is not available.
#[test]
fn it_answers_inside_a_run_too() {
    let scratch = workspace();
    let line = ["-x", PRODUCT, "--", PRODUCT, "authorize", "read", &scratch.expand("$WS/file")];
    product(&scratch, &line).run().assert_ok().assert_stdout(&scratch.expand("ok $WS/file"));
}
