//! `learn` writes a policy that is enough for the same command from the same start, and for no more.

use std::path::Path;

use crate::cli_status::product;
use crate::run::{Outcome, PRODUCT, Run, note};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

/// A command, and neighbouring ones that it did not need.
const ROWS: &[(&str, &[&str])] = &[
    ("true", &["cat file"]),
    ("cat src/a src/b src/c; cat file", &["cat src/.env", "echo x > src/a", "cat .env"]),
    ("cat src/missing; cat src/none/such; cat file", &["cat src/a"]),
    ("ls", &["cat .env", "cat server.key", "cat .kube/config", "echo x > new"]),
    ("echo x > new; echo y >> new; cat new", &["unlink new"]),
    ("mkdir -p out/deep; for i in 1 2 3; do echo $i > out/deep/$i; done; rm -r out", &["rm file"]),
    (
        "echo x > tmp.$$; chmod 600 tmp.$$; mv tmp.$$ file; cat file",
        &["echo x >> src/a", "rmdir dir"],
    ),
    ("for i in a b c; do mv src/$i src/$i.old; done", &["unlink src/.env"]),
    ("cp bin/program dir/copy; dir/copy; ln dir/copy dir/second", &["unlink bin/program"]),
    ("ln -s file link; cat link; rm link", &["cat src/a"]),
    (
        "d=$(mktemp -d ./tmp.XXXXXX); echo x > $d/y; cat $d/y; mv $d works",
        &["echo >> src/a", "cat .git/config"],
    ),
    (
        "echo x > $(mktemp dir/out.XXXXXX); mkdir new; echo x > $(mktemp -d new/XXXXXX)/y",
        &["echo >> src/a", "cat .git/config", "echo x > other"],
    ),
    ("ln src/a dir/; mv src/b dir/", &["ln src/c dir/", "echo x > dir/new"]),
    ("cat .env", &["echo x > .env"]),
    ("ls; cat src/a", &["cat .git/config", "echo x > src/a"]),
    ("find . -name '*.c'", &["cat .ssh/deploy", "cat src/.env"]),
    (
        "echo x > src/a-journal; echo y > src/a; rm src/a-journal",
        &["cat src/b", "rm src/b", "echo x > src/new"],
    ),
    (
        "d=src/sed$(date +%N | tr 0-9 a-j | head -c 6); cat src/a > $d; mv $d src/a",
        &["cat src/b", "echo x >> src/b", "cat src/.env"],
    ),
    (
        "sed -i s/x/y/ file; echo x >> src/a; rm src/c",
        &["echo x >> src/b", "cat src/b", "rm src/b", "echo x > src/new"],
    ),
    // A directory that is opened to return to it, or to write it to disk, is not listed.
    ("find src -name a; cat src/b", &["cat file", "bin/program", "cat .env"]),
    ("install -D src/a new/a; mkdir -p dir", &["cat file", "cat src/b", "cat .ssh/deploy"]),
    ("sync src; cat src/a", &["cat src/b", "cat file", "echo x > src/new"]),
    // The kernel does not run such a script. Its caller has a shell run it.
    ("src/script", &["echo x >> src/script", "src/a", "cat src/b"]),
    // Missing files, in calls that do not open them, with and without their directory.
    ("rm -f build/x; cat file", &["rm file", "cat src/a"]),
    ("rm -f build/x; mkdir -p build; echo x > build/x", &["rm file", "echo x > new"]),
    ("touch -c gone none/gone; chmod 600 src/gone", &["touch -c file", "cat src/a"]),
    ("mv none/x dir/y; mv gone dir/z; rmdir none/z; mkdir none/d", &["rm file", "rmdir dir"]),
    // The process number anywhere in a name, and numbers that people give.
    (
        "[ $$ -gt 999 ] || exit 0; echo x > src/$$.x; mv src/$$.x src/a; echo x > dir/a$$b; rm dir/a$$b",
        &["cat src/b", "echo x >> src/b"],
    ),
    // The time of creation, which differs in the next run.
    (
        "sleep 1; echo x > dir/run-$(date +%s).log; mkdir dir/$(date +%F_%H%M%S); echo x > src/$(date +%H-%M-%S).txt",
        &["cat src/b", "echo x >> src/b", "cat src/.env", "echo x > new"],
    ),
    ("echo x > src/2024.txt; echo x > src/1.log", &["echo x > src/2025.txt", "cat src/a"]),
    // A name that no policy can contain.
    (
        "echo x >> \"src/$(printf 'n\\377')\"",
        &["cat src/b", "echo x >> src/b", "cat src/.env", "echo x > new"],
    ),
];

