//! Where names are equal that differ only in case, a denial covers every spelling, and a grant covers only its own
//! (spec §4.4). NTFS by `lowntfs-3g -o ignore_case` stands for all such file systems.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use macro_rules_attribute::apply;

use crate::attack::{arena, set_up};
use crate::layers::{Holder, row};
use crate::run::{Mode, Run, have, skip};
use crate::scratch::Scratch;
use crate::session::Session;

/// A scratch tree in which a directory ignores case.
struct Insensitive {
    scratch: Scratch,
    place: PathBuf,
}

impl Insensitive {
    /// Mounts the file system at `place`. Where this machine has none, says so and returns `None`.
    fn at(place: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can mount this");
            return None;
        }
        if !have("lowntfs-3g") || !have("mkntfs") {
            return None;
        }
        let scratch = Scratch::new();
        let [place, disk] = [place, "disk"].map(|name| scratch.path(name));
        fs::create_dir_all(&place).expect("a place");
        fs::write(&disk, "").expect("a disk");
        fs::File::options()
            .write(true)
            .open(&disk)
            .and_then(|it| it.set_len(8 << 20))
            .expect("grown");
        let run = |program: &str, options: &[&str], paths: &[&Path]| {
            let output = Command::new(program).args(options).args(paths).output();
            output.is_ok_and(|output| output.status.success())
        };
        assert!(run("mkntfs", &["-q", "-F"], &[&disk]), "no NTFS");
        if !run("lowntfs-3g", &["-o", "ignore_case"], &[&disk, &place]) {
            skip("this machine mounts no FUSE");
            return None;
        }
        Some(Self { scratch, place })
    }

    /// With the workspace on it, the attack program in the workspace, and the files that `setup` creates.
    fn workspace(setup: &str) -> Option<Self> {
        let mut new = Self::at("ws")?;
        new.arm();
        set_up(&new.scratch, setup);
        Some(new)
    }

    fn arm(&mut self) {
        arena_in(&self.scratch);
    }

    /// Asserts the answers to calls under these flags: `call => answer`. Compares the first words of the answers.
    fn assert_answers(&self, flags: &str, rows: &[(&str, &str)]) {
        let flags = format!("--non-interactive {flags}");
        let mut session = Session::start(&self.scratch, "ws/bin/attack", &flags);
        for (line, expected) in rows {
            let said = session.call(&self.scratch, line);
            let seen = said.split(' ').next().unwrap_or_default();
            assert!(Holder::under_test().accepts(expected, seen), "{line}: {said}, not {expected}");
        }
    }

    fn policy(&self, text: &str) -> String {
        let path = self.scratch.path("policy.toml");
        fs::write(&path, self.scratch.expand(text)).expect("a policy");
        format!("-p {}", path.display())
    }
}

impl Drop for Insensitive {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}

/// Copies the attack program into the workspace of an existing tree.
fn arena_in(scratch: &Scratch) {
    let other = arena(Scratch::new());
    scratch.copy_program(&other.path("ws/bin/attack"), "ws/bin/attack");
}

#[apply(row!)]
fn what_is_denied_is_denied_by_every_spelling() {
    let Some(there) = Insensitive::workspace(
        "mkdir -p secret/d Dir other; for n in secret/k secret/d/k Dir/f É.txt other/k; do echo x >$n; done",
    ) else {
        return;
    };
    let flags = "--deny $WS/secret --deny $WS/É.txt --deny $WS/Dir/f --deny $WS/absent";
    there.assert_answers(
        flags,
        &[
            ("open secret/k", "EACCES"),
            ("open SECRET/k", "EACCES"),
            ("open Secret/D/K", "EACCES"),
            ("sys_openat sEcReT/k", "EACCES"),
            ("opendir SECRET", "EACCES"),
            ("open é.TXT", "EACCES"),
            ("open dir/F", "EACCES"),
            ("open DIR/f", "EACCES"),
            ("write SECRET/k", "EACCES"),
            ("write_excl SECRET/new", "EACCES"),
            ("unlink SECRET/k", "EACCES"),
            ("rename SECRET/k stolen", "EACCES"),
            ("rename SECRET stolen", "EACCES"),
            ("rename other SECRET/x", "EACCES"),
            ("rename dir stolen", "EACCES"),
            ("link DIR/F stolen", "EACCES"),
            ("mkdir ABSENT", "EACCES"),
            ("write_excl Absent", "EACCES"),
            ("rename other ABSENT", "EACCES"),
            ("symlink other ABSENT", "EACCES"),
            ("open other/k", "ok"),
            ("open OTHER/K", "ok"),
            ("write_excl other/new", "ok"),
            ("rename other/new Other/NEWER", "ok"),
        ],
    );
}

