//! Files that the launcher itself reads and writes, where a run may have left a symlink, a pipe or a home.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run};
use crate::scratch::Scratch;

/// A tree with `logs`, which an earlier run could write to.
fn tree() -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("logs/sub")).expect("made");
    scratch.write("home/.bashrc", "mine\n");
    scratch
}

fn pipe(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(status.success(), "{}", path.display());
}

/// Asserts that an option with such a path fails before anything runs. A run may have left what is at the path.
fn refused(scratch: &Scratch, line: &[&str], why: &str) {
    let line: Vec<String> = line.iter().map(|word| scratch.expand(word)).collect();
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let outcome = product(scratch, &[&words[..], &["--", "touch", "ran"]].concat()).run();
    outcome.assert_code(125).assert_stderr(&scratch.expand(why));
    assert!(!scratch.path("ws/ran").exists(), "{outcome}");
    assert_eq!(scratch.read("home/.bashrc"), "mine\n", "{outcome}");
}

#[test]
fn events_follow_no_symlink_that_a_run_could_have_made() {
    let scratch = tree();
    symlink("../home/.bashrc", scratch.path("logs/e")).expect("linked");
    symlink("../home/.new", scratch.path("logs/dangling")).expect("linked");
    symlink("../home", scratch.path("logs/to-home")).expect("linked");
    symlink("to-home", scratch.path("logs/further")).expect("linked");
    symlink("dir", scratch.path("ws/to-dir")).expect("linked");
    symlink(scratch.home(), scratch.path("ws/out")).expect("linked");
    for (path, link, target) in [
        ("../logs/e", "$WS/../logs/e", "$HOME/.bashrc"),
        ("../logs/sub/../e", "$WS/../logs/e", "$HOME/.bashrc"),
        ("../logs/dangling", "$WS/../logs/dangling", "$HOME/.new"),
        ("../logs/to-home/.bashrc", "$WS/../logs/to-home", "$HOME/.bashrc"),
        ("../logs/further/new", "$WS/../logs/further", "$HOME/new"),
        ("out/.bashrc", "$WS/out", "$HOME/.bashrc"),
        ("to-dir/e", "$WS/to-dir", "$WS/dir/e"),
    ] {
        let link = scratch.expand(link).replace("/ws/..", "");
        refused(&scratch, &["--events", path], &format!("{link} is a symlink that a run could"));
        refused(
            &scratch,
            &["--events", path],
            &format!("name the file that is meant: --events {target}"),
        );
    }
    assert!(!scratch.path("home/.new").exists() && !scratch.path("home/new").exists());
    // A name that no run could have made a symlink.
    let events = scratch.path("logs/fresh");
    product(&scratch, &["--events", events.to_str().expect("UTF-8"), "--", "true"])
        .run()
        .assert_ok();
    assert!(scratch.read("logs/fresh").contains("\"layer\""));
}

#[test]
fn events_wait_for_nobody() {
    let scratch = tree();
    pipe(&scratch.path("logs/pipe"));
    symlink("pipe", scratch.path("logs/to-pipe")).expect("linked");
    refused(&scratch, &["--events", "../logs/pipe"], "it is a pipe");
    refused(&scratch, &["--events", "../logs/to-pipe"], "is a symlink that a run could");
    refused(&scratch, &["--events", "../logs"], "Is a directory");
    refused(&scratch, &["vfs", "--events", "../logs/pipe"], "it is a pipe");
    // A process reads from it.
    let line = format!("exec 3<>../logs/pipe; {PRODUCT} --events ../logs/pipe -- touch ran");
    let outcome = Run::sh(&scratch, &line).mode(Mode::Bare).run();
    outcome.assert_code(125).assert_stderr("it is a pipe");
    assert!(!scratch.path("ws/ran").exists(), "{outcome}");
}

/// No run can replace a descriptor that the shell handed over.
#[test]
fn events_go_to_descriptors() {
    let scratch = tree();
    for (path, redirection) in [
        ("/dev/stderr", ""),
        ("/proc/self/fd/2", ""),
        ("/dev/fd/3", "3>&1"),
        ("/dev/stdout", ""),
        ("/dev/fd/4", "4>../log; cat ../log"),
    ] {
        let line = format!("{PRODUCT} --events {path} -- true {redirection}");
        let outcome = Run::sh(&scratch, &line).mode(Mode::Bare).run();
        outcome.assert_ok();
        let told = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(told.contains("\"event\":\"layer\""), "{path}: {outcome}");
    }
    refused(&scratch, &["--events", "/dev/fd/77"], "Bad file descriptor");
}

#[test]
fn what_is_learned_goes_through_no_symlink() {
    let scratch = tree();
    symlink("../home", scratch.path("logs/planted")).expect("linked");
    symlink(scratch.path("ws/dir"), scratch.path("ws/planted")).expect("linked");
    for option in ["-o", "--html"] {
        for path in ["../logs/planted/x", "../logs/sub/../planted/.bashrc", "planted/x"] {
            refused(&scratch, &["learn", option, path], "is a symlink that a run could have made");
            refused(&scratch, &["learn", "--force", option, path], "is a symlink that a run could");
        }
    }
    assert!(!scratch.path("home/x").exists() && !scratch.path("ws/dir/x").exists());
}

