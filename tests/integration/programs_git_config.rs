//! git writes its configuration in ordinary work, which needs no prompt. Settings that start programs need one.

use std::fs;

use crate::attacks_busybox::busybox;
use crate::run::{Mode, Outcome, Run, given, have};
use crate::scratch::Scratch;

/// Ways of enforcing with a supervisor that reads what is written.
const ENFORCED: [&str; 2] = ["layered", "strict"];

/// Ordinary work, line by line: in the workspace, with a remote `hub` in it, and with one to read in `$OUT`.
const ORDINARY: &[&str] = &[
    "git config user.name Somebody",
    "git config user.email some@host.test",
    "echo more >>file; git add file; git commit -qm second",
    "git checkout -q -b topic hub/main",
    "git push -q -u hub topic:topic",
    "git checkout -q -b topic2; git push -q -u hub topic2",
    "git branch -q --set-upstream-to=hub/main topic",
    "git branch --unset-upstream topic",
    "git branch -m topic renamed",
    "git branch -c renamed copied",
    "git checkout -q main; git branch -q -D renamed copied",
    "git branch --edit-description topic2",
    // The run may remove what it added itself.
    "git remote add new https://host.test/x; git remote set-url new git@host.test:y
     git remote set-url --push new ssh://host.test/y; git remote set-branches --add new side
     git remote rename new newer; git remote remove newer",
    "git remote add stays https://host.test/x; git remote set-url stays ssh://host.test/y",
    "git remote add here $OUT/up.git; git fetch -q here; git remote remove here",
    // No run fills these with hooks without a prompt.
    "git remote add inside $WS/hub.git; git push -q inside main; git remote remove inside",
    "git clone -q . again; git -C again fetch -q; git clone -q --bare hub.git twice.git; git -C twice.git remote update 2>/dev/null",
    "git branch -q --track tracking hub/main; git checkout -q --track -b other hub/main",
    "git fetch -q hub; git rebase -q hub/main; git merge -q main; git pull -q --rebase",
    "echo change >>file; git stash -q; git stash pop -q; git checkout -q file",
    "git gc -q; git tag v1; git push -q hub v1",
    "git worktree add -q wt -b beside; git worktree list >/dev/null; git worktree remove wt",
    "git worktree add -q --track -b along wt2 hub/main",
    "git sparse-checkout set dir; git sparse-checkout disable",
    "git init -q inner; git -C inner config user.name Other; git -C inner remote add o https://host.test/",
    "git clone -q file://$OUT/up.git cloned; git -C cloned checkout -q -b topic; git -C cloned branch -m other",
    "git -c protocol.file.allow=always submodule --quiet add file://$OUT/up.git sub",
    "git commit -qm submodule; git submodule --quiet sync; git submodule --quiet status >/dev/null",
    "git submodule --quiet deinit -f sub",
    UNCONFINED,
    "git -c protocol.file.allow=always submodule --quiet update --init",
    "git -C sub checkout -q -b inside; git -C sub config user.name Other",
    "git config --unset user.name; git config --remove-section user",
];

/// Outside the run, the repository of the submodule is now created anew.
const UNCONFINED: &str = "rm -rf .git/modules/sub";

/// Settings that start programs or lead to some that do, and the variable that the denial names.
const DANGEROUS: &[(&str, &str)] = &[
    ("git config core.fsmonitor /x", "core.fsmonitor"),
    ("git config alias.x '!sh'", "alias.x"),
    ("git config core.hooksPath hooks", "core.hookspath"),
    ("git config --add include.path x", "include.path"),
    ("git config includeIf.onbranch:main.path x", "includeif.onbranch:main.path"),
    ("git remote add x 'ext::sh -c id'", "remote.x.url"),
    ("git remote add x ./hub.git", "remote.x.url"),
    ("git remote add x $WS/dir", "remote.x.url"),
    ("git remote add x -- -x", "remote.x.url"),
    ("git remote remove hub", "remote.hub.url"),
    ("git remote set-url hub ''", "remote.hub.url"),
    ("git config filter.x.clean id", "filter.x.clean"),
    ("git config diff.x.textconv id", "diff.x.textconv"),
    ("git config credential.helper '!id'", "credential.helper"),
    ("git config gpg.program x", "gpg.program"),
    ("git config remote.hub.uploadpack x", "remote.hub.uploadpack"),
    ("git config remote.hub.receivepack x", "remote.hub.receivepack"),
    ("git config remote.hub.vcs x", "remote.hub.vcs"),
    ("git config remote.hub.proxy x", "remote.hub.proxy"),
    ("git config url.ext::x.insteadOf https://", "url.ext::x.insteadof"),
    ("git config protocol.ext.allow always", "protocol.ext.allow"),
    ("git config branch.main.remote ./hub.git", "branch.main.remote"),
    ("git config submodule.s.update '!id'", "submodule.s.update"),
    ("git config core.worktree ../dir", "core.worktree"),
    ("git config --unset core.pager", "core.pager"),
    ("cp .git/config x; echo '[core' >>x; mv x .git/config", "cannot read"),
    ("cp .git/config x; echo '[alias] x = !sh' >>x; mv x .git/config", "alias.x"),
    ("echo >>.git/config", "`.git/config`"),
    ("ln -f file .git/config", "`.git/config`"),
    ("ln -sf ../file .git/config", "`.git/config`"),
    ("rm -f .git/config", "`.git/config`"),
    ("cp .git/config x; sed -i s/less/more/ x; mv x .git/config", "core.pager"),
];