/// Names that a file system may know beside those that it lists.
#[apply(row!)]
fn names_that_may_be_aliases_are_denied() {
    let Some(there) = Insensitive::workspace(
        "mkdir secretlongname; echo x >secretlongname/k; echo x >plain; echo x >draft~1.txt; echo x >notes~",
    ) else {
        return;
    };
    there.assert_answers(
        "--deny $WS/secretlongname",
        &[
            ("open SECRET~1/k", "EACCES|ENOENT"),
            ("write_excl NEWLON~1", "EACCES"),
            ("open secretlongname./k", "EACCES|ENOENT"),
            ("open secretlongname::$INDEX_ALLOCATION/k", "EACCES|ENOENT"),
            ("open draft~1.txt", "EACCES"),
            ("open notes~", "ok"),
            ("open plain", "ok"),
        ],
    );
}

#[apply(row!)]
fn patterns_match_every_spelling_where_they_restrict() {
    let Some(there) = Insensitive::workspace(
        "mkdir -p a Ask ro; for n in a/x.key a/X2.Key .env a/.ENV Ask/f ro/f é.k a/f Straße; do echo x >$n; done",
    ) else {
        return;
    };
    let policy = there.policy(
        "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n\
         [file_policy]\ndeny_paths = ['**/*.KEY', '$WS/[è-ë].k', '$WS/new{1,2}/**', '$WS/STRASSE']\n\
         prompt_paths = ['$WS/ask/**']\nread_paths = ['$WS/RO/**']\n",
    );
    there.assert_answers(
        &policy,
        &[
            ("open a/x.key", "EACCES"),
            ("open A/X.KEY", "EACCES"),
            ("open a/x2.key", "EACCES"),
            ("write_excl a/y.kEy", "EACCES"),
            ("rename a/f a/f.Key", "EACCES"),
            ("open É.K", "EACCES"),
            ("open straSSe", "EACCES|ENOENT"),
            ("open Straße", "EACCES"),
            ("open .env", "EACCES"),
            ("open .ENV", "EACCES"),
            ("open A/.Env", "EACCES"),
            ("write_excl a/.Env.local", "EACCES"),
            ("open ASK/F", "EACCES"),
            ("open Ask/f", "EACCES"),
            ("write Ro/F", "EACCES"),
            ("write ro/f", "EACCES"),
            ("mkdir NEW1", "EACCES"),
            ("open a/f", "ok"),
            ("open A/F", "ok"),
            ("write a/f", "ok"),
        ],
    );
}

#[apply(row!)]
fn the_policy_file_is_kept_by_every_spelling() {
    let Some(there) = Insensitive::workspace("echo >jp-confine.toml; echo x >f; mkdir d") else {
        return;
    };
    let rows = [
        ("write JP-CONFINE.TOML", "EACCES"),
        ("append Jp-Confine.toml", "EACCES"),
        ("write_trunc jp-confine.TOML", "EACCES"),
        ("unlink JP-CONFINE.TOML", "EACCES"),
        ("rename f JP-CONFINE.TOML", "EACCES"),
        ("rename JP-CONFINE.TOML g", "EACCES"),
        ("exchange f JP-CONFINE.TOML", "EACCES"),
        ("link JP-CONFINE.TOML g", "EACCES"),
        ("truncate JP-CONFINE.TOML", "EACCES"),
        ("chmod JP-CONFINE.TOML", "EACCES"),
        ("open JP-CONFINE.TOML", "ok"),
        ("write f", "ok"),
    ];
    there.assert_answers("", &rows);
    set_up(&there.scratch, "rm jp-confine.toml; test -e f || echo x >f");
    let absent = [
        ("write_excl JP-CONFINE.TOML", "EACCES"),
        ("mkdir Jp-Confine.Toml", "EACCES"),
        ("link f JP-CONFINE.TOML", "EACCES"),
        ("symlink f JP-CONFINE.TOML", "EACCES"),
        ("rename f JP-CONFINE.TOML", "EACCES"),
        ("write_excl jp-confine.tom", "ok"),
    ];
    there.assert_answers("", &absent);
}

#[apply(row!)]
fn auto_run_files_are_asked_about_in_every_spelling() {
    let Some(there) = Insensitive::workspace(
        "git init -q; mkdir .vscode d; echo x >.vscode/tasks.json; echo x >f; echo x >d/mcp.json",
    ) else {
        return;
    };
    there.assert_answers(
        "",
        &[
            ("write .VSCODE/tasks.json", "EACCES"),
            ("write .vscode/Tasks.JSON", "EACCES"),
            ("write_excl .ENVRC", "EACCES"),
            ("write_excl .GIT/hooks/pre-commit", "EACCES"),
            ("write_excl .git/HOOKS/pre-commit", "EACCES"),
            ("rename f .Envrc", "EACCES"),
            ("rename .VSCODE v", "EACCES"),
            ("rename .Git/Hooks h", "EACCES"),
            ("link f .eNVRC", "EACCES"),
            ("symlink f .ENVRC", "EACCES"),
            ("symlink d .ZED", "EACCES"),
            ("rename d .ZED", "EACCES"),
            ("symlink d .CARGO", "EACCES"),
            ("rename d .CARGO", "EXDEV"),
            ("mkdir new.GIT", "ok"),
            ("write_excl new.GIT/CONFIG", "EACCES"),
            ("open .VSCODE/tasks.json", "ok"),
            ("write_excl .GIT/x", "ok"),
            ("rename f g", "ok"),
        ],
    );
}