pub(crate) fn tree() -> Scratch {
    let scratch = Scratch::new();
    for name in ["a", "b", "c"] {
        scratch.write(&format!("ws/src/{name}"), name);
    }
    for name in [".env", "src/.env", ".ssh/deploy", ".kube/config", "server.key"] {
        scratch.write(&format!("ws/{name}"), "KEY=1\n");
    }
    scratch.write("ws/.git/config", "[remote]\n");
    scratch.copy_program(Path::new("/bin/true"), "ws/bin/program");
    scratch.copy_program(Path::new("/bin/true"), "ws/src/script");
    scratch.write("ws/src/script", "cat src/a\n");
    for (name, target) in [("far", "../out"), ("nowhere", "../missing"), ("way", "src")] {
        std::os::unix::fs::symlink(target, scratch.ws().join(name)).expect("linked");
    }
    scratch
}

pub(crate) fn run(scratch: &Scratch, words: &[&str], script: &str) -> Outcome {
    let line = [words, &["--", "sh", "-c", script]].concat();
    product(scratch, &line).run()
}

/// Learns from `script`. `None` where this machine has no supervisor.
pub(crate) fn learn(scratch: &Scratch, script: &str) -> Option<Outcome> {
    let outcome = run(scratch, &["learn"], script);
    if outcome.code() == 125 && outcome.stderr.contains("learn ") {
        note("skipped: learn cannot be had here");
        return None;
    }
    Some(outcome)
}

#[test]
fn what_is_learned_is_enough_and_no_more() {
    for (script, neighbours) in ROWS {
        let first = tree();
        let Some(learned) = learn(&first, script) else { return };
        assert!(!learned.stderr.contains("denied"), "{script}: {learned}");
        let policy = first.read("ws/jp-confine.learned.toml");
        let second = tree();
        second.write("learned.toml", &policy);
        let again = run(&second, &["-p", "../learned.toml"], script);
        assert_eq!(again.code(), learned.code(), "{script}\n{policy}\n{again}");
        assert!(!again.stderr.contains("denied"), "{script}\n{policy}\n{again}");
        if script.starts_with("echo") {
            // A shell that creates a file would also have taken an existing one.
            let third = run(&second, &["-p", "../learned.toml"], script);
            assert!(!third.stderr.contains("denied"), "{script}\n{policy}\n{third}");
        }
        let all = neighbours.join(" 2> /dev/null; ");
        // Some of these the system would deny as well, which only `-v` counts.
        let refused = run(&second, &["-v", "-p", "../learned.toml"], &all);
        let count = format!("{} denial", neighbours.len());
        assert!(refused.stderr.contains(&count), "{all}\n{policy}\n{refused}");
    }
}

/// A rule on a symlink's name applies to the target, and is invalid if the target is outside. So a program that
/// creates, replaces or deletes symlinks needs the directory, whatever was at the name before or is there now.
#[test]
fn links_are_learned_by_the_directory_that_they_stand_in() {
    for (before, script) in [
        ("ln -s src/a cur", "rm -f cur; ln -s src/b cur"),
        ("ln -s src/a cur", "ln -sfn src/b cur"),
        ("ln -s src/a cur", "rm cur; mkdir cur; echo x > cur/y"),
        ("ln -s src/a cur", "cp file new; mv -f new cur"),
        ("ln -s src/a cur", "mv cur other"),
        (":", "ln -sfn src/b cur"),
        (":", "ln -s ../out/dir away; rm away"),
        ("ln -s ../out/dir away", "rm -f away; ln -s ../out/other away"),
        ("ln -s ../../out/dir src/away", "ln -sfn ../../out/other src/away"),
    ] {
        let Some(second) = learned_again(before, script) else { return };
        let policy = second.read("learned.toml");
        for line in ["path = \"cur\"", "path = \"away\"", "path = \"src/away\""] {
            assert!(!policy.contains(line), "{script}\n{policy}");
        }
        let refused = run(&second, &["-p", "../learned.toml"], "rm -f src/c; echo x > dir/new");
        refused.assert_stderr("2 denials");
    }
}