#[test]
fn policy_files_are_files() {
    let scratch = tree();
    pipe(&scratch.path("logs/pipe"));
    refused(&scratch, &["-p", "../logs/pipe"], "it is a pipe; hand it over as -p <(cat PIPE)");
    refused(&scratch, &["-p", "/dev/zero"], "it is no regular file");
    refused(&scratch, &["-p", "../logs"], "s a directory");
    let scratch = tree();
    fs::create_dir_all(scratch.path("home/.config/jp-confine")).expect("made");
    pipe(&scratch.path("home/.config/jp-confine/config.toml"));
    refused(&scratch, &[], "it is a pipe");
}

/// A policy outside the workspace has the user's trust. So no run may choose which file that is.
#[test]
fn a_policy_is_not_one_that_a_run_chose() {
    let scratch = tree();
    scratch.write("logs/evil.toml", "[file_policy]\nread_paths = ['/**']\n");
    symlink("../logs/evil.toml", scratch.path("ws/p.toml")).expect("linked");
    symlink("../logs", scratch.path("ws/policies")).expect("linked");
    symlink("policies", scratch.path("ws/further")).expect("linked");
    for path in ["p.toml", "$WS/p.toml", "policies/evil.toml", "further/evil.toml"] {
        refused(&scratch, &["-p", path], "is a symlink out of its workspace that a run could");
    }
    // The place of the file itself determines whose trust it has.
    scratch.write("ws/real.toml", "[file_policy]\ndeny_paths = ['<workspace>/file']\n");
    symlink("real.toml", scratch.path("ws/inside.toml")).expect("linked");
    product(&scratch, &["-p", "inside.toml", "--", "cat", "file"]).run().assert_code(1);
}

// conformance: tiers-31
/// People keep their configuration elsewhere, and set a symlink to it.
#[test]
fn a_configuration_may_be_a_symlink() {
    let scratch = tree();
    scratch.write(
        "home/dotfiles/jp/config.toml",
        "[file_policy]\ndeny_paths = ['<workspace>/file']\n",
    );
    fs::create_dir_all(scratch.path("home/.config/jp-confine")).expect("made");
    let file = scratch.path("home/.config/jp-confine/config.toml");
    symlink("../../dotfiles/jp/config.toml", &file).expect("linked");
    product(&scratch, &["--", "cat", "file"]).run().assert_code(1);
    fs::remove_dir_all(scratch.path("home/.config")).expect("removed");
    fs::create_dir_all(scratch.path("home/.config")).expect("made");
    symlink("../dotfiles/jp", scratch.path("home/.config/jp-confine")).expect("linked");
    product(&scratch, &["--", "cat", "file"]).run().assert_code(1);
    product(&scratch, &["--", "true"]).run().assert_ok();
}

/// A home that one run could write is no home for the next.
#[test]
fn a_home_in_the_workspace_is_refused() {
    let scratch = tree();
    let open = "[file_policy]\nread_paths = ['/**']\n";
    scratch.write("ws/home/.config/jp-confine/config.toml", open);
    scratch.write("ws/conf/jp-confine/config.toml", open);
    symlink(scratch.path("ws/home"), scratch.path("logs/to-ws")).expect("linked");
    symlink(scratch.home(), scratch.path("ws/to-home")).expect("linked");
    let lines: [&[&str]; 9] = [
        &["--", "touch", "ran"],
        &["--dry-run", "--", "touch", "ran"],
        &["check", "read", "file"],
        &["explain", "file"],
        &["compile"],
        &["learn", "--", "touch", "ran"],
        &["vfs", "--", "touch", "ran"],
        &["approvals", "list"],
        &["why", "--last"],
    ];
    for (variable, value, told) in [
        ("HOME", "$WS/home", "set HOME to a directory outside"),
        ("HOME", "$WS/none", "HOME is $WS/none, in the workspace $WS: a run could have written"),
        ("HOME", "$WS/to-home", "in the workspace"),
        ("HOME", "$WS/../logs/to-ws", "in the workspace"),
        ("XDG_CONFIG_HOME", "$WS/conf", "XDG_CONFIG_HOME is $WS/conf, in the workspace"),
        ("XDG_DATA_HOME", "$WS/data", "set XDG_DATA_HOME to a directory outside"),
        ("XDG_DATA_HOME", "$WS/dir/../data", "in the workspace"),
    ] {
        for line in lines {
            let run = product(&scratch, line).env(variable, &scratch.expand(value)).run();
            run.assert_code(125).assert_stderr(&scratch.expand(told));
            assert!(!scratch.path("ws/ran").exists(), "{run}");
        }
    }
    // A workspace below does not contain that home.
    let run =
        product(&scratch, &["-C", "dir", "--", "true"]).env("HOME", &scratch.expand("$WS/home"));
    run.run().assert_ok();
}