/// Outside the workspace, a grant counts only for the name that was typed.
#[apply(row!)]
fn what_is_granted_is_granted_by_its_own_name() {
    let Some(there) = Insensitive::at("vol") else { return };
    arena_in(&there.scratch);
    set_up(
        &there.scratch,
        "mkdir -p ../vol/Out/Secret ../vol/Data; echo x >../vol/Data/f; echo x >../vol/Out/Secret/k",
    );
    let vol = there.place.display();
    there.assert_answers(
        &format!("-w {vol}/Out -r {vol}/Data --deny {vol}/Out/Secret"),
        &[
            ("open ../vol/Data/f", "ok"),
            ("open ../vol/Data/F", "ok"),
            ("open ../vol/DATA/f", "EACCES"),
            ("write ../vol/Data/f", "EACCES"),
            ("write_excl ../vol/OUT/new", "EACCES"),
            ("open ../vol/Out/Secret/k", "EACCES"),
            ("open ../vol/Out/SECRET/k", "EACCES"),
            ("open ../vol/OUT/SECRET/k", "EACCES"),
            ("write_excl ../vol/Out/new", "ok"),
        ],
    );
}

/// A file system that ignores case below a workspace that does not, and the other way round.
#[apply(row!)]
fn each_file_system_has_its_own_idea() {
    let Some(there) = Insensitive::at("ws/vol") else { return };
    arena_in(&there.scratch);
    set_up(
        &there.scratch,
        "mkdir -p vol/secret secret SECRET; for n in vol/secret/k secret/k SECRET/k vol/x.key x.key x.KEY; do echo x >$n; done",
    );
    let policy = there.policy("[file_policy]\ndeny_paths = ['**/*.key']\n");
    there.assert_answers(
        &format!("--deny $WS/vol/secret --deny $WS/secret {policy}"),
        &[
            ("open vol/SECRET/k", "EACCES"),
            ("open vol/X.KEY", "EACCES"),
            ("open secret/k", "EACCES"),
            ("open x.key", "EACCES"),
            ("open SECRET/k", "ok"),
            ("open x.KEY", "ok"),
        ],
    );
}

/// A process that came by another spelling is in the same workspace.
#[apply(row!)]
fn a_workspace_may_be_entered_by_another_spelling() {
    let Some(there) = Insensitive::at("vol") else { return };
    set_up(
        &there.scratch,
        "mkdir -p ../vol/Proj/secret; echo x >../vol/Proj/secret/k; echo x >../vol/Proj/f",
    );
    let run = |script: &str| {
        let run = Run::sh(&there.scratch, script).mode(Mode::under_test());
        run.flags(&["--deny", "Secret"]).cwd(&there.place.join("PROJ")).run()
    };
    run("cat f").assert_ok();
    assert_ne!(run("cat secret/k").code(), 0);
    assert_ne!(run("cat SECRET/k").code(), 0);
}

/// The start reports it once. Queries give the same answers as programs get.
#[apply(row!)]
fn the_start_says_it_and_questions_agree() {
    let Some(there) = Insensitive::workspace("mkdir secret; echo x >secret/k; echo x >f") else {
        return;
    };
    let run =
        Run::sh(&there.scratch, "cat f").mode(Mode::under_test()).flags(&["--deny", "secret"]);
    let run = run.run();
    run.assert_ok();
    assert_eq!(run.stderr.matches("ignores case").count(), 1, "{run}");
    let denied = Run::sh(&there.scratch, "cat SECRET/k")
        .mode(Mode::under_test())
        .flags(&["--deny", "secret"]);
    let denied = denied.run();
    // The kernel may still know the directory by the spelling in the policy, and then tells that one.
    let told = ["equal to one that the policy keeps", "via SECRET/k"];
    assert!(told.iter().any(|why| denied.stderr.contains(why)), "{denied}");
    let ask = |path: &str| {
        let mut command = Command::new(crate::run::PRODUCT);
        command.args(["--deny", "secret", "check", "read", path]).current_dir(there.scratch.ws());
        command.env("HOME", there.scratch.home());
        command.output().expect("an answer")
    };
    assert_eq!(ask("f").status.code(), Some(0));
    for path in ["secret/k", "SECRET/k", "Secret/K"] {
        let answer = ask(path);
        assert_ne!(answer.status.code(), Some(0), "{path}: {answer:?}");
    }
}
