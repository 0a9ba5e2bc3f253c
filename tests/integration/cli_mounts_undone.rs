//! `--mount` and `--no-mount` take effect together or not at all. Shows what is taken back, and what is left (spec
//! §8.3, §8.4).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::cli_mounts::{approved, forked, in_terminal, link, say};
use crate::run::given;
use crate::scratch::Scratch;

/// Asserts that `line` fails for a reason with these words, and leaves the tree as it was.
fn assert_leaves_nothing(scratch: &Scratch, line: &str, why: &str) {
    let list = || {
        let run = say(scratch, "approvals list --json").stdout;
        let entries = |dir: &Path| -> Vec<_> {
            let mut names: Vec<_> = fs::read_dir(dir)
                .expect("listed")
                .map(|entry| entry.expect("one").path())
                .collect();
            names.sort();
            names
        };
        (entries(&scratch.ws()), entries(&scratch.out()), run)
    };
    let before = list();
    let run = say(scratch, &format!("{line} -- touch ran"));
    run.assert_code(125).assert_stderr(why);
    assert_eq!(list(), before, "{run}");
}

// conformance: d43-253
/// A run that fails later leaves nothing either.
#[test]
fn no_mount_without_a_run() {
    let scratch = Scratch::new();
    let line = "--mount fork=../out/dir --enforce cooperative --net a.test";
    assert_leaves_nothing(&scratch, line, "cannot hold network rules");
    say(&scratch, "--mount fork=../out/dir -- no-such-program").assert_code(127);
    assert_eq!(link(&scratch, "fork"), None);
    let question = say(&scratch, "--mount fork=../out/dir check read fork/inner");
    question.assert_stderr("only a run makes it; what is told of it here no run has");
    assert_eq!(link(&scratch, "fork"), None);
}

/// An approval counts for other runs as soon as it is given, but it stays only if its run starts.
#[test]
fn no_approval_without_a_run() {
    let Some(scratch) = given(&["script"], forked) else { return };
    let mut terminal = in_terminal(&scratch, &["--", "no-such-program"]);
    terminal.see("[y/N] ");
    terminal.keys("y\n");
    assert_eq!(terminal.end(), Some(127), "{}", terminal.screen());
    assert_eq!(approved(&scratch), "");
}

// conformance: d43-140, d43-141, d43-148, d43-152, d43-176
#[test]
fn all_mounts_or_none() {
    let scratch = Scratch::new();
    symlink(scratch.out(), scratch.path("ws/out")).expect("a link");
    symlink("missing", scratch.path("ws/broken")).expect("a link");
    let good = "--mount good=../out/dir --mount deep/er/good=../out/dir";
    for (bad, why) in [
        ("fork=../out/missing", "--mount fork=../out/missing: "),
        ("fork=../out/missing", "does not exist"),
        ("fork=dir", "inside the workspace"),
        ("../fork=../out/dir", "outside the workspace"),
        ("$WS/fork=../out/dir", "absolute"),
        ("file=../out/dir", "is no link"),
        ("dir=../out/dir", "is no link"),
        ("out=../out/dir", "leads to"),
        ("broken=../out/dir", "remove it"),
        ("out/fork=../out/dir", "is a link"),
        ("file/fork=../out/dir", "no directory"),
        ("good/below=../out/dir", "is a link"),
        ("good=../out", "twice"),
        ("edit:fork=../out/dir", "--tool edit"),
        ("fork", "NAME=PATH"),
    ] {
        assert_leaves_nothing(&scratch, &format!("{good} --mount {bad}"), why);
    }
    scratch
        .write("ws/jp-confine.toml", "[tools.far]\nsource = 'mcp'\n[[access.fs]]\npath = '/x'\n");
    assert_leaves_nothing(&scratch, good, "absolute");
    assert_leaves_nothing(&scratch, &format!("--tool far {good}"), "does not run here");
}