fn bare(scratch: &Scratch, script: &str) {
    let identity = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; set -e; ";
    let script = scratch.expand(&format!("{identity}{script}"));
    Run::sh(scratch, &script).mode(Mode::Bare).run().assert_ok();
}

/// A workspace with a commit, a remote in it, one outside, and a variable that starts a program.
fn repository() -> Scratch {
    let scratch = Scratch::for_ordinary_user();
    bare(
        &scratch,
        "git init -q -b main; git add file; git commit -qm first; git init -q --bare -b main hub.git
         echo hub.git >.git/info/exclude
         git remote add hub $WS/hub.git; git push -q hub main; git fetch -q hub; git config core.pager less",
    );
    bare(&scratch, "git clone -q --bare hub.git ../up.git; mkdir -p dir");
    bare(&scratch, "mv ../up.git $OUT/up.git");
    scratch
}

fn confined(scratch: &Scratch, enforce: &str, script: &str) -> Outcome {
    let script = scratch.expand(&format!("set -e; {script}"));
    let readable = scratch.expand("$OUT/up.git");
    let run = Run::sh(scratch, &script).flags(&[
        "--enforce",
        enforce,
        "--profile",
        "git",
        "-r",
        &readable,
    ]);
    run.env("GIT_EDITOR", "true").run()
}

#[test]
fn ordinary_work_needs_no_prompt() {
    if !have("git") {
        return;
    }
    for enforce in ENFORCED {
        let scratch = repository();
        for script in ORDINARY {
            if *script == UNCONFINED {
                bare(&scratch, script);
                continue;
            }
            let run = confined(&scratch, enforce, script);
            assert_eq!(run.code(), 0, "{enforce}: {script}: {run}");
            assert!(!run.stderr.contains("denied"), "{enforce}: {script}: {run}");
        }
        assert_ne!(confined(&scratch, enforce, "git config alias.x '!sh'").code(), 0);
        let config = scratch.read("ws/.git/config");
        assert!(config.contains("pager = less") && !config.contains("alias"), "{config}");
        let left = fs::read_dir(scratch.path("ws/.git/hooks")).expect("hooks");
        let is_left = |name: String| name.starts_with(".jp-confine");
        assert!(
            !left.flatten().any(|entry| is_left(entry.file_name().into_string().expect("UTF-8")))
        );
    }
}

/// A new repository in a workspace that was none before.
#[test]
fn a_workspace_becomes_a_repository() {
    if !have("git") {
        return;
    }
    for enforce in ENFORCED {
        let scratch = Scratch::for_ordinary_user();
        let script = "git init -q -b main; git config user.name x; git config user.email y; git add file; git commit -qm 1";
        let run = Run::sh(&scratch, script).flags(&["--enforce", enforce]).run();
        run.assert_ok();
        assert!(!run.stderr.contains("denied"), "{enforce}: {run}");
        assert!(scratch.read("ws/.git/config").contains("filemode = true"), "{enforce}");
        let run =
            Run::sh(&scratch, "git config core.fsmonitor /x").flags(&["--enforce", enforce]).run();
        assert_ne!(run.code(), 0, "{enforce}: {run}");
    }
}

#[test]
fn what_starts_programs_is_refused_by_its_name() {
    if !have("git") {
        return;
    }
    for enforce in ENFORCED {
        let scratch = repository();
        let before = scratch.read("ws/.git/config");
        for (script, name) in DANGEROUS {
            let run = confined(&scratch, enforce, script);
            assert_ne!(run.code(), 0, "{enforce}: {script}: {run}");
            let name = name.trim_matches('`');
            assert!(run.stderr.contains(name), "{enforce}: {script}: no word of {name}: {run}");
            assert_eq!(scratch.read("ws/.git/config"), before, "{enforce}: {script}");
        }
    }
}

/// Without a supervisor, nobody reads what is written.
#[test]
fn the_library_alone_lets_no_write_pass() {
    let Some(scratch) = given(&["git"], repository) else { return };
    let before = scratch.read("ws/.git/config");
    for script in [
        "git config user.name x",
        "git config core.fsmonitor /x",
        "git remote add x https://host.test/",
    ] {
        let run = confined(&scratch, "cooperative", script);
        assert_ne!(run.code(), 0, "{script}: {run}");
        assert_eq!(scratch.read("ws/.git/config"), before, "{script}");
    }
}

