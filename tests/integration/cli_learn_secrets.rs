//! `learn`, and files that may hold a secret or decide what runs: hard to find, hard to name, or not there yet.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::cli_learn::{learn, learned_again, run, shell};
use crate::run::have;
use crate::scratch::Scratch;

/// A directory of an ordinary user, with secrets in it. The superuser could list everything.
fn tree() -> Scratch {
    let scratch = Scratch::for_ordinary_user();
    for name in ["f1", "f2", "f3", "server.pem", "api_token.txt", "sub/.env"] {
        scratch.write(&format!("ws/conf/{name}"), "KEY=1\n");
    }
    scratch
}

/// If a run takes away the right to list a directory, the facts known about the directory remain known.
#[test]
fn what_the_run_closed_is_searched_as_it_was() {
    for script in [
        "cat conf/f1 conf/f2 conf/f3; ls conf; chmod 311 conf",
        "ls conf; chmod 0 conf/sub conf",
        "cat conf/f1; chmod 0 conf",
        "cat conf/f1 conf/f2 conf/f3; mv conf other; chmod 0 other",
        "cat conf/f1 conf/f2 conf/f3; mkdir new; mv conf new/conf; chmod 311 new; chmod 0 new/conf",
    ] {
        let first = tree();
        first.hand_over();
        let Some(learned) = learn(&first, script) else { return };
        learned.assert_ok().assert_stderr("kept out, as they were not used: conf/");
        shell(&first, "chmod -R u+rwx .");
        let second = tree();
        second.write("learned.toml", &first.read("ws/jp-confine.learned.toml"));
        second.hand_over();
        let secrets = "cat conf/server.pem; cat conf/api_token.txt; cat conf/sub/.env";
        let refused = run(&second, &["-p", "../learned.toml"], secrets);
        refused.assert_stdout("").assert_stderr("3 denials");
    }
}

/// If nobody could list a directory before either, nothing is known of it. Rules cover what was used by its name, and
/// the summary says so.
#[test]
fn what_could_never_be_listed_is_opened_by_names_alone() {
    for (script, refused) in [
        ("cat conf/f1 conf/f2 conf/f3", ""),
        ("ls; cat conf/f1 conf/f2 conf/f3", ""),
        (
            "chmod 711 conf; ls conf; cat conf/f1 conf/f2 conf/f3; chmod 311 conf",
            "read conf, update conf",
        ),
    ] {
        let scratch = tree();
        scratch.hand_over();
        shell(&scratch, "chmod 311 conf");
        let Some(learned) = learn(&scratch, script) else { return };
        learned.assert_ok().assert_stderr(refused);
        let policy = scratch.read("ws/jp-confine.learned.toml");
        if script.contains("ls") {
            let why = "kept out but for what has its own rule: conf: it cannot be listed";
            learned.assert_stderr(why);
            let why = "# kept out, but for what has its own rule: it cannot be listed, ";
            assert!(policy.contains(why), "{policy}");
        }
        let again = run(
            &scratch,
            &["-p", "jp-confine.learned.toml"],
            "cat conf/f1 conf/f2 conf/f3; cat conf/server.pem; cat conf/api_token.txt",
        );
        again.assert_stdout("KEY=1\nKEY=1\nKEY=1").assert_stderr("2 denials");
        shell(&scratch, "chmod -R u+rwx .");
    }
}