/// A file that held a secret has its own rule, even if a symlink replaces it in the end, and even one that leads
/// outside. So has a working name that is the same each time. A symlink's entry belongs to its directory.
#[test]
fn a_secret_is_kept_apart_though_a_link_replaced_it() {
    let before = "echo K > src/key.pem; echo K > id_rsa";
    for (script, secret) in [
        ("ls src; ln -sf ../../out/x src/key.pem", "src/key.pem"),
        ("ls; ln -sf src/a id_rsa", "id_rsa"),
        ("ls; rm src/key.pem; ln -s ../../out/x src/key.pem", "src/key.pem"),
        ("ln -sf ../out/x .env", ".env"),
        ("echo x > tmp.x; rm tmp.x; ln -s ../out/x .env.local", ".env"),
        ("echo x > tmp.x; rm tmp.x; echo x > .env.tmp; mv .env.tmp .env", ".env"),
        (
            "ls src; echo x > src/tmp.x; mv src/tmp.x src/a; mv src/key.pem src/old.pem",
            "src/key.pem",
        ),
        ("mv nowhere id_rsa; echo R > id_rsa.tmp; mv id_rsa.tmp id_rsa", "id_rsa"),
    ] {
        let Some(second) = learned_again(before, script) else { return };
        let third = tree();
        shell(&third, before);
        third.write("learned.toml", &second.read("learned.toml"));
        run(&third, &["-p", "../learned.toml"], &format!("cat {secret}")).assert_code(1);
    }
    learned_again("ln -s ../out/x id_link", "ln -sfn ../out/y id_link");
}

/// The target of a symlink with a sensitive name has its own rule, too. Its own name would not prompt.
#[test]
fn a_secret_is_kept_apart_by_the_name_of_a_link() {
    let used = "cat cfg/a cfg/b cfg/c";
    for (before, script) in [
        ("ln -s cfg/prod .env.led", used.to_owned()),
        ("ln -s d cfg/link; ln -s ../cfg/link/../prod src/x.pem; mkdir cfg/d", used.to_owned()),
        ("ln -s cfg/prod id_led", format!("{used}; rm id_led")),
        (":", format!("{used}; ln -s cfg/prod .env.led")),
        (":", format!("{used}; ln -s cfg/c .env.led; cat .env.led; ln -s cfg/prod id_led")),
        ("ln -s . id_root; ln -s cfg/prod .env.led", format!("{used}; cat file")),
    ] {
        let before = format!("mkdir cfg; for i in a b c prod; do echo $i > cfg/$i; done; {before}");
        let Some(second) = learned_again(&before, &script) else { return };
        let third = tree();
        shell(&third, &before);
        third.write("learned.toml", &second.read("learned.toml"));
        run(&third, &["-p", "../learned.toml"], "cat cfg/a").assert_ok();
        run(&third, &["-p", "../learned.toml"], "cat cfg/prod").assert_code(1);
    }
    let before =
        "mkdir cfg; for i in a b c prod; do echo $i > cfg/$i; done; ln -s cfg/prod .env.led";
    let Some(second) = learned_again(before, &format!("{used}; cat .env.led")) else { return };
    let again = run(&second, &["-p", "../learned.toml"], "echo x >> cfg/prod");
    again.assert_stderr("denied update cfg/prod");
}

