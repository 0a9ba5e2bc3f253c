//! Which directory is the workspace, where none is named.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::PathBuf;

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

/// A marker below a policy takes nothing from it. Otherwise a run would decide which policy applies to the next one.
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

/// A directory that everybody may write to, like `/tmp`, with an entry of one user in it.
fn shared(scratch: &Scratch) -> PathBuf {
    scratch.write("shared/own/secret", "SECRET\n");
    let shared = scratch.path("shared");
    std::fs::set_permissions(&shared, Permissions::from_mode(0o1777)).expect("open to all");
    shared
}

/// A stranger's file where everybody may write marks no workspace. Otherwise anybody who may write to `/tmp` would
/// decide which policy applies to the runs of others there.
#[test]
fn what_a_stranger_left_where_everybody_may_write_marks_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new();
    let shared = shared(&scratch);
    scratch.write("shared/deep/file", "");
    scratch.write("shared/.git", "");
    let run = |flags: &[&str]| {
        let line = [flags, &["--", "cat", "../own/secret"]].concat();
        product(&scratch, &line).cwd(&scratch.path("shared/deep")).run()
    };
    let leave = |name: &str| chown(shared.join(name), Some(1), Some(1)).expect("another's");
    run(&[]).assert_stdout("SECRET\n");
    leave(".git");
    run(&[]).assert_code(125).assert_stderr("another user's").assert_stderr("-C . ");
    scratch.write("shared/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    run(&[]).assert_stdout("SECRET\n");
    leave("jp-confine.toml");
    run(&[]).assert_code(125).assert_stderr("another user's").assert_stderr("-C ");
    run(&["-C", "."]).assert_code(1).assert_stderr("denied read");
    run(&["-C", ".."]).assert_stdout("SECRET\n");
    let there = product(&scratch, &["--", "true"]).cwd(&shared).run();
    assert!(!there.assert_code(125).stderr.contains("-C . "), "that is the same place: {there}");
    scratch.write("shared/deep/jp-confine.toml", "");
    run(&[]).assert_code(125).assert_stderr("another user's");
}

/// A stranger's file above one's own mark does not count. Only the superuser could have given the mark away.
#[test]
fn what_a_stranger_left_above_a_mark_of_ones_own_is_nothing() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::for_ordinary_user();
    let shared = shared(&scratch);
    scratch.write("shared/deep/.git", "");
    scratch.write("shared/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    chown(shared.join("jp-confine.toml"), Some(1), Some(1)).expect("another's");
    let read = product(&scratch, &["--", "cat", "../own/secret"]).cwd(&scratch.path("shared/deep"));
    read.run().assert_code(1).assert_stderr("denied read");
    scratch.write("shared/.git", "");
    chown(shared.join(".git"), Some(1), Some(1)).expect("another's");
    std::os::unix::fs::symlink("../../ws", shared.join("own/link")).expect("linked");
    product(&scratch, &["-C", "link", "--", "true"]).cwd(&shared.join("own")).run().assert_ok();
}

/// A workspace that its user owns, but whose mark is another user's. `command` was run there, and opened it to all.
fn opened(mark: &str, text: &str, command: &str) -> Scratch {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/deep/secret", "SECRET\n");
    scratch.write(mark, text);
    scratch.hand_over();
    chown(scratch.path(mark), Some(1), Some(1)).expect("another's");
    let command = format!("chmod o+w . && ln -s ../out link && {command}");
    product(&scratch, &["--", "sh", "-c", &command]).run().assert_ok();
    scratch
}

fn assert_link_leads_nowhere(scratch: &Scratch) {
    let spelled = scratch.path("ws/link");
    let run = product(scratch, &["--", "ls"]).cwd(&spelled);
    let refused = run.env("PWD", spelled.to_str().expect("UTF-8")).run();
    refused.assert_code(125).assert_stderr("is a link out of the workspace").assert_stderr("-C ");
}

