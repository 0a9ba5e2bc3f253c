//! Auto-run files: what allows a run to change them, what is free beside them, and what people read about them.

use crate::attack::{answer, arena, call, set_up};
use crate::cli_prompts::{QUESTION, reply, start};
use crate::layers::Holder;
use crate::run::{Mode, PRODUCT, Run, given, skip};
use crate::scratch::Scratch;

fn assert_goes_on(setup: &str, line: &str) {
    let scratch = arena(Scratch::new());
    set_up(&scratch, setup);
    let run = call(&scratch, Mode::under_test(), &format!("--non-interactive {line}"));
    assert!(answer(&run).starts_with("ok"), "{line}: {run}");
}

macro_rules! go_on {
    ($($name:ident: $setup:literal, $line:literal;)*) => {
        $(#[test]
        fn $name() {
            assert_goes_on($setup, $line);
        })*
    };
}

go_on! {
    a_rule_that_names_it: ":", "-w .envrc -- write_excl .envrc";
    a_rule_that_names_what_it_is_in: "mkdir .idea", "-w .idea -- write_excl .idea/x.xml";
    the_option: ":", "--allow-autorun .envrc -- write_excl .envrc";
    the_option_by_a_pattern: "mkdir -p .git/hooks", "--allow-autorun .git/hooks/** -- write_excl .git/hooks/update";
    the_option_for_all: "mkdir .vscode", "--allow-autorun **/* -- write_excl .vscode/tasks.json";
    the_option_for_a_move: "mkdir .vscode; echo x >.vscode/tasks.json", "--allow-autorun .vscode/** -- rename .vscode/tasks.json gone";
    the_option_where_the_home_is_granted: ":", "-w $HOME --allow-autorun ~/.bashrc -- write_excl $HOME/.bashrc";
    names_that_are_alike: ":", "-- write_excl .envrc.example";
    the_option_for_a_directory: "mkdir .vscode; echo x >.vscode/tasks.json", "--allow-autorun .vscode -- rename .vscode gone";
    further_down: "mkdir sub", "-- write_excl sub/.envrc";
    directories: ":", "-- mkdir .vscode";
    the_directory_of_hooks: "mkdir .git", "-- mkdir .git/hooks";
    a_directory_that_is_empty: "mkdir -p .git/hooks", "-- rmdir .git/hooks";
    samples_of_hooks: "mkdir -p .git/hooks", "-- write_excl .git/hooks/update.sample";
    a_repository_that_goes: "mkdir -p sub/.git/hooks; touch sub/.git/config", "-- unlink sub/.git/config";
    other_directories_move: "mkdir -p src/.github", "-- rename src lib";
}

/// A pattern that a policy adds to the list counts at once. It takes no other entry away.
#[test]
fn patterns_of_a_policy_add_to_the_list() {
    let scratch = arena(Scratch::new());
    scratch.write(
        "ws/jp-confine.toml",
        "[access]\nautorun_paths = ['<workspace>/Justfile', '**/.envrc']\n",
    );
    set_up(&scratch, "mkdir -p sub; echo x >Justfile");
    for (line, expected) in [
        ("write Justfile", "EACCES"),
        ("write_excl sub/.envrc", "EACCES"),
        ("rename Justfile gone", "EACCES"),
        ("rename sub gone", "ok"),
        ("open Justfile", "ok"),
        ("write_excl other", "ok"),
    ] {
        let run = call(&scratch, Mode::under_test(), &format!("--non-interactive -- {line}"));
        assert!(answer(&run).starts_with(expected), "{line}: {run}");
    }
}

/// Git works as usual as far as it writes no configuration. It may also create the directory of hooks again.
#[test]
fn git_goes_on() {
    let Some(scratch) = given(&["git"], Scratch::for_ordinary_user) else { return };
    let bare = "git init -q -b main; git config user.name N; git config user.email n@example.org; \
                rm -r .git/hooks; git commit -q --allow-empty -m first";
    Run::sh(&scratch, bare).mode(Mode::Bare).run().assert_ok();
    let script = "set -e; echo 1 >f; git add f; git commit -q -m second; git checkout -q -b side; \
                  echo 2 >f; git commit -q -a -m third; git checkout -q main; git merge -q side; \
                  echo 3 >f; git stash -q; git stash pop -q; git commit -q -a -m fourth; git tag t; \
                  git rebase -q HEAD~1; git gc -q; git worktree list; git status";
    Run::sh(&scratch, script).run().assert_ok();
}

/// A person is prompted once in a run, whatever the answer, and is told which program obeys the file.
#[test]
fn a_person_is_asked_once() {
    if Holder::under_test() == Holder::Library {
        return skip("without a supervisor nobody asks");
    }
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let script = "echo 1 >.envrc; echo 2 >.envrc; echo 3 >mise.toml; echo 4 >mise.toml; cat .envrc; echo done";
    let mut terminal = start(&scratch, script);
    terminal.see(".envrc");
    terminal.see("auto-run file: direnv obeys it when a shell enters the directory");
    reply(&mut terminal, "y");
    terminal.see("mise obeys it");
    reply(&mut terminal, "n");
    terminal.see("done");
    terminal.end();
    assert_eq!(terminal.screen().matches(QUESTION).count(), 2, "{}", terminal.screen());
    assert_eq!(scratch.read("ws/.envrc"), "2\n");
    assert!(!scratch.ws().join("mise.toml").exists());
}