// conformance: d43-183, d43-184, d43-186, d43-254
#[test]
fn no_mount_removes_link_and_approval() {
    let scratch = Scratch::new();
    say(&scratch, "--mount fork=../out/dir --mount b=../out/dir -- true").assert_ok();
    assert_leaves_nothing(&scratch, "--no-mount=unknown", "mounted are: b, fork");
    assert_leaves_nothing(&scratch, "--mount fork=../out/target", "--no-mount fork removes it");
    assert_leaves_nothing(&scratch, "--no-mount=fork --mount c=../out/missing", "does not exist");
    say(&scratch, "--no-mount fork -- true").assert_ok();
    assert_eq!((link(&scratch, "fork"), approved(&scratch)), (None, "b=dir".to_owned()));
    // Another target in its place, in one command.
    say(&scratch, "--no-mount=b --mount b=../out/target -- cat b").assert_ok();
    assert_eq!(approved(&scratch), "b=target");
    // An entry that is no longer a symlink is not removed.
    fs::remove_file(scratch.path("ws/b")).expect("removed");
    scratch.write("ws/b", "precious");
    say(&scratch, "--no-mount -- true").assert_ok();
    assert_eq!((scratch.read("ws/b"), approved(&scratch)), ("precious".to_owned(), String::new()));
    assert_eq!(scratch.read("out/target"), "unchanged\n");
}

/// The symlinks in the directories may go in any order.
#[test]
fn no_mount_removes_the_directories_that_were_made_for_several_links() {
    for (made, gone) in [
        (&["--mount a/b/c=../out/dir", "--mount a/b/d=../out/dir"][..], ["a/b/c", "a/b/d"]),
        (&["--mount a/b/c=../out/dir", "--mount a/b/d=../out/dir"], ["a/b/d", "a/b/c"]),
        (&["--mount a/b/c=../out/dir --mount a/b/d=../out/dir"], ["a/b/c", "a/b/d"]),
        (&["--mount a/b/c=../out/dir", "--mount a/d/e=../out/dir"], ["a/b/c", "a/d/e"]),
    ] {
        let scratch = Scratch::new();
        for line in made {
            say(&scratch, &format!("{line} -- true")).assert_ok();
        }
        for name in gone {
            assert!(scratch.ws().join("a").exists(), "{made:?} without {gone:?}");
            say(&scratch, &format!("--no-mount {name} -- true")).assert_ok();
        }
        assert!(!scratch.ws().join("a").exists(), "{made:?} without {gone:?}");
    }
}

/// Directories that were created for a mount go with it, but no entry that is somebody else's does.
#[test]
fn no_mount_removes_the_directories_that_were_made_for_the_link() {
    let scratch = Scratch::new();
    let line = "--mount a/b/c=../out/dir --mount a/other=../out/dir --mount dir/d/e=../out/dir";
    say(&scratch, &format!("{line} -- true")).assert_ok();
    scratch.write("ws/dir/d/mine", "");
    say(&scratch, "--no-mount a/b/c --no-mount dir/d/e -- true").assert_ok();
    assert!(!scratch.ws().join("a/b").exists() && scratch.ws().join("dir/d/mine").exists());
    assert_eq!(link(&scratch, "a/other").as_deref(), Some("dir"));
    // The name can be used again at once.
    say(&scratch, "--mount x/y=../out/dir -- true").assert_ok();
    say(&scratch, "--no-mount x/y --mount x/y=../out/target -- cat x/y").assert_ok();
}

// conformance: d43-185, d43-190, d43-211, d43-231
/// Every mount in the list can be removed, even if its rules are a tool's.
#[test]
fn no_mount_removes_what_is_of_a_tool_alone() {
    let scratch = Scratch::new();
    let policy = "[[tools.look.access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    std::os::unix::fs::symlink("../out/dir", scratch.path("ws/fork")).expect("linked");
    say(&scratch, "--no-mount fork -- true").assert_ok();
    assert_eq!(link(&scratch, "fork"), None);
    std::os::unix::fs::symlink("../out/dir", scratch.path("ws/fork")).expect("linked");
    say(&scratch, "--no-mount -- true").assert_ok();
    assert_eq!(link(&scratch, "fork"), None);
}

/// If the last rule of a policy goes, the restriction stays.
#[test]
fn no_mount_never_lifts_a_restriction() {
    let scratch = forked();
    let run = say(&scratch, "check read file --no-mount");
    run.assert_code(1);
    say(&scratch, "--no-mount fork check read file").assert_code(1);
    let rule = "rule `.` (left by --no-mount";
    say(&scratch, "--no-mount fork explain file").assert_ok().assert_stdout(rule);
    assert_eq!(link(&scratch, "fork").as_deref(), Some("dir"), "a question changes nothing");
    say(&scratch, "--no-mount fork -- cat file").assert_code(1).assert_stderr(rule);
}