/// If a run opens a directory to all, another user's policy in it still counts. Otherwise no policy would apply to the
/// next run below.
#[test]
fn opening_a_directory_to_all_does_not_undo_anothers_policy_in_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let policy = "[file_policy]\ndeny_paths = ['**/secret']\n";
    let scratch = opened("ws/jp-confine.toml", policy, "mkdir deep/.git");
    let read = |flags: &[&str]| {
        let line = [flags, &["--", "cat", "secret"]].concat();
        product(&scratch, &line).cwd(&scratch.path("ws/deep")).run()
    };
    read(&[]).assert_code(125).assert_stderr("another user's").assert_stderr("-C . ");
    read(&["-C", ".."]).assert_code(1).assert_stderr("denied read");
    read(&["-C", "."]).assert_stdout("SECRET\n");
    assert_link_leads_nowhere(&scratch);
}

/// If a run opens a directory to all, another user's repository in it still counts. Otherwise a symlink in it would
/// lead the next run anywhere.
#[test]
fn opening_a_directory_to_all_does_not_undo_anothers_repository_in_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = opened("ws/.git", "", "true");
    assert_link_leads_nowhere(&scratch);
    let moved = product(&scratch, &["-C", ".", "--", "mv", ".git", "other"]).run();
    moved.assert_code(1).assert_stderr("the workspace's mark");
}

/// Programs of the superuser could have opened any directory, and given away its contents.
#[test]
fn for_the_superuser_anothers_mark_holds_the_links_below_it() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::new();
    let shared = shared(&scratch);
    scratch.write("shared/.git", "");
    for path in [shared.join(".git"), shared.clone()] {
        chown(path, Some(1), Some(1)).expect("another's");
    }
    let link = product(&scratch, &["-C", ".", "--", "ln", "-s", "../out", "link"]).cwd(&shared);
    link.run().assert_ok();
    let led = product(&scratch, &["-C", "link", "--", "true"]).cwd(&shared).run();
    led.assert_code(125).assert_stderr("is a link out of the workspace").assert_stderr("-C ");
    let moved = product(&scratch, &["-C", ".", "--", "mv", ".git", "other"]).cwd(&shared).run();
    moved.assert_code(1).assert_stderr("the workspace's mark");
}

/// A run cannot remove its workspace's mark. Otherwise the directory above would become the workspace of the next run.
#[test]
fn a_run_leaves_the_mark_of_its_workspace() {
    let scratch = Scratch::new();
    scratch.write("ws/.git/HEAD", "");
    scratch.write("ws/secret", "SECRET\n");
    let run = |name: &str, command: &str| {
        product(&scratch, &["--", "sh", "-c", command]).cwd(&scratch.path(name)).run()
    };
    scratch.write("ws/tree/.git/HEAD", "");
    scratch.write("ws/link/.git", "gitdir: ../.git/modules/link\n");
    for name in ["ws/tree", "ws/link"] {
        let moved = run(name, "mv .git other");
        moved.assert_code(1).assert_stderr("denied delete .git");
        moved.assert_stderr("the workspace's mark").assert_stderr("cannot be allowed");
        run(name, "rm -rf .git").assert_code(1).assert_stderr("denied delete .git");
        run(name, "cat ../secret").assert_code(1).assert_stderr("denied read");
    }
    run("ws/tree", "echo x > .git/HEAD && mkdir .git/hooks").assert_ok();
    run("ws", "mv .git other").assert_code(1).assert_stderr("the workspace's mark");
    run("ws", "rm -rf tree").assert_ok();
}

/// `git stash` tries that each time.
#[test]
fn to_remove_a_mark_that_is_not_empty_is_no_news() {
    let scratch = Scratch::new();
    scratch.write("ws/.git/HEAD", "");
    std::fs::create_dir_all(scratch.path("empty/.git")).expect("a marker");
    let run =
        |name: &str| product(&scratch, &["--", "rmdir", ".git"]).cwd(&scratch.path(name)).run();
    let refused = run("ws");
    assert!(!refused.assert_code(1).stderr.contains("denied delete"), "{}", refused.stderr);
    run("empty").assert_code(1).assert_stderr("denied delete .git");
    assert!(scratch.path("empty/.git").exists());
    // The policy file marks this workspace, and protects the contents of the directory.
    let rules = "[[access.fs]]\npath = '.git'\nread = true\nwrite = true\n
        [[access.fs]]\npath = '.git/HEAD'\nread = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let kept = run("ws");
    assert!(!kept.assert_code(1).stderr.contains("denied delete"), "{}", kept.stderr);
}

