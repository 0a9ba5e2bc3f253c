//! Names that the policy forbids to create, or prompts for, cannot appear through a move, a symlink or a hard link
//! above them (spec §5.2, R31).

use std::fs;
use std::os::unix::fs::symlink;

use macro_rules_attribute::apply;

use crate::attack::{arena_with, linkings, set_up};
use crate::layers::{Holder, row, share};
use crate::run::{Mode, Run, have, skip};
use crate::scratch::Scratch;
use crate::session::Session;

/// Patterns and rules that grant less on some names than on the directories above them.
const POLICIES: [&str; 7] = [
    "[file_policy]\ndeny_paths = ['<workspace>/up/in/name']\n",
    "[file_policy]\ndeny_paths = ['**/up/in/**']\n",
    "[file_policy]\nprompt_paths = ['<workspace>/up/in/name']\n",
    "[file_policy]\nread_paths = ['<workspace>/up/in/**']\n",
    "[file_policy]\ndefault = 'write'\ndeny_paths = ['<workspace>/{up,down}/**/name']\n",
    "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n
     [[access.fs]]\npath = 'up/in'\nread = true\n",
    "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n
     [[access.fs]]\npath = 'up/in/name'\n",
];

/// Makes the tree of the rows anew.
fn plant(scratch: &Scratch) {
    let ws = scratch.ws();
    for name in ["up", "d", "e", "f", "l", "m"] {
        let path = ws.join(name);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    fs::create_dir_all(ws.join("d/in")).expect("a directory");
    fs::create_dir(ws.join("e")).expect("a directory");
    fs::write(ws.join("d/in/name"), "x").expect("a file");
    fs::write(ws.join("f"), "f").expect("a file");
    symlink("d", ws.join("l")).expect("a symlink");
    symlink(ws.join("d"), ws.join("m")).expect("a symlink");
}

/// A call, its answer, and a shell test that holds afterwards.
const ROWS: [(&str, &str, &str); 31] = [
    ("rename d up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("sys_rename d up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename d/ up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename d up/", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename d ./e/../up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename_noreplace d up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename_held . d . up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename_held d/in .. . up", "EBUSY|EXDEV|ENOTEMPTY", "test -f d/in/name && test ! -e up"),
    ("whiteout d up", "EXDEV|EACCES", "test -f d/in/name && test ! -e up"),
    ("rename /proc/self/cwd/d up", "EXDEV", "test -f d/in/name && test ! -e up"),
    ("rename e up", "EXDEV", "test -d e && test ! -e up"),
    ("rename l up", "EACCES", "test -L l && test ! -L up"),
    ("sys_rename m up", "EACCES", "test -L m && test ! -L up"),
    ("rename_noreplace l up", "EACCES", "test -L l && test ! -L up"),
    ("rename l up/", "EACCES|ENOTDIR", "test -L l && test ! -L up"),
    ("symlink d up", "EACCES", "test ! -L up"),
    ("symlink $WS/d up", "EACCES", "test ! -L up"),
    ("symlink /proc/self/cwd/d up", "EACCES", "test ! -L up"),
    ("symlink ./d up", "EACCES", "test ! -L up"),
    ("symlink l up", "EACCES", "test ! -L up"),
    ("symlink e/../m up", "EACCES", "test ! -L up"),
    ("linkat_follow l up", "EACCES|EPERM|EXDEV", "test ! -e up"),
    ("symlink nowhere up", "EACCES", "test ! -L up"),
    ("symlinkat d up", "EACCES", "test ! -L up"),
    ("link l up", "EACCES", "test ! -L up"),
    ("rename f up", "ok", "grep -q f up && test ! -e f"),
    ("link f up", "ok", "grep -q f up && test -e f"),
    ("rename d u", "ok", "test -f u/in/name; rm -rf u"),
    ("symlink d e/s", "ok", "test -L e/s"),
    ("rename l e/up2", "ok", "test -L e/up2"),
    ("rename d/in e/in", "ok", "test -f e/in/name"),
];

/// Starts a run under the policy.
fn start(scratch: &Scratch, policy: &str) -> Session {
    let path = scratch.path("policy.toml");
    std::fs::write(&path, policy).expect("a policy");
    let flags = format!("--non-interactive -p {}", path.display());
    Session::start(scratch, "ws/bin/attack", &flags)
}

#[apply(row!)]
fn no_denied_name_comes_by_a_directory_or_a_symlink_above() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        for (first, policy) in POLICIES.into_iter().enumerate() {
            plant(&scratch);
            let mut session = start(&scratch, policy);
            // Each policy begins elsewhere, so that a holder takes all rows.
            let rows = ROWS.into_iter().cycle().skip(first).take(ROWS.len());
            for (line, expected, holds) in share(&Holder::ALL, rows) {
                plant(&scratch);
                let seen = session.call(&scratch, line);
                // Patterns of several automata are not compared. So nothing leaves a place that they may apply to.
                let is_unknown = policy.contains('{') && expected == "EXDEV" && seen == "EACCES";
                let is_expected = is_unknown || expected.split('|').any(|one| one == seen);
                assert!(is_expected, "{line}: {seen}, {linking:?}, {policy}");
                set_up(&scratch, holds);
            }
        }
    }
}

