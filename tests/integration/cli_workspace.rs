//! Which directory is the workspace, where none is named.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};

use crate::cli_status::product;
use crate::scratch::Scratch;

#[test]
fn workspace_discovery() {
    let scratch = Scratch::new();
    scratch.write("ws/deep/below/x", "deep\n");
    let read_up = |cwd: &str| {
        product(&scratch, &["--", "cat", &scratch.expand("$WS/file")])
            .cwd(&scratch.path(cwd))
            .run()
            .code()
    };
    assert_eq!(read_up("ws/deep/below"), 1, "without a marker the folder itself is the workspace");
    std::fs::create_dir(scratch.path("ws/.git")).expect("a marker");
    assert_eq!(read_up("ws/deep/below"), 0, ".git marks the workspace");
    scratch.write("ws/deep/jp-confine.toml", "");
    assert_eq!(read_up("ws/deep/below"), 1, "the nearest marker counts");
    let named =
        ["-C", &scratch.expand("$WS"), "--", "cat", &scratch.expand("$WS/file")].map(String::from);
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    product(&scratch, &named).cwd(&scratch.path("ws/deep/below")).run().assert_ok();
}

/// Else a run would decide what the next one is held to.
#[test]
fn no_marker_below_a_policy_takes_from_it() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = ['**/secret']\n");
    scratch.write("ws/deep/secret", "SECRET\n");
    let run = |flags: &[&str], command: &str| {
        let line = [flags, &["--", "sh", "-c", command]].concat();
        product(&scratch, &line).cwd(&scratch.path("ws/deep")).run()
    };
    run(&[], "mkdir .git").assert_ok();
    run(&[], "cat secret").assert_code(1).assert_stderr("denied read");
    run(&[], "echo > jp-confine.toml").assert_ok();
    let refused = run(&[], "cat secret");
    refused.assert_code(125).assert_stderr("one above it").assert_stderr("-C ");
    run(&["-C", ".."], "cat secret").assert_code(1).assert_stderr("denied read");
    run(&["-C", "."], "cat secret").assert_stdout("SECRET\n");
}

#[test]
fn home_and_root_are_no_workspace_unless_named() {
    let scratch = Scratch::new();
    scratch.write("home/plain", "plain\n");
    for cwd in [scratch.home(), "/".into()] {
        product(&scratch, &["--", "true"]).cwd(&cwd).run().assert_code(125);
    }
    let home = scratch.expand("$HOME");
    product(&scratch, &["-C", &home, "--", "cat", "plain"]).cwd(&scratch.home()).run().assert_ok();
}

/// Else who may write to `/tmp` would decide what others' runs there are held to.
#[test]
fn what_a_stranger_left_where_everybody_may_write_marks_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("shared/own/secret", "SECRET\n");
    scratch.write("shared/deep/file", "");
    scratch.write("shared/.git", "");
    let shared = scratch.path("shared");
    std::fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("open to all");
    let run = |flags: &[&str]| {
        let line = [flags, &["--", "cat", "../own/secret"]].concat();
        product(&scratch, &line).cwd(&scratch.path("shared/deep")).run()
    };
    let leave = |name: &str| chown(shared.join(name), Some(1), Some(1)).expect("another's");
    run(&[]).assert_stdout("SECRET\n");
    leave(".git");
    run(&[]).assert_code(1).assert_stderr("denied read");
    scratch.write("shared/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    run(&[]).assert_stdout("SECRET\n");
    leave("jp-confine.toml");
    run(&[]).assert_code(125).assert_stderr("another user's").assert_stderr("-C ");
    run(&["-C", "."]).assert_code(1).assert_stderr("denied read");
    run(&["-C", ".."]).assert_stdout("SECRET\n");
    scratch.write("shared/deep/jp-confine.toml", "");
    run(&[]).assert_code(1).assert_stderr("denied read");
}