/// A file counts as a secret by the words of its name, unless it is a source. A directory does if it is called only
/// that.
#[test]
fn secrets_are_kept_out_by_the_words_of_their_names() {
    let before = "mkdir secrets js-tokens; echo x | tee token.txt src/deploy_key secrets/a token.rs js-tokens/index.js";
    let Some(second) = learned_again(before, "ls; ls src js-tokens; cat src/deploy_key") else {
        return;
    };
    let rest = ["-p", "../learned.toml"];
    run(&second, &rest, "cat token.rs js-tokens/index.js src/deploy_key src/a").assert_ok();
    let refused = run(&second, &rest, "cat token.txt; cat secrets/a; echo x > src/deploy_key");
    refused.assert_stderr("3 denials");
}

/// A rule that closes a file in a directory would keep the directory in its place. So files that move along are granted
/// for the move, but not for reading.
#[test]
fn directories_are_moved_with_the_secrets_in_them() {
    let before = "echo K > src/key.pem; mkdir -p lib/.git; echo x > lib/.git/HEAD
        mkdir sub; echo q > sub/q; echo S > sub/.env";
    for (script, secret) in [
        ("mv src old; mv old src", "src/key.pem"),
        ("mkdir d2; mv -T src d2", "src/key.pem"),
        ("mv lib old; mv old lib", "lib/.git/HEAD"),
        ("ls src; mv src other", "src/key.pem"),
        ("ls sub; mv sub old; mv old sub", "sub/.env"),
        ("mv sub other; cat other/q", "sub/.env"),
        (
            "mkdir -p v/.git/hooks; echo x > v/.git/hooks/y.sample; echo x > v/.git/HEAD; cat v/.git/HEAD
            echo f > v/f; mv v v.old; cat v.old/f; mv v.old v",
            "src/key.pem",
        ),
    ] {
        let Some(second) = learned_again(before, script) else { return };
        let third = tree();
        shell(&third, before);
        third.write("learned.toml", &second.read("learned.toml"));
        run(&third, &["-p", "../learned.toml"], &format!("cat {secret}")).assert_code(1);
    }
}

/// If a move would make a secret readable that nobody read, the move is denied, and the summary says so.
#[test]
fn no_secret_is_granted_so_that_a_directory_can_be_moved() {
    let before = "echo K > src/key.pem";
    for script in ["ls src; mv src old; mv old src", "ls src; mv src old; ln -s old src"] {
        let scratch = tree();
        shell(&scratch, before);
        let Some(learned) = learn(&scratch, script) else { return };
        learned
            .assert_ok()
            .assert_stderr("cannot be granted by rules, and will be denied: moving ");
        learned.assert_stderr("moving src to old\n");
        let third = tree();
        shell(&third, before);
        third.write("learned.toml", &scratch.read("ws/jp-confine.learned.toml"));
        run(&third, &["-p", "../learned.toml"], "cat src/key.pem").assert_code(1);
    }
}

/// No run has a random name again. A rule on it would say that the command is allowed.
#[test]
fn what_holds_a_secret_under_a_drawn_name_is_not_learned() {
    for script in [
        "t=$(mktemp .env.XXXXXX); echo x > $t; mv $t .env",
        "t=$(mktemp -d .ssh/XXXXXX); echo x > $t/y; mv $t/y .ssh/deploy; rmdir $t",
    ] {
        let scratch = tree();
        let Some(learned) = learn(&scratch, script) else { return };
        learned.assert_ok().assert_stderr("cannot be granted by rules, and will be denied");
        let policy = scratch.read("ws/jp-confine.learned.toml");
        let paths = policy.lines().filter(|line| line.starts_with("path = ")).count();
        assert_eq!(paths, 1, "{policy}");
    }
}

/// No rule can be about a symlink that leads outside or nowhere. One on its name would make the whole file invalid.
#[test]
fn no_rule_is_learned_that_cannot_stand() {
    for (before, name) in [
        ("ln -s ../gone out", "out"),
        ("ln -s loop loop", "loop"),
        ("ln -s loop loop", "loop/x"),
        (":", "src/a/x"),
    ] {
        let script = format!("cat src/b; cat {name} || true");
        let Some(second) = learned_again(before, &script) else { return };
        run(&second, &["-p", "../learned.toml"], "cat src/a").assert_code(1);
    }
}