/// An exchange moves two entries in one step. Neither may move if it would create a denied name.
#[apply(row!)]
fn no_denied_name_comes_by_an_exchange() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        for policy in POLICIES {
            plant(&scratch);
            let mut session = start(&scratch, policy);
            for line in ["exchange d up", "exchange up d", "exchange l up", "exchange up l"] {
                plant(&scratch);
                fs::create_dir(scratch.path("ws/up")).expect("a directory");
                let seen = session.call(&scratch, line);
                assert!(["EACCES", "EXDEV"].contains(&seen.as_str()), "{line}: {seen}, {policy}");
                set_up(
                    &scratch,
                    "test -f d/in/name && test -L l && test ! -e up/in && test ! -L up",
                );
            }
        }
    }
}

/// A directory or symlink cannot replace a file that was there only while the move was judged.
#[apply(row!)]
fn no_denied_name_comes_in_place_of_a_file() {
    for &linking in linkings() {
        let scratch = arena_with(linking, Scratch::new());
        let policy = "[file_policy]\ndeny_paths = ['<workspace>/up/key']\n";
        let mut session = start(&scratch, policy);
        for other in ["d", "l"] {
            let line = format!("rename_swapped f {other} up");
            let attempt = || {
                set_up(
                    &scratch,
                    "rm -rf up d f l; mkdir d; cp $OUT/secret d/key; echo f >f; ln -s d l",
                );
                session.call(&scratch, &line)
            };
            // ENODATA: the move never met one of the two, or the other took its place and left nothing to swap.
            let answer =
                std::iter::repeat_with(attempt).take(30).find(|answer| answer != "ENODATA");
            let answer = answer.unwrap_or_default();
            assert_eq!(answer, "EACCES", "{line}, {linking:?}");
        }
    }
}

/// Makes the workspace a repository whose user can commit.
const REPOSITORY: &str = "git init -q; git config user.name n; git config user.email e";

/// Several steps, and tools that people use, do not create a denied name either.
#[apply(row!)]
fn no_denied_name_comes_by_several_steps() {
    for (needs, script) in [
        ("mv", "mkdir -p a/b; echo x >a/b/tasks.json; mv a/b .vscode"),
        ("mv", "mkdir -p a/.vscode; echo x >a/.vscode/tasks.json; mv a/.vscode ."),
        ("mv", "mkdir v w; echo x >v/tasks.json; mv -T v .vscode"),
        ("mv", "mkdir v; echo x >v/tasks.json; ln -s v l; mv l .vscode"),
        ("ln", "mkdir v; echo x >v/tasks.json; ln -s v .vscode"),
        ("ln", "mkdir v; echo x >v/tasks.json; ln -s v l; ln l .vscode"),
        ("ln", "mkdir v; echo x >v/tasks.json; ln -sfn $PWD/v .vscode; ln -sT v .vscode"),
        (
            "tar",
            "mkdir v; echo x >v/tasks.json; ln -s v .vscode2; tar cf t --transform 's/.vscode2/.vscode/' .vscode2; tar xf t",
        ),
        (
            "python3",
            "mkdir v; echo x >v/tasks.json; python3 -c 'import shutil; shutil.move(\"v\", \".vscode\")'",
        ),
        (
            "python3",
            "mkdir v; echo x >v/tasks.json; python3 -c 'import os; os.replace(\"v\", \".vscode\")'",
        ),
        ("git", "mkdir v; echo x >v/tasks.json; git add v; git mv v .vscode"),
        ("rsync", "mkdir v; echo x >v/tasks.json; rsync -a v/ .vscode/"),
        ("cp", "mkdir v; echo x >v/tasks.json; cp -a v .vscode"),
        ("busybox", "mkdir v; echo x >v/tasks.json; busybox mv v .vscode"),
        ("busybox", "mkdir v; echo x >v/tasks.json; busybox ln -s v .vscode"),
    ] {
        // The library alone confines no static program.
        let is_held = needs != "busybox" || Holder::under_test() != Holder::Library;
        if !have(needs) || !is_held {
            skip(needs);
            continue;
        }
        let scratch = Scratch::new();
        set_up(&scratch, REPOSITORY);
        let outcome = Run::sh(&scratch, script).flags(&["--deny", ".vscode/tasks.json"]).run();
        let denied = scratch.ws().join(".vscode/tasks.json");
        assert!(!denied.exists(), "{script}: {outcome}");
    }
}