/// No rule can contain a name that is not text. The directory around it is not granted, and the summary says so.
#[test]
fn what_no_rule_can_name_is_not_opened() {
    for (script, shut) in [
        ("ls -R", "."),
        ("ls; cat src/a src/b src/c", "."),
        ("ls dir; cat src/a src/b src/c", "dir"),
        ("ls; cat src/a; echo x > dir/1; echo x > dir/2; echo x > dir/3", "dir"),
    ] {
        let scratch = crate::cli_learn::tree();
        let parent = if shut == "." { scratch.ws() } else { scratch.ws().join(shut) };
        let directory = parent.join(OsStr::from_bytes(b"Schl\xfcssel"));
        fs::create_dir(&directory).expect("made");
        fs::write(directory.join("server.pem"), "KEY").expect("written");
        let Some(learned) = learn(&scratch, script) else { return };
        let way = if shut == "." { String::new() } else { format!("{shut}/") };
        let name = format!("{way}Schl\\xfcssel/server.pem");
        learned.assert_ok().assert_stderr(&format!(
            "kept out but for what has its own rule: {shut}: no rule can name {name} in it"
        ));
        let policy = scratch.read("ws/jp-confine.learned.toml");
        assert!(policy.contains(&format!("it would open {name}, ")), "{policy}");
        let cat = format!("cat {way}*/server.pem; cat src/a");
        let again = run(&scratch, &["-p", "jp-confine.learned.toml"], &cat);
        assert!(!again.stdout.contains("KEY"), "{policy}\n{again}");
        if script.contains("src/a") {
            again.assert_stdout("a");
        }
    }
}

/// A file there whose name will differ next time has no rule, and the summary says so.
#[test]
fn what_is_drawn_where_nothing_is_opened_is_denied() {
    for (script, directory, drawn, granted) in [
        ("sed -i s/a/b/ conf/f1", "conf", "conf/sed", "conf/f1"),
        ("f=$(mktemp a/conf/tmp.XXXXXX); rm $f; cat a/conf/f1", "a/conf", "/tmp.", "a/conf/f1"),
        ("f=$(mktemp drop/tmp.XXXXXX); echo x > $f; mv $f drop/done", "drop", "/tmp.", "drop/done"),
        ("mkdir drop/new; echo x > $(mktemp -d drop/XXXXXX)/y", "drop", "/y", "drop/new"),
        ("ln -sfn f2 conf/link; cat conf/f1", "conf", "conf/link", "conf/f1"),
        ("rm conf/s-5fb70f231c9a", "conf", "conf/f1", "conf/s-5fb70f231c9a"),
    ] {
        let scratch = Scratch::for_ordinary_user();
        for place in ["conf", "a/conf"] {
            for name in ["f1", "f2", "s-5fb70f231c9a"] {
                scratch.write(&format!("ws/{place}/{name}"), "a");
            }
            let name = scratch.ws().join(place).join(OsStr::from_bytes(b"\xff.key"));
            fs::write(name, "KEY").expect("written");
        }
        std::os::unix::fs::symlink("f1", scratch.ws().join("conf/link")).expect("linked");
        fs::create_dir(scratch.ws().join("drop")).expect("made");
        scratch.hand_over();
        shell(&scratch, "chmod 300 drop");
        let Some(learned) = learn(&scratch, script) else { return };
        let policy = scratch.read("ws/jp-confine.learned.toml");
        let of_drawn = |line: &str| line.starts_with("path = ") && line.contains(drawn);
        assert!(!policy.lines().any(of_drawn), "{script}\n{policy}");
        assert!(policy.contains(&format!("path = \"{granted}\"")), "{script}\n{policy}");
        if script.starts_with("rm") {
            assert!(!learned.stderr.contains("denied"), "{script}\n{policy}\n{learned}");
            continue;
        }
        let denied = " cannot be granted by rules, and will be denied: ";
        learned.assert_ok().assert_stderr(denied);
        learned.assert_stderr(&format!("kept out but for what has its own rule: {directory}: "));
        let head = policy.split("\n\n").next().unwrap_or_default();
        assert!(head.contains(denied), "{script}\n{policy}");
        assert!(policy.contains("# kept out, but for what has its own rule: it "), "{policy}");
        shell(&scratch, "chmod 700 drop");
    }
}

/// A use that will be denied is named once, however many programs make it.
#[test]
fn what_will_be_denied_is_named_once() {
    let scratch = Scratch::new();
    scratch.write("ws/conf/f1", "a");
    let name = scratch.ws().join("conf").join(OsStr::from_bytes(b"\xff.key"));
    fs::write(name, "KEY").expect("written");
    let Some(learned) = learn(&scratch, "ls conf; find conf") else { return };
    learned.assert_stderr("  1 use cannot be granted by rules, and will be denied: read conf\n");
}

