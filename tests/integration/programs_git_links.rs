//! Repositories below the workspace, which `git status` outside a run enters. Ordinary work with them goes on. No run
//! makes git obey a repository that the run filled itself.

use crate::attacks_busybox::busybox;
use crate::run::{Mode, Outcome, Run, given, have, is_whole};
use crate::scratch::Scratch;

/// Ways of enforcing with a supervisor that writes the files that lead to a repository.
const ENFORCED: [&str; 2] = ["layered", "strict"];

const IDENTITY: &str = "set -e; git() { command git -c protocol.file.allow=always -c user.name=N -c user.email=n@host.test \"$@\"; }; ";

fn bare(scratch: &Scratch, script: &str) -> Outcome {
    let script = scratch.expand(&format!("{IDENTITY}{script}"));
    Run::sh(scratch, &script).mode(Mode::Bare).run()
}

/// A workspace with a submodule `sub` from `$OUT/up.git`, and a worktree `tree`.
fn repository() -> Scratch {
    let scratch = Scratch::for_ordinary_user();
    let made = bare(
        &scratch,
        "git init -q -b main $OUT/lib; cd $OUT/lib; echo 1 >f; git add f; git commit -qm 1; cd $WS
         git clone -q --bare $OUT/lib $OUT/up.git; git init -q -b main
         git submodule --quiet add file://$OUT/up.git sub; git commit -qm sub
         git clone -q --bare . $OUT/super.git; git worktree add -q tree -b beside; mkdir nested",
    );
    made.assert_ok();
    scratch
}

fn confined(scratch: &Scratch, enforce: &str, script: &str) -> Outcome {
    let script = scratch.expand(&format!("{IDENTITY}{script}"));
    let readable = ["$OUT/up.git", "$OUT/super.git"].map(|path| scratch.expand(path));
    let flags = ["--enforce", enforce, "--profile", "git", "-r", &readable[0], "-r", &readable[1]];
    Run::sh(scratch, &script).flags(&flags).mode(Mode::under_test()).run()
}

/// Commands for one run each, one after another.
const ORDINARY: &[&str] = &[
    "git worktree add -q new -b another; git -C new status; echo 1 >new/f; git -C new add f; git -C new commit -qm 2",
    "git worktree move new newer; git -C newer status; git worktree list",
    "git worktree remove newer; git worktree prune",
    "git worktree remove tree",
    "git submodule --quiet update --init; git submodule status; git -C sub checkout -q -b topic; git -C sub status",
    "git submodule --quiet deinit -f sub; git status",
    "git submodule --quiet update --init; git -C sub status; git status",
    "git submodule --quiet add file://$OUT/up.git deep/er; git -C deep/er status; git commit -qm deeper",
    "git mv sub moved; git -C moved status; git commit -qm moved",
    "git clone -q file://$OUT/up.git cloned; git -C cloned status; rm -rf cloned",
    "git clone -q --recurse-submodules file://$OUT/super.git copy; git -C copy submodule status; git -C copy/sub status; rm -rf copy",
    "git init -q inner; git -C inner status; mv inner outer; git -C outer status",
    "git init -q --bare hub.git; git -C hub.git worktree add -q --orphan ../of-hub; git -C of-hub status",
    "git clone -q --bare file://$OUT/up.git deep/bare.git; git -C deep/bare.git worktree add -q ../of-bare",
    "cd deep/er; git worktree add -q ../../side -b side; git -C ../../side status",
    "echo 1 >t; git add t; git commit -qm t; echo 2 >t; git stash -q; git stash pop -q; git gc -q; git status",
    "git clone -q . again; mv again moving; git -C moving pull -q; git -C moving checkout -q -b own; git -C moving push -q -u origin own",
];

#[test]
fn ordinary_work_needs_no_prompt() {
    if !have("git") {
        return;
    }
    for enforce in ENFORCED {
        let scratch = repository();
        for script in ORDINARY {
            let run = confined(&scratch, enforce, script);
            assert_eq!(run.code(), 0, "{enforce}: {script}: {run}");
            assert!(!run.stderr.contains("denied"), "{enforce}: {script}: {run}");
        }
        assert_eq!(scratch.read("ws/moved/.git"), "gitdir: ../.git/modules/sub\n");
        assert_eq!(scratch.read("ws/deep/er/.git"), "gitdir: ../../.git/modules/deep/er\n");
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "bare there is nothing to show");
}

/// A program may write this: a repository at `evil` that has git start a program.
const EVIL: &str = "evil() { mkdir -p $1/objects $1/refs; echo ref: refs/heads/main >$1/HEAD
    printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = touch $WS/canary; false\\n' >$1/config; }; ";