/// No grant would have allowed it. If the run was denied to empty the directory first, that denial counts.
#[test]
fn to_remove_what_is_not_empty_is_no_news_where_the_run_ended_well() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("ws/full/file", "");
    let run = |script: &str| product(&scratch, &["--", "sh", "-c", script]).run();
    let ended_well = run("rmdir full; true");
    assert!(!ended_well.assert_ok().stderr.contains("jp-confine:"), "{}", ended_well.stderr);
    product(&scratch, &["why", "--last"]).run().assert_ok().assert_stdout("denied delete");
    // To empty it comes first.
    let emptied = run("rm full/file; rmdir full; true");
    emptied.assert_ok().assert_stderr("1 denial did not matter");
}

/// Claude Code changes its file itself when it may not create the copy to replace it with.
#[test]
fn a_copy_that_a_program_did_without_is_no_news() {
    let scratch = Scratch::new();
    scratch.write("home/.claude.json", "{}");
    let copy = "copy=.claude.json.tmp.$$.bff727a06c6f; cd; true > $copy; rm -f $copy";
    let run = |rest: &str| {
        let script = format!("{copy}; {rest}");
        product(&scratch, &["--profile", "claude", "--", "sh", "-c", &script]).run()
    };
    let changed = run("echo '{\"a\": 1}' > .claude.json; exit 1");
    changed.assert_code(1);
    assert!(!changed.stderr.contains("jp-confine"), "{changed}");
    assert!(scratch.read("home/.claude.json").contains('a'), "{changed}");
    run("exit 1").assert_code(1).assert_stderr("denied create");
}

/// A policy counts even if others may write beside it. Otherwise no policy would apply to the next run below.
#[test]
fn who_may_write_beside_a_policy_makes_no_difference_to_who_wrote_it() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = ['**/secret']\n");
    scratch.write("ws/deep/secret", "SECRET\n");
    let opened = product(&scratch, &["--", "sh", "-c", "chmod o+w . && mkdir deep/.git"]);
    opened.run().assert_ok();
    let read = product(&scratch, &["--", "cat", "secret"]).cwd(&scratch.path("ws/deep")).run();
    read.assert_code(1).assert_stderr("denied read");
}

/// Programs may create a symlink where the next run will start.
#[test]
fn a_link_out_of_a_workspace_leads_to_none() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "");
    scratch.write("ws/deep/file", "");
    scratch.write("out/secret", "SECRET\n");
    let [link, out] = ["ws/link", "out"].map(|name| scratch.path(name));
    std::os::unix::fs::symlink("../out", &link).expect("planted");
    std::os::unix::fs::symlink("deep", scratch.path("ws/inner")).expect("linked");
    let planted = "is a link out of the workspace";
    let named = |dir: &str| product(&scratch, &["-C", dir, "--", "cat", "../out/secret"]).run();
    named("link").assert_code(125).assert_stderr(planted).assert_stderr("-C ");
    named("link/.").assert_code(125).assert_stderr(planted);
    named("../out").assert_stdout("SECRET\n");
    named("inner").assert_code(1);
    scratch.write("ws/deep/.git", "");
    std::os::unix::fs::symlink("..", scratch.path("ws/deep/up")).expect("linked");
    named("deep/up").assert_code(1).assert_stderr("denied read");
    std::fs::remove_file(scratch.path("ws/deep/.git")).expect("removed");
    let stood = |dir: &str| {
        let spelled = scratch.path(dir);
        let run = product(&scratch, &["--", "cat", "secret"]).cwd(&spelled);
        run.env("PWD", spelled.to_str().expect("UTF-8")).run()
    };
    stood("ws/link").assert_code(125).assert_stderr(planted);
    stood("ws/inner").assert_code(1).assert_stderr("cat: secret: No such file");
    product(&scratch, &["--", "cat", "secret"]).cwd(&out).run().assert_stdout("SECRET\n");
}
