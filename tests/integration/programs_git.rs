//! git, in a home where only its own settings can be read.

use crate::run::{Run, given};
use crate::scratch::Scratch;

fn git<'a>(scratch: &'a Scratch, args: &[&str]) -> Run<'a> {
    Run::new(scratch, "git", args)
}

fn repository() -> Scratch {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("home/.gitconfig", "[user]\nname = From The Home\nemail = home@example.org\n");
    scratch.write("home/.git-credentials", "https://TOPSECRET@example.org\n");
    git(&scratch, &["init", "-q", "-b", "main"]).run().assert_ok();
    scratch
}

#[test]
fn everyday_commands() {
    let Some(scratch) = given(&["git"], repository) else { return };
    let before = scratch.forbidden();
    git(&scratch, &["add", "."]).run().assert_ok();
    git(&scratch, &["commit", "-qm", "first"]).run().assert_ok();
    let log = git(&scratch, &["log", "--format=%an %s"]).run();
    log.assert_ok().assert_stdout("From The Home first");
    git(&scratch, &["branch", "side"]).run().assert_ok();
    scratch.write("ws/file", "on main\n");
    git(&scratch, &["commit", "-qam", "second"]).run().assert_ok();
    git(&scratch, &["checkout", "-q", "side"]).run().assert_ok();
    scratch.write("ws/other", "on side\n");
    git(&scratch, &["add", "other"]).run().assert_ok();
    git(&scratch, &["commit", "-qm", "third"]).run().assert_ok();
    git(&scratch, &["rebase", "-q", "main"]).run().assert_ok();
    git(&scratch, &["log", "--format=%s"])
        .run()
        .assert_ok()
        .assert_stdout("third\nsecond\nfirst\n");
    git(&scratch, &["status", "--short"]).run().assert_ok();
    git(&scratch, &["gc", "-q"]).run().assert_ok();
    git(&scratch, &["stash", "list"]).run().assert_ok();
    git(&scratch, &["diff", "main"]).run().assert_ok().assert_stdout("on side");
    assert_eq!(scratch.read("ws/file"), "on main\n");

    // A repository elsewhere, a file elsewhere, the user's credentials: none of them.
    let diff =
        scratch.expand("git diff --no-index /dev/null $OUT/secret; git hash-object -w $OUT/secret");
    let run = Run::sh(&scratch, &diff).flags(&["--profile", "git"]).run();
    run.assert_no_secret();
    assert_ne!(run.code(), 0, "{run}");
    git(&scratch, &["init", "-q", &scratch.expand("$OUT/repository")]).run().assert_code(128);
    git(&scratch, &["config", "--file", &scratch.expand("$HOME/.git-credentials"), "--list"])
        .run()
        .assert_no_secret();
    before.assert_same(&scratch.forbidden());
}

/// git looks for a dozen files in the home. None of them may be read, and git must not mind.
#[test]
fn a_home_of_which_nothing_is_granted() {
    let Some(scratch) = given(&["git"], repository) else { return };
    let identity = ["-c", "user.name=Somebody", "-c", "user.email=some@example.org"];
    let commit = [&identity[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat();
    git(&scratch, &commit).flags(&["--profile", "none"]).run().assert_ok();
    let listed =
        git(&scratch, &["config", "--global", "--list"]).flags(&["--profile", "none"]).run();
    assert!(!listed.stdout.contains("home@example.org"), "{listed}");
    let read = scratch.expand("cat $HOME/.gitconfig; cat $HOME/.private/key; ls $HOME/.private");
    let read = Run::sh(&scratch, &read).run();
    read.assert_stderr("No such file").assert_no_secret();
}