/// A rule for a failed deletion would allow deleting everything in the directory. A path that was deleted in the end
/// has a rule.
#[test]
fn what_could_not_be_removed_is_not_granted() {
    let before = "mkdir -p gen/x sub/.git; touch gen/keep gen/x/o sub/.git/config sub/.git/HEAD";
    for (script, stayed, lost) in [
        ("rm gen/x/o; rmdir -p gen/x || true", "gen", "rm gen/keep"),
        ("unlink gen || true", "gen", "rm gen/keep"),
        ("rmdir gen/keep || true", "gen/keep", "rm gen/keep"),
        ("mv -T src gen || true", "src", "rm src/a"),
        (
            "ls sub/.git; for i in 1 2 3; do echo > sub/.git/$i; rm sub/.git/$i; done
            rmdir sub/.git || true",
            "sub/.git",
            "rm sub/.git/config",
        ),
        ("rmdir gen || true; rm -r gen", "", "rm src/a"),
    ] {
        let Some(second) = learned_again(before, script) else { return };
        let refused = run(&second, &["-p", "../learned.toml"], &format!("mkdir -p gen; {lost}"));
        refused.assert_stderr("denied delete");
        let first = tree();
        shell(&first, before);
        let Some(learned) = learn(&first, script) else { return };
        let said = format!("could not be removed or moved, and that will be denied: {stayed}\n");
        assert_eq!(learned.stderr.contains(&said), !stayed.is_empty(), "{script}\n{learned}");
        assert!(!learned.stderr.contains("cannot be granted"), "{script}\n{learned}");
    }
}

/// A file that existed before counts under its own name, even if the name looks generated.
#[test]
fn what_was_there_before_is_learned_by_its_name() {
    let before = "echo x | tee log.4711 src/log.4711 > f.tmp";
    for script in [
        "echo x > b.tmp; mv b.tmp file; cat log.4711",
        "echo x > src/b.tmp; mv src/b.tmp src/b; cat src/log.4711",
        "set -C; (: > f.tmp) || true; echo x >> f.tmp",
    ] {
        let Some(second) = learned_again(before, script) else { return };
        let others = "cat src/a; echo x >> log.4711";
        run(&second, &["-p", "../learned.toml"], others).assert_stderr("2 denials");
    }
}

/// A working name that is the same each time has its own rule, and the rest of the directory stays closed.
#[test]
fn what_is_worked_on_beside_itself_does_not_open_its_directory() {
    for (script, work) in [
        ("echo x > file.tmp; mv file.tmp file", "file.tmp"),
        ("echo x > new.part; mv new.part new", "new.part"),
        ("echo x > src/.a.swp; echo y > src/a; rm src/.a.swp", "src/.a.swp"),
        ("cp src/a src/a~; echo y > src/a", "src/a~"),
    ] {
        let Some(second) = learned_again(":", script) else { return };
        let policy = second.read("learned.toml");
        assert!(policy.contains(&format!("path = \"{work}\"")), "{script}\n{policy}");
        let others = "echo x > other; echo x > src/other; echo x > src/b";
        run(&second, &["-p", "../learned.toml"], others).assert_stderr("3 denials");
    }
}