/// Other names arrive as before. A directory above a denied name arrives by a copy.
#[apply(row!)]
fn other_names_come_as_before() {
    for (needs, script, holds) in [
        (
            "mv",
            "mkdir v; echo x >v/notes.txt; mv v .vscode",
            "test -f .vscode/notes.txt && test ! -e v",
        ),
        ("mv", "mkdir -p v/a/b; echo x >v/a/b/c; mv v u; mv u/a .", "test -f a/b/c"),
        (
            "python3",
            "mkdir v; echo x >v/s; python3 -c 'import shutil; shutil.move(\"v\", \".vscode\")'",
            "test -f .vscode/s && test ! -e v",
        ),
        (
            "busybox",
            "mkdir v; echo x >v/s; busybox mv v .vscode",
            "test -f .vscode/s && test ! -e v",
        ),
        (
            "tar",
            "mkdir -p p/.vscode; echo x >p/.vscode/notes.txt; ln -s p q; tar cf t p q; rm -rf p q; tar xf t",
            "test -f p/.vscode/notes.txt && test -L q",
        ),
        (
            "git",
            "mkdir d; echo x >d/f; ln -s d l; git add .; git commit -qm m; rm -rf d l; git checkout -q .; git mv d e",
            "test -f e/f && test -L l",
        ),
        (
            "python3",
            "python3 -m venv --without-pip venv && venv/bin/python -c 0",
            "test -L venv/bin/python",
        ),
        (
            "ln",
            "mkdir -p packages/x node_modules/.bin; ln -s ../packages/x node_modules/x; ln -s ../x/cli.js node_modules/.bin/x; mv node_modules nm",
            "test -L nm/x",
        ),
    ] {
        // The library alone confines no static program.
        let is_held = needs != "busybox" || Holder::under_test() != Holder::Library;
        if !have(needs) || !is_held {
            skip(needs);
            continue;
        }
        let scratch = Scratch::new();
        set_up(&scratch, REPOSITORY);
        let own =
            "[file_policy]\ndeny_paths = ['**/.git/hooks/own-*']\nprompt_paths = ['**/.envrc']\n";
        scratch.write("home/.config/jp-confine/config.toml", own);
        let flags = ["--deny", ".vscode/tasks.json"];
        Run::sh(&scratch, script).flags(&flags).run().assert_ok();
        set_up(&scratch, holds);
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}

/// A file may replace another file at a path above denied names, wherever it comes from. This also holds where the old
/// file may be updated but not deleted.
#[apply(row!)]
fn files_are_replaced_as_before() {
    let kept = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n\
                [[access.fs]]\npath = 'up'\nread = true\ncreate = true\nupdate = true\n";
    let replaced = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n\
                    [[access.fs]]\npath = 'up'\nread = true\nupdate = true\n";
    for (script, holds) in [
        ("echo new >f; mv f up", "grep -q new up"),
        ("echo new >$TMPDIR/f; mv $TMPDIR/f up", "grep -q new up"),
        ("echo new >f; python3 -c 'import os; os.replace(\"f\", \"up\")'", "grep -q new up"),
        ("echo old >file; echo new >$TMPDIR/f; mv $TMPDIR/f file", "grep -q new file"),
    ] {
        for rules in ["", kept, replaced] {
            let scratch = Scratch::new();
            set_up(&scratch, "echo old >up");
            let patterns = "[file_policy]\ndeny_paths = ['<workspace>/up/in/name', '**/*.own']\n";
            scratch.write("policy.toml", &format!("{rules}{patterns}"));
            let outcome = Run::sh(&scratch, script).flags(&["-p", "../policy.toml"]).run();
            outcome.assert_ok();
            set_up(&scratch, holds);
            set_up(&scratch, "! ls -A | grep jp-confine");
        }
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}

/// Ways to create a denied name through an entry above it. A pattern and an option deny the names, or they are auto-run
/// files, which need neither.
#[apply(row!)]
fn no_file_that_starts_by_itself_comes_by_what_is_above() {
    for (needs, script, denied) in [
        ("mv", "mkdir h; echo x >h/pre-push; mv -T h .git/hooks", ".git/hooks/pre-push"),
        (
            "mv",
            "rm -rf .git/hooks; mkdir h; echo x >h/pre-push; mv -T h .git/hooks",
            ".git/hooks/pre-push",
        ),
        ("mv", "mkdir h; echo x >h/pre-push; mv h hooks; mv hooks .git/", ".git/hooks/pre-push"),
        (
            "ln",
            "mkdir h; echo x >h/pre-push; rm -rf .git/hooks; ln -s ../h .git/hooks",
            ".git/hooks/pre-push",
        ),
        (
            "mv",
            "cp -r .git g; echo x >g/hooks/pre-push; mv .git o; mv g .git",
            ".git/hooks/pre-push",
        ),
        ("mv", "mkdir v; echo x >v/tasks.json; mv v .vscode", ".vscode/tasks.json"),
        ("ln", "mkdir v; echo x >v/tasks.json; ln -s v .vscode", ".vscode/tasks.json"),
        (
            "ln",
            "mkdir v; echo x >v/tasks.json; ln -s v a; ln -s a b; ln -s $PWD/b .vscode",
            ".vscode/tasks.json",
        ),
        (
            "python3",
            "mkdir v .vscode; echo x >v/tasks.json; python3 -c 'import ctypes; print(ctypes.CDLL(None).renameat2(-100, b\"v\", -100, b\".vscode\", 2))'",
            ".vscode/tasks.json",
        ),
        (
            "unshare",
            "mkdir v .vscode; echo x >v/tasks.json; unshare -Urm sh -c 'mount --bind v .vscode && cat .vscode/tasks.json && touch seen'",
            "seen",
        ),
        ("mkdir", "mkdir -p x/deep/er; echo x >x/deep/er/name; mv x secret", "secret/deep/er/name"),
        (
            "mkdir",
            "mkdir -p x/er secret/deep; echo x >x/er/name; mv x/er secret/deep",
            "secret/deep/er/name",
        ),
        (
            "mkdir",
            "mkdir -p y/x/deep/er; echo x >y/x/deep/er/name; ln -s y/x secret",
            "secret/deep/er/name",
        ),
        (
            "mkdir",
            "mkdir -p y/x/er secret; echo x >y/x/er/name; ln -s $PWD/y/x secret/deep",
            "secret/deep/er/name",
        ),
        (
            "mkdir",
            "mkdir -p y/x/er secret; echo x >y/x/er/name; ln -s ../y/x secret/deep",
            "secret/deep/er/name",
        ),
        (
            "mkdir",
            "mkdir -p a/b/own; echo x >a/b/own/key; mv a/b/own a/.own; mv a sub",
            "sub/.own/key",
        ),
        ("mkdir", "mkdir -p a/b; echo x >a/b/key; mv a/b a/.own", "a/.own/key"),
        ("mkdir", "mkdir -p a/b; echo x >a/b/key; ln -s b a/.own", "a/.own/key"),
        ("mkdir", "mkdir -p a/b; echo x >a/b/key; ln -s b l; mv l a/.own", "a/.own/key"),
    ] {
        if !have(needs) {
            skip(needs);
            continue;
        }
        if script.contains("worktree") && Holder::under_test() == Holder::Library {
            skip("without a supervisor nobody writes what leads git to a repository");
            continue;
        }
        let scratch = Scratch::new();
        set_up(&scratch, REPOSITORY);
        let own = "[file_policy]\ndeny_paths = ['**/.own/**']\n";
        scratch.write("home/.config/jp-confine/config.toml", own);
        let flags = ["--non-interactive", "--deny", "secret/deep/er/name"];
        let outcome = Run::sh(&scratch, script).flags(&flags).run();
        assert!(!scratch.ws().join(denied).exists(), "{script}: {outcome}");
    }
}

/// In a workspace without a repository, a run cannot bring in a repository of its own either.
#[apply(row!)]
fn no_repository_comes_by_what_is_above() {
    let fill = "mkdir -p g/hooks g/objects g/refs; echo ref: refs/heads/m >g/HEAD; echo x >g/hooks/pre-push";
    for script in [
        "mv g .git",
        "ln -s g .git",
        "ln -s $PWD/g l; mv l .git",
        "mkdir .git; mv -T g .git; mv g/hooks .git",
        "mkdir h; mv g h/.git; mv h/.git .",
        "mkdir h; mv g h/.git; ln -s h/.git .git",
        "mkdir .git; ln -s ../g/hooks .git/hooks",
        "echo gitdir: g >f; mv f .git; ln f .git; cp f .git",
    ] {
        let scratch = Scratch::new();
        let script = format!("{fill}; {script}");
        let outcome = Run::sh(&scratch, &script).flags(&["--non-interactive"]).run();
        let repository = scratch.ws().join(".git");
        let is_led = repository.is_file() || repository.join("hooks/pre-push").exists();
        assert!(!is_led, "{script}: {outcome}");
    }
}

/// If a tool cannot copy, the report says what to do instead, and which names are meant.
#[apply(row!)]
fn the_report_says_what_to_do_instead() {
    if !have("git") {
        return skip("git");
    }
    let scratch = Scratch::new();
    set_up(&scratch, REPOSITORY);
    let script = "mkdir v; echo x >v/f; git add v; git mv v .vscode; ln -s v up; false";
    let flags = ["--non-interactive", "--deny", "up/in/name"];
    let outcome = Run::sh(&scratch, script).flags(&flags).run();
    outcome.assert_stderr("denied create .vscode by git");
    outcome.assert_stderr("`.vscode/tasks.json` of the auto-run files");
    outcome.assert_stderr("cp -R v .vscode && rm -R v");
    outcome.assert_stderr("denied create up by ln");
    outcome.assert_stderr("up/in/name: flag --deny up/in/name");
    outcome.assert_stderr("mkdir up");
    let script = "mkdir -p v; cp -R v .vscode && rm -R v";
    Run::sh(&scratch, script).flags(&flags).run().assert_ok();
}

/// Tools that often move directories and symlinks still work.
#[apply(row!)]
fn ordinary_work_goes_on() {
    for (needs, script) in [
        (
            "tar",
            "mkdir -p p/q; echo x >p/q/f; ln -s q/f p/l; ln -s q p/d; tar cf t p; rm -rf p; tar xf t; test -f p/d/f",
        ),
        (
            "git",
            "mkdir -p d/e; echo x >d/e/f; ln -s d l; git add -A; git commit -qm m; git checkout -qb b; git mv d g; git commit -qm n; git checkout -q -; test -f d/e/f",
        ),
        (
            "git",
            "echo x >f; git add f; git commit -qm m; git worktree add -q wt; git clone -q . c; mv c cc; git -C cc status",
        ),
        (
            "mv",
            "mkdir -p node_modules/.x-123/lib node_modules/.bin; echo x >node_modules/.x-123/lib/i.js; mv node_modules/.x-123 node_modules/x; ln -s ../x/lib/i.js node_modules/.bin/x; mv node_modules/x node_modules/.x-old; rm -rf node_modules/.x-old",
        ),
        (
            "mv",
            "mkdir -p target/debug/incremental/a-working; echo x >target/debug/incremental/a-working/f; mv target/debug/incremental/a-working target/debug/incremental/a-done; mkdir t2; mv -T target t2; mv t2 target",
        ),
        (
            "mv",
            "mkdir -p build.tmp/a; echo x >build.tmp/a/b; rm -rf build; mv build.tmp build; ln -sfn build current; ln -s build next; mv -T next current; test -f current/a/b",
        ),
        (
            "python3",
            "mkdir -p s/t; echo x >s/t/u; python3 -c 'import os, shutil, tempfile; os.rename(\"s\", \"r\"); d = tempfile.mkdtemp(dir=\".\"); shutil.move(\"r\", d); os.replace(d, \"z\")'; test -f z/r/t/u",
        ),
    ] {
        if !have(needs) {
            skip(needs);
            continue;
        }
        if script.contains("worktree") && Holder::under_test() == Holder::Library {
            skip("without a supervisor nobody writes what leads git to a repository");
            continue;
        }
        let scratch = Scratch::new();
        set_up(&scratch, REPOSITORY);
        Run::sh(&scratch, &format!("set -e; {script}")).run().assert_ok();
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}