/// The top is searched before deep directories. The file and the summary name what is not searched.
#[test]
fn what_is_too_much_to_search_is_named() {
    let scratch = Scratch::new();
    for name in 0..100_000 {
        scratch.write(&format!("ws/a/many/{name}"), "");
    }
    for name in ["a/many/deep/x", "z/.env", "z/deep/er/x", "server.pem"] {
        scratch.write(&format!("ws/{name}"), "KEY");
    }
    let Some(learned) = learn(&scratch, "ls") else { return };
    let why = "too many files to search all of them for secrets, which may be granted in ";
    // If `z` is listed before `a`, its directory `deep` is searched, and `deep/er` is not.
    let named = format!("{why}a/many/deep, z/deep");
    learned.assert_stderr(&named);
    let policy = scratch.read("ws/jp-confine.learned.toml");
    assert!(policy.contains(&format!("\n# {named}")), "{policy}");
    let again = run(&scratch, &["-p", "jp-confine.learned.toml"], "cat z/.env; cat server.pem");
    again.assert_stdout("").assert_stderr("2 denials");
}

/// Many files elsewhere hide nothing about the places where rules will be: neither names that no rule can contain, nor
/// targets of symlinks. The summary says where such symlinks were not looked for.
#[test]
fn what_is_around_what_was_used_is_searched_before_a_crowd() {
    let scratch = Scratch::new();
    for name in 0..100_100 {
        scratch.write(&format!("ws/big/{name}"), "");
    }
    for name in ["src/a/b/c/1", "src/a/b/c/2", "src/a/b/c/3", "data/d/1", "data/d/2", "data/d/3"] {
        scratch.write(&format!("ws/{name}"), "x\n");
    }
    for name in ["data/d/cfg.txt", "moved/1", "elsewhere/deep/1"] {
        scratch.write(&format!("ws/{name}"), "KEY\n");
    }
    for directory in ["src/a/b/c", "moved"] {
        let name = scratch.ws().join(directory).join(OsStr::from_bytes(b"\xff.pem"));
        fs::write(name, "KEY\n").expect("written");
    }
    let link = scratch.ws().join("src/a/b/c/.env");
    std::os::unix::fs::symlink("../../../../data/d/cfg.txt", link).expect("linked");
    let script = "cat src/a/b/c/[123] data/d/[123]; ls src/a/b/c; mv moved gone";
    let Some(learned) = learn(&scratch, script) else { return };
    learned.assert_stderr("kept out, as they were not used: data/d/cfg.txt");
    learned.assert_stderr("no rule can name src/a/b/c/\\xff.pem in it");
    learned.assert_stderr("no rule can name moved/\\xff.pem in it");
    let policy = scratch.read("ws/jp-confine.learned.toml");
    let unseen = "too many files to look for links to what is granted, and may hold a secret by a link's name, in ";
    let unseen = format!("{unseen}dir, elsewhere");
    learned.assert_stderr(&unseen);
    assert!(policy.contains(&format!("\n# {unseen}")), "{policy}");
    let again = run(
        &scratch,
        &["-p", "jp-confine.learned.toml"],
        "cat src/a/b/c/*.pem data/d/cfg.txt; cat src/a/b/c/1; mv gone moved; cat moved/*.pem",
    );
    again.assert_stdout("x");
    assert!(!again.stdout.contains("KEY"), "{policy}\n{again}");
}