/// A program that keeps its files under random names deletes the old ones and creates new ones each time.
#[test]
fn names_of_a_kind_are_learned_from_the_second_run_on() {
    let build = "set -e; cat src/a; for old in gen/s-*[0-9a-f]; do last=$old; done
        new=gen/s-$(date +%s%N | sha1sum | head -c 40); mkdir $new; echo x > $new.lock
        if test -d \"$last\"; then ln $last/o $new/o; cat $last/deps; rm -r $last $last.lock
        else echo o > $new/o; fi; echo d > $new/deps";
    let scratch = tree();
    shell(&scratch, &format!("mkdir gen; echo mine > gen/README; {build}"));
    let Some(learned) = learn(&scratch, build) else { return };
    learned.assert_ok();
    let policy = scratch.read("ws/jp-confine.learned.toml");
    let paths = policy.lines().filter(|line| line.starts_with("path = ")).collect::<Vec<_>>();
    let expected = ["gen", "gen/README", "src/a"].map(|path| format!("path = \"{path}\""));
    assert_eq!(paths, expected, "{policy}");
    for _ in 0..2 {
        let again = run(&scratch, &["-p", "jp-confine.learned.toml"], build);
        assert!(again.code() == 0 && !again.stderr.contains("denied"), "{policy}\n{again}");
    }
    let others = "cat src/b; echo x >> gen/README; echo x > src/a";
    run(&scratch, &["-p", "jp-confine.learned.toml"], others).assert_stderr("3 denials");
}

/// The comment above a rule counts what the rule grants, and says what else was reported.
#[test]
fn what_is_not_granted_is_not_counted_as_if_it_were() {
    let scratch = tree();
    let Some(learned) = learn(&scratch, "ls src; mkdir -p src") else {
        return;
    };
    learned.assert_ok();
    let policy = scratch.read("ws/jp-confine.learned.toml");
    let (before, _) = policy.split_once("path = \"src\"").expect("a rule");
    assert!(before.contains("# create 1× in vain: "), "{policy}");
    assert!(before.contains("# 1 path: read ") && !before.contains("read 1×, create"), "{policy}");
}

/// For an entry that is created for its owner alone, fewer signs are enough, even with small letters only.
#[test]
fn drawn_names_of_small_letters_are_learned_where_they_are_made_for_oneself() {
    let of = |name: &str| format!("mkdir -m 700 {name}; echo x > {name}/y; cat {name}/y");
    for (first, other) in [("src/bzkqwtrpd", "src/bwqdxkcfm"), ("tmpoowufqxi", "tmp_ypagqjl")] {
        let Some(second) = learned_again(":", &of(first)) else { return };
        run(&second, &["-p", "../learned.toml"], &of(other)).assert_ok();
        run(&second, &["-p", "../learned.toml"], "cat src/b").assert_stderr("1 denial");
    }
}

/// Learns from `script` after `before`. Asserts that it succeeds under the learned policy from the same start, in the
/// tree that is returned.
pub(crate) fn learned_again(before: &str, script: &str) -> Option<Scratch> {
    let script = format!("set -e; {script}");
    let first = tree();
    shell(&first, before);
    learn(&first, &script)?.assert_ok();
    let policy = first.read("ws/jp-confine.learned.toml");
    let second = tree();
    shell(&second, before);
    second.write("learned.toml", &policy);
    let again = run(&second, &["-p", "../learned.toml"], &script);
    assert_eq!(again.code(), 0, "{script}\n{policy}\n{again}");
    Some(second)
}

/// Runs a script unconfined in the workspace, to create what must exist before.
pub(crate) fn shell(scratch: &Scratch, script: &str) {
    let mut shell = std::process::Command::new("sh");
    let done = shell.args(["-ec", script]).current_dir(scratch.ws()).status();
    assert!(done.expect("a shell").success(), "{script}");
}

/// A hard link can be used for all that its file can. So the file's directory gets the same grant, its surroundings get
/// no more, and the policy says why.
#[test]
fn hard_links_open_the_directories_that_they_are_made_from() {
    let script =
        "mkdir new; cat src/a src/b src/c; for i in 1 2 3; do ln src/deep/$i/x new/$i; done
        rm new/1; echo >> new/2";
    let grown = || {
        let scratch = tree();
        for i in ["1", "2", "3"] {
            scratch.write(&format!("ws/src/deep/{i}/x"), i);
        }
        scratch
    };
    let first = grown();
    let Some(learned) = learn(&first, script) else { return };
    learned.assert_ok();
    let policy = first.read("ws/jp-confine.learned.toml");
    assert!(policy.contains("\n# hard links were made to what is here"), "{policy}");
    assert!(!policy.contains("kept from being written"), "{policy}");
    let second = grown();
    second.write("learned.toml", &policy);
    run(&second, &["-p", "../learned.toml"], script).assert_ok();
    run(&second, &["-p", "../learned.toml"], "echo x > src/a").assert_stderr("1 denial");
}