fn told(scratch: &Scratch, args: &[&str]) -> String {
    let run = Run::new(scratch, PRODUCT, args).mode(Mode::Bare).run();
    run.stdout + &run.stderr
}

/// `check` and `explain` say what a run does, and name the program and the option.
#[test]
fn questions_are_answered_alike() {
    let scratch = Scratch::new();
    let check = told(&scratch, &["check", "create", ".envrc"]);
    for words in ["prompt", "auto-run file: direnv obeys it", "--allow-autorun"] {
        assert!(check.contains(words), "{words}: {check}");
    }
    let json = told(&scratch, &["check", "--json", "update", ".vscode/tasks.json"]);
    assert!(json.contains("\"autorun_refused\""), "{json}");
    assert!(told(&scratch, &["check", "read", ".envrc"]).starts_with("allow"));
    assert!(
        told(&scratch, &["--allow-autorun", ".envrc", "check", "create", ".envrc"])
            .starts_with("allow")
    );
    let explained = told(&scratch, &["explain", ".vscode/tasks.json"]);
    for words in ["`.vscode/tasks.json` of auto-run files", "VS Code obeys it", "ask"] {
        assert!(explained.contains(words), "{words}: {explained}");
    }
}

/// A denial gives its reason to machines, and its suggestion to people.
#[test]
fn a_denial_names_the_program_and_the_way_out() {
    let scratch = Scratch::new();
    let events = scratch.path("events");
    let flags = ["--events", events.to_str().expect("UTF-8")];
    let run = Run::sh(&scratch, "echo >.envrc").flags(&flags).mode(Mode::Confined).run();
    for words in ["auto-run file `.envrc`", "direnv obeys", "--allow-autorun"] {
        run.assert_stderr(words);
    }
    let events = scratch.read("events");
    assert!(events.contains("\"autorun_refused\""), "{events}");
    let why = told(&scratch, &["why", "--last"]);
    assert!(why.contains("auto-run file") && why.contains("--allow-autorun"), "{why}");
}

/// The launcher warns of a rule that names an auto-run file.
#[test]
fn a_rule_that_names_one_is_warned_of() {
    let scratch = Scratch::new();
    let rules =
        "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = '.envrc'\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let run = Run::sh(&scratch, "echo x >.envrc").mode(Mode::Confined).run();
    run.assert_ok().assert_stderr("may change auto-run files, because rules name them");
}

/// The repository of a worktree is elsewhere. It is guarded where it is granted.
#[test]
fn the_repository_of_a_worktree() {
    let Some(scratch) = given(&["git"], Scratch::new) else { return };
    let bare = scratch.expand(
        "git init -q -b main $OUT/hub; cd $OUT/hub; git config user.name N; git config user.email n@example.org; \
         git commit -q --allow-empty -m first; git worktree add -q $WS/tree",
    );
    Run::sh(&scratch, &bare).mode(Mode::Bare).run().assert_ok();
    let tree = scratch.ws().join("tree");
    let hub = scratch.expand("$OUT/hub/.git");
    let script = scratch.expand(
        "echo x >f; git add f; git commit -q -m second && echo committed; echo x >$OUT/hub/.git/hooks/pre-commit; \
         echo $OUT >$OUT/hub/.git/worktrees/tree/commondir",
    );
    let run = Run::sh(&scratch, &script).cwd(&tree).flags(&["-w", &hub]).run();
    run.assert_stdout("committed");
    assert!(!scratch.out().join("hub/.git/hooks/pre-commit").exists(), "{run}");
    assert_eq!(scratch.read("out/hub/.git/worktrees/tree/commondir"), "../..\n");
}

/// Landlock alone still judges reads, because the list is about changes.
#[test]
fn reads_are_left_to_the_kernel() {
    let scratch = Scratch::new();
    let told = told(&scratch, &["explain", "file"]);
    let held = told.lines().find(|line| line.contains("landlock: read"));
    assert!(held.is_some_and(|line| !line.contains("supervisor")), "{told}");
}

/// A learned rule on an auto-run file would let every run change it.
#[test]
fn nobody_learns_to_change_one() {
    let scratch = Scratch::new();
    let line = ["--allow-autorun", ".envrc", "learn", "--", "sh", "-c", "echo >.envrc; echo >f"];
    let told = told(&scratch, &line);
    assert!(told.contains("auto-run files, left out") && told.contains(".envrc"), "{told}");
    let learned = scratch.read("ws/jp-confine.learned.toml");
    assert!(learned.contains("\"f\"") && !learned.contains("path = \".envrc\""), "{learned}");
}