/// A commit does not need to write what git runs next time. That holds for another working tree and for a submodule,
/// whether the file exists or not.
#[test]
fn what_says_what_git_runs_is_written_by_no_commit() {
    if !have("git") {
        return;
    }
    let git = "git -c user.name=A -c user.email=a@b -c protocol.file.allow=always";
    // Git reads files again that are as young as the index, or not, depending on the clock (`racy-git`).
    let old = "find . -name .git -prune -o -type f -exec touch -d @1000000000 {} +
        for place in . sub tree side tree/sub; do git -C $place update-index -q --refresh; done";
    let before = format!(
        "rm -rf .git; mkdir ../lib; git init -q ../lib; git init -q; echo x > ../lib/x
        {git} -C ../lib add x; {git} -C ../lib commit -qm x; {git} add file src/a; {git} commit -qm a
        {git} submodule -q add ../lib sub; {git} commit -qm sub; git worktree add -q tree 2> ../errors
        git -C sub worktree add -q ../side 2> ../errors; {git} -C tree submodule -q update --init 2> ../errors
        {old}"
    );
    for (script, refused) in [
        (
            "GIT commit -q --amend --allow-empty --date now -m b",
            ".git/commondir .git/config.worktree .git/config .git/hooks/post-commit",
        ),
        (
            "echo >> file; GIT commit -qam b",
            ".git/commondir .git/config.worktree .git/config .git/hooks/post-commit \
             .git/modules/sub/commondir .git/modules/sub/config.worktree \
             .git/worktrees/tree/config.worktree .git/worktrees/tree/commondir",
        ),
        (
            "echo >> sub/x; GIT -C sub commit -qam b; GIT commit -qam b",
            ".git/commondir .git/modules/sub/config .git/modules/sub/hooks/x .git/modules/sub/commondir
             .git/modules/sub/config.worktree .git/modules/sub/worktrees/side/config.worktree",
        ),
        (
            "echo >> tree/file; GIT -C tree commit -qam b",
            ".git/commondir .git/worktrees/tree/commondir .git/worktrees/tree/gitdir
             .git/worktrees/tree/config.worktree .git/worktrees/tree/modules/sub/config
             .git/worktrees/tree/modules/sub/commondir",
        ),
        (
            "for i in 1 2 3; do echo > sub/$i; done; GIT -C sub add .; GIT -C sub commit -qm b",
            "sub/.git .git/modules/sub/config",
        ),
        // Files that move along with their directory must be allowed to leave.
        ("GIT mv sub moved; GIT commit -qm b", ".git/hooks/post-commit"),
    ] {
        assert_refused_after(&before, &script.replace("GIT", git), refused);
    }
}

/// Learns from `script` in a tree that `before` created. Asserts that the names in `refused` cannot be written then.
fn assert_refused_after(before: &str, script: &str, refused: &str) {
    let Some(second) = learned_again(before, script) else { return };
    for name in refused.split_whitespace() {
        let write = format!("echo x >> {name}");
        let policy = second.read("learned.toml");
        let outcome = run(&second, &["-p", "../learned.toml"], &write);
        assert!(outcome.stderr.contains("denied"), "{write}\n{policy}\n{outcome}");
    }
}

/// Neither a push to a repository without a working tree nor a commit by another program needs to write what runs next.
#[test]
fn what_says_what_runs_is_written_by_no_push() {
    if !have("git") {
        return;
    }
    let git = "git -c user.name=A -c user.email=a@b";
    let before = format!(
        "rm -rf .git; git init -q; {git} add file; {git} commit -qm a; git clone -q --bare . hub.git
        mkdir -p .hg/store; echo x > .hg/store/x"
    );
    let kept =
        "hub.git/config hub.git/hooks/post-receive hub.git/commondir hub.git/config.worktree";
    for (script, refused) in [
        ("git -C hub.git branch b; git -C hub.git branch c", kept),
        ("echo >> file; GIT commit -qam b; git push -q hub.git HEAD:b HEAD:c", kept),
        ("git -C hub.git gc -q", kept),
        (
            "git -C hub.git worktree add -q ../tree 2> /dev/null; GIT -C tree commit --allow-empty -qm b",
            kept,
        ),
        (
            "git clone -q --bare hub.git other.git; git -C other.git remote update",
            "other.git/commondir",
        ),
        ("for i in 1 2 3; do echo > .hg/$i; rm .hg/$i; done; ls .hg", ".hg/hgrc .hg/sharedpath"),
    ] {
        assert_refused_after(&before, &script.replace("GIT", git), refused);
    }
}