/// A file that a person calls sensitive is learned by its name, so that nobody is prompted for it. Unused ones stay
/// closed.
#[test]
fn what_a_person_calls_sensitive_is_learned_by_name() {
    let scratch = tree();
    let config = "[access]\nsensitive_paths = ['**/*.token']\n";
    scratch.write("home/.config/jp-confine/config.toml", config);
    scratch.write("ws/src/used.token", "1");
    scratch.write("ws/src/other.token", "2");
    let script = "cat src/a src/b src/c src/used.token";
    let Some(learned) = learn(&scratch, script) else { return };
    learned.assert_ok();
    let again = ["--non-interactive", "-p", "jp-confine.learned.toml"];
    run(&scratch, &again, script).assert_ok();
    run(&scratch, &again, "cat src/other.token").assert_code(1);
}

#[test]
fn the_bounds_hold_while_it_learns() {
    let scratch = tree();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = \"dir\"\nread = true\n");
    let script = scratch.expand(
        "cat $OUT/secret; echo x > $OUT/target; cat .env; echo x > jp-confine.toml; cat file",
    );
    let before = scratch.forbidden();
    let run = run(&scratch, &["--deny", ".env", "learn", "--output", "-"], &script);
    if run.code() == 125 {
        return note("skipped: learn cannot be had here");
    }
    run.assert_no_secret().assert_stderr("inside").assert_stdout("path = \"file\"");
    assert!(!run.stdout.contains("secret\"") && !run.stdout.contains("KEY"), "{run}");
    run.assert_stderr("4 denials").assert_stderr("learned from");
    scratch.forbidden().assert_same(&before);
    assert!(scratch.read("ws/jp-confine.toml").contains("\"dir\""));
}

/// A person who grants the whole directory would not repeat the denial. So the learned policy keeps it.
#[test]
fn what_was_denied_while_it_learned_stays_so() {
    let scratch = tree();
    scratch.write("ws/src/d", "d");
    let script = "cat src/a src/c src/d; ls src; ! cat src/b";
    let learned = run(&scratch, &["--deny", "src/b", "learn"], script);
    if learned.code() == 125 {
        return note("skipped: learn cannot be had here");
    }
    learned.assert_ok().assert_stderr("src/b").assert_stderr("nothing");
    let policy = scratch.read("ws/jp-confine.learned.toml");
    assert!(
        policy.contains("# kept out: it was denied\n[[access.fs]]\npath = \"src/b\""),
        "{policy}"
    );
    run(&scratch, &["-p", "jp-confine.learned.toml"], script).assert_ok();
}

/// A mount for the run is learned as a rule on the symlink, and paths inside are learned as ever.
#[test]
fn what_is_mounted_is_learned_beside_the_rest() {
    let script =
        "d=$(mktemp -d ./tmp.XXXXXX); cat fork/inner > $d/y; cat $d/y; rm -rf works; mv $d works";
    let scratch = tree();
    let line = ["--non-interactive", "--mount", "fork=../out/dir", "learn"];
    let learned = run(&scratch, &line, script);
    if learned.code() == 125 {
        return note("skipped: learn cannot be had here");
    }
    assert!(!learned.stderr.contains("cannot be granted"), "{learned}");
    let policy = ["-p", "jp-confine.learned.toml"];
    let again = run(&scratch, &policy, script);
    assert!(again.code() == 0 && !again.stderr.contains("denied"), "{again}");
    let refused = run(&scratch, &policy, "cat src/.env");
    refused.assert_code(1).assert_stderr("denied read src/.env");
}