/// A push to a directory starts the hooks of the repository there.
#[test]
fn a_repository_that_the_run_can_change_is_no_remote() {
    let Some(scratch) = given(&["git"], repository) else { return };
    let repository = scratch.expand("$OUT/up.git");
    let add = |flags: &[&str], address: &str| {
        let script = scratch.expand(&format!("git remote add x {address} && git remote remove x"));
        Run::sh(&scratch, &script).flags(&["--profile", "git"]).flags(flags).run().code()
    };
    assert_eq!(add(&["-r", &repository], "$OUT/up.git"), 0);
    assert_eq!(add(&["-r", &repository], "file://$OUT/up.git/"), 0);
    for granted in ["", "/hooks", "/config", ".git"] {
        let granted = format!("{repository}{granted}");
        fs::create_dir_all(&granted).ok();
        let flags = ["-r", repository.as_str(), "-w", granted.as_str()];
        assert_ne!(add(&flags, "$OUT/up.git"), 0, "{granted}");
    }
    let link = scratch.expand("ln -s $OUT/up.git link");
    bare(&scratch, &link);
    for address in
        ["link", "$WS/link", "$OUT/../out/up.git", "$OUT/missing.git", "/proc/self/cwd/hub.git"]
    {
        assert_ne!(add(&["-r", &repository], address), 0, "{address}");
    }
}

/// The same for programs without the library.
#[test]
fn a_static_program_goes_the_same_way() {
    let (true, Some(program)) = (have("git"), busybox()) else { return };
    let scratch = repository();
    let write = |text: &str| {
        let script = format!(
            "cp .git/config .git/config.lock && printf '{text}' >>.git/config.lock && mv .git/config.lock .git/config"
        );
        Run::new(&scratch, program.to_str().expect("UTF-8"), &["sh", "-c", &script]).run()
    };
    let shell =
        |run: &Outcome| scratch.read("ws/.git/config").contains("name = new") && run.code() == 0;
    assert!(shell(&write("[user]\\n\\tname = new\\n")));
    let refused = write("[core]\\n\\tfsmonitor = /x\\n");
    assert_ne!(refused.code(), 0, "{refused}");
    refused.assert_stderr("core.fsmonitor");
    assert!(!scratch.read("ws/.git/config").contains("fsmonitor"));
}

/// Threads write to the file in every way that is open, while it is read and put in place.
#[test]
fn what_was_read_is_what_is_put_in_place() {
    if !have("python3") || !have("git") {
        return;
    }
    for enforce in ENFORCED {
        let scratch = repository();
        scratch.write("ws/race.py", RACE);
        let run = confined(&scratch, enforce, "python3 race.py");
        assert!(run.stdout.contains("passed "), "{enforce}: {run}");
        run.assert_stdout("refused");
        let config = scratch.read("ws/.git/config");
        assert!(!config.contains("fsmonitor"), "{enforce}: {config}");
        assert!(config.contains("pager = less"), "{enforce}: {config}");
    }
}

const RACE: &str = r#"
import os, threading, glob
good = open(".git/config", "rb").read()
evil = good + b"[core]\n\tfsmonitor = /x\n"
good += b"[user]\n\tname = somebody\n"
stop = False
def write(path, bytes):
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.pwrite(file, bytes, 0)
        os.ftruncate(file, len(bytes))
        os.close(file)
    except OSError:
        pass
def disturb():
    while not stop:
        write(".git/config.lock", evil)
        write(".git/config.lock", good)
def hunt():
    while not stop:
        for name in os.listdir(".git/hooks"):
            if name.startswith(".jp"):
                path = ".git/hooks/" + name
                write(path, evil)
                try: os.link(path, "kept")
                except OSError: pass
                try: os.replace("evil", path)
                except OSError: pass
def swap():
    while not stop:
        try:
            write("evil", evil)
            os.replace("evil", ".git/config.lock")
        except OSError:
            pass
threads = [threading.Thread(target=one) for one in (disturb, hunt, swap)]
for thread in threads: thread.start()
passed = bad = 0
for turn in range(200):
    write(".git/config.lock", good)
    try:
        os.rename(".git/config.lock", ".git/config")
        passed += 1
    except OSError:
        pass
    bad += b"fsmonitor" in open(".git/config", "rb").read()
stop = True
for thread in threads: thread.join()
# By a descriptor and another name of the same file, once it is in place.
write(".git/config.lock", good)
try: os.unlink("kept")
except OSError: pass
os.link(".git/config.lock", "kept")
held = os.open(".git/config.lock", os.O_RDWR)
os.rename(".git/config.lock", ".git/config")
os.pwrite(held, b"[core]\n\tfsmonitor = /x\n", 0)
write("kept", evil)
bad += b"fsmonitor" in open(".git/config", "rb").read()
write(".git/config.lock", evil)
try:
    os.rename(".git/config.lock", ".git/config")
    print("PASSED")
except OSError:
    print("refused")
print("passed", passed, "bad", bad)
raise SystemExit(bad)
"#;