/// Each fills a repository and leads git there from `nested`, `sub` or `tree`.
const HOSTILE: &[&str] = &[
    "evil evil; echo gitdir: ../evil >nested/.git",
    "evil evil; rm sub/.git; echo gitdir: ../evil >sub/.git",
    "evil evil; echo gitdir: ../evil >sub/.git",
    "evil evil; echo gitdir: ../evil | dd of=sub/.git conv=notrunc",
    "evil evil; printf 'gitdir: ../evil\\n#' >>nested/.git",
    "evil evil; echo gitdir: ../evil >link; mv link nested/.git",
    "evil evil; echo gitdir: ../evil >link; ln link nested/.git",
    "evil evil; echo gitdir: ../evil >nested/link; ln -s link nested/.git",
    "evil evil; ln -s ../evil nested/.git",
    "evil nested/.git",
    "evil evil; mv evil nested/.git",
    "evil evil; mv evil nested/.git || cp -r evil nested/.git",
    "evil evil; mkdir a; echo gitdir: ../evil >a/link; mv a/link a/.git; rmdir nested; mv a nested",
    "evil .git/refs/evil; echo gitdir: ../.git/refs/evil >nested/.git",
    "evil .git/modules/evil; echo gitdir: ../.git/modules/evil >nested/.git",
    "evil .git/modules/nested; echo gitdir: ../.git/modules/nested >nested/.git",
    "evil .git/worktrees/nested; echo $WS/nested/.git >.git/worktrees/nested/gitdir; echo x >nested/.git",
    "evil evil; mkdir .git/worktrees/n; cp evil/HEAD .git/worktrees/n; echo $WS/nested/.git >.git/worktrees/n/gitdir
     echo ../../../evil >.git/worktrees/n/commondir; echo x >nested/.git",
    "evil evil; mkdir n; cp evil/HEAD n; echo $WS/nested/.git >n/gitdir; echo ../../../evil >n/commondir
     mv n .git/worktrees/n; echo x >nested/.git",
    "evil evil; echo ../../../evil >.git/worktrees/tree/commondir",
    "evil evil; ln -s ../../evil .git/modules/nested; echo x >nested/.git",
    "evil evil; ln -s ../../evil .git/worktrees/n; echo $WS/nested/.git >evil/gitdir; echo x >nested/.git",
    "evil evil; printf '[submodule \"../../evil\"]\\npath = nested\\n' >.gitmodules; echo x >nested/.git",
    "evil .git/modules/refs/x; printf '[submodule \"refs/x\"]\\npath = nested\\n' >.gitmodules; echo x >nested/.git",
    "evil evil; mkdir -p other/.git/modules; ln -s ../../../evil other/.git/modules/n; mkdir other/n; echo x >other/n/.git",
    "evil hub.git; mkdir hub.git/worktrees hub.git/worktrees/n; cp hub.git/HEAD hub.git/worktrees/n; cd hub.git
     echo $WS/nested/.git >worktrees/n/gitdir; echo ../.. >worktrees/n/commondir; echo x >../nested/.git",
    "evil .git/modules/sub",
    "evil evil; cp evil/config .git/modules/sub/config",
];

/// Has git go there, as any person does who looks at the workspace.
const LOOK: &str = "cd $WS; head=$(git rev-parse HEAD); for at in nested other/n; do
    git update-index --add --cacheinfo 160000,$head,$at; done 2>/dev/null
    git status; git diff; for at in nested sub tree other/n; do git -C $at status; done; true";

fn leaves_nothing_obeyed(scratch: &Scratch, script: &str, run: impl Fn(&str) -> Outcome) {
    let ran = run(&script.replacen("evil ", &format!("{EVIL}evil "), 1).replace("set -e; ", ""));
    Run::sh(scratch, &scratch.expand(LOOK)).mode(Mode::Bare).run();
    assert!(!scratch.ws().join("canary").exists(), "{script}: {ran}");
}

#[test]
fn no_repository_that_a_run_filled_is_obeyed() {
    if !have("git") {
        return;
    }
    for (index, script) in HOSTILE.iter().enumerate() {
        // In a sample, each script runs in one of the ways.
        let takes = |way: usize| is_whole() || index % ENFORCED.len() == way;
        for (_, enforce) in ENFORCED.iter().enumerate().filter(|(way, _)| takes(*way)) {
            let scratch = repository();
            leaves_nothing_obeyed(&scratch, script, |script| {
                confined(&scratch, enforce, &format!("set +e; {script}"))
            });
        }
    }
    assert_eq!(Mode::under_test(), Mode::Confined, "each was bare");
}

/// The same by a program without the library.
#[test]
fn nor_by_a_static_program() {
    let (true, Some(program)) = (have("git"), busybox()) else { return };
    for script in HOSTILE {
        let scratch = repository();
        leaves_nothing_obeyed(&scratch, script, |script| {
            let words = ["sh", "-c", &scratch.expand(script)];
            Run::new(&scratch, program.to_str().expect("UTF-8"), &words).run()
        });
    }
}

/// Without a supervisor, nobody writes it for the program, and it needs a prompt.
#[test]
fn the_library_alone_lets_nobody_write_it() {
    let Some(scratch) = given(&["git"], repository) else { return };
    for script in ["echo x >nested/.git", "echo x >sub/.git", "git worktree add -q new -b another"]
    {
        assert_ne!(confined(&scratch, "cooperative", script).code(), 0, "{script}");
    }
    assert_eq!(scratch.read("ws/sub/.git"), "gitdir: ../.git/modules/sub\n");
    assert!(!scratch.ws().join("nested/.git").exists());
}
