//! Messages about `--deny`: its warnings, its explanations, and the paths that name nothing.

use crate::attack::set_up;
use crate::cli_status::product;
use crate::cli_vfs::tool;
use crate::run::{Mode, Outcome, note};
use crate::scratch::Scratch;

/// Runs a command or a query in a fresh tree, and returns its messages as one line, too.
fn said(line: &[&str]) -> (Outcome, String) {
    let scratch = Scratch::new();
    set_up(&scratch, "touch .env");
    scratch.write("ws/sub/f", "");
    let run = product(&scratch, line).run();
    let text = format!("{} {}", run.stdout, run.stderr).replace('\n', " ");
    (run, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A person who denied more than was meant is told what to type.
#[test]
fn what_it_takes_with_it() {
    let workspace = "denies the workspace, too; to keep it, add -w";
    let system =
        "denies the system's programs and libraries, too; to keep them, add -x /usr -r /etc";
    for (line, warns, status) in [
        (&["--deny", "..", "--", "true"][..], &[workspace][..], 0),
        (&["--deny", "/", "--", "true"], &[workspace, system], 126),
        (&["--deny", "/", "-x", "/usr", "--", "/usr/bin/true"], &[workspace], 0),
        (&["--deny", "..", "-r", "sub", "--", "cat", "sub/f"], &[], 0),
        (&["--deny", "..", "-w", ".", "--", "cat", "sub/f"], &[], 0),
        (&["--deny", ".", "--", "true"], &[], 0),
    ] {
        let (run, text) = said(line);
        run.assert_code(status);
        for warning in [workspace, system] {
            assert_eq!(text.contains(warning), warns.contains(&warning), "{line:?}: {run}");
        }
        assert!(line.contains(&"-w") || !text.contains("may read .env"), "{line:?}: {run}");
    }
}

/// Questions about a path name the option.
#[test]
fn what_explains_it() {
    for (line, expected) in [
        (&["--deny", "..", "explain", "sub/f"][..], "read deny flag --deny .."),
        (&["--deny", "/", "explain", "/usr/bin/env"], "execute deny flag --deny /"),
        (&["--deny", "..", "-r", "sub", "explain", "sub/f"], "read allow flag -r sub"),
        (&["--deny", "..", "check", "read", "sub/f"], "the user denied it"),
        (&["--deny", "..", "--", "cat", "sub/f"], "denied read sub/f by cat flag --deny .."),
        (&["--deny", "..", "--", "cat", "sub/f"], "allow: jp-confine -r"),
    ] {
        let (run, text) = said(line);
        assert!(text.contains(expected), "{line:?}: {run}");
    }
    let scratch = Scratch::new();
    let home = scratch.home();
    let place = home.join("none");
    for denied in [home.as_path(), scratch.path("").as_path()] {
        let line =
            ["--deny", denied.to_str().expect("UTF-8"), "explain", place.to_str().expect("UTF-8")];
        product(&scratch, &line).run().assert_ok().assert_stdout("flag --deny");
    }
}

/// A pattern or a quoted `~` would deny nothing.
#[test]
fn what_names_nothing() {
    for (path, expected) in [
        ("*.key", "deny_paths"),
        ("sub/**", "deny_paths"),
        ("k[ab]", "deny_paths"),
        ("{a,b}", "deny_paths"),
        ("~/secret", "the shell replaces"),
        ("~", "the shell replaces"),
    ] {
        for line in [&["--", "true"][..], &["check", "read", "sub/f"], &["explain", "sub/f"]] {
            let (run, text) = said(&[&["--deny", path], line].concat());
            run.assert_code(125);
            assert!(text.contains(expected) && text.contains(path), "{run}");
        }
    }
    said(&["--deny", "later", "--", "true"]).0.assert_ok();
    let scratch = Scratch::new();
    scratch.write("ws/*.key", "TOPSECRET");
    let run = product(&scratch, &["--deny", "*.key", "--", "cat", "*.key"]).run();
    run.assert_code(1).assert_no_secret();
}

/// `--deny` also applies to the file service and to the programs that it starts.
#[test]
fn what_the_file_service_serves() {
    let script = r#"
        ask fs.read '{"path":"file"}'; show
        ask fs.read '{"path":"dir/f"}'; show
        tell result '{"content":""}'"#;
    let scratch = Scratch::new();
    scratch.write("ws/dir/f", "deeper\n");
    let run = tool(&scratch, &["--deny", "..", "-r", "dir"], script).mode(Mode::Confined).run();
    run.assert_ok().assert_stderr(r#""content":"deeper\n""#).assert_stderr("-32001");
    assert!(!run.stderr.contains("inside"), "{run}");
    let place = scratch.path("");
    let denied = ["--deny", place.to_str().expect("UTF-8")];
    let run = tool(&scratch, &denied, script).mode(Mode::Confined).run();
    assert_eq!(run.stderr.matches("-32001").count(), 2, "{run}");
}

/// Nothing is learned about a denied path, but deeper grants are learned.
#[test]
fn what_is_learned_below_it() {
    let scratch = Scratch::new();
    scratch.write("ws/dir/f", "deeper\n");
    let line = [
        "--deny",
        "..",
        "-r",
        "dir",
        "learn",
        "--output",
        "-",
        "--",
        "sh",
        "-c",
        "cat file; cat dir/f",
    ];
    let run = product(&scratch, &line).run();
    if run.code() == 125 {
        return note("skipped: learn cannot be had here");
    }
    run.assert_ok().assert_stdout("path = \"dir/f\"").assert_stderr("Permission denied");
    assert!(!run.stdout.contains("path = \"file\"\nread"), "{run}");
}