#[test]
fn nothing_is_replaced_unasked_and_nothing_written_elsewhere() {
    let scratch = tree();
    scratch.write("ws/jp-confine.learned.toml", "mine");
    let refused = run(&scratch, &["learn"], "echo x > new");
    refused.assert_code(125).assert_stderr("--force");
    assert!(!scratch.ws().join("new").exists());
    std::os::unix::fs::symlink(scratch.out(), scratch.ws().join("away")).expect("linked");
    run(&scratch, &["learn", "-o", "away/policy"], "true").assert_code(125).assert_stderr("link");
    let beside = run(&scratch, &["learn", "-o", "../policy"], "true");
    assert!(beside.code() == 125 || scratch.path("policy").exists(), "{beside}");
    // A symlink that the run itself creates there is replaced, not followed.
    let script = scratch.expand("ln -sf $OUT/target jp-confine.learned.toml");
    let forced = run(&scratch, &["learn", "--force"], &script);
    if forced.code() != 125 {
        assert!(scratch.read("ws/jp-confine.learned.toml").starts_with("# Learned"), "{forced}");
    }
    assert_eq!(scratch.read("out/target"), "unchanged\n");
}

#[test]
fn without_a_supervisor_nothing_is_run() {
    let scratch = tree();
    let line = ["learn", "--", "sh", "-c", "echo x > new"];
    let without = product(&scratch, &line).env("JP_CONFINE_WITHOUT", "listener").run();
    without.assert_code(125).assert_stderr("supervisor");
    let inside = [&["-x", PRODUCT, "--", PRODUCT][..], &line].concat();
    product(&scratch, &inside).run().assert_code(125).assert_stderr("inside another run");
    assert!(!scratch.ws().join("new").exists());
}

/// The terminal shows no line about learning, even where all output goes elsewhere. Only the command itself writes to
/// it.
#[test]
fn learning_shows_itself_in_no_line_of_the_terminal() {
    let scratch = Scratch::new();
    if learn(&scratch, "true").is_none() {
        return;
    }
    let script = "cat file; sleep 0.3; printf name: >/dev/tty; sleep 0.5; echo there >/dev/tty";
    let line = format!("{PRODUCT} learn -o learned -- sh -c '{script}' >../log 2>&1");
    let run = Run::new(&scratch, "sh", &["-c", &line]).mode(crate::run::Mode::Bare);
    let mut terminal = Terminal::start(&run.env("TERM", "xterm"));
    terminal.see("\x1b]2;jp-confine learn: ");
    terminal.see(" different uses by ");
    terminal.see("\x1b[23;2t");
    assert_eq!(terminal.end(), Some(0));
    let screen = untitled(&terminal.screen());
    assert!(screen.contains("name:there\r\n") && !screen.contains("learn"), "{screen}");
    assert!(!scratch.read("log").contains("learn: "), "{}", scratch.read("log"));
}

/// Removes the titles of the window.
fn untitled(screen: &str) -> String {
    let mut pieces = screen.split("\x1b]2;");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    text.extend(pieces.map(|piece| piece.split_once("\x1b\\").map_or("", |(_, rest)| rest)));
    text.replace("\x1b[22;2t", "").replace("\x1b[23;2t", "")
}

/// The output of a command stays as it is while it is learned from. A program that uses the terminal as a screen has it
/// alone.
#[test]
fn learning_shows_itself_beside_what_the_command_writes() {
    let scratch = Scratch::new();
    if learn(&scratch, "true").is_none() {
        return;
    }
    let script = "printf begin; read word; stty -icanon -echo; printf RAW; sleep 0.5; printf DONE; \
                  stty icanon echo; echo -end";
    let run = product(&scratch, &["learn", "-o", "learned", "--", "sh", "-c", script]);
    let mut terminal = Terminal::start(&run.env("TERM", "xterm"));
    terminal.see("begin");
    terminal.see("\x1b]2;jp-confine learn: ");
    terminal.keys("\n");
    terminal.see("jp-confine:");
    terminal.see("learned from");
    assert_eq!(terminal.end(), Some(0));
    let screen = terminal.screen();
    assert!(screen.contains("RAWDONE"), "{screen}");
    assert!(untitled(&screen).contains("begin\r\nRAWDONE-end\r\n"), "{screen}");
}
