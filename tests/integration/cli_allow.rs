//! `allow` writes what denials of the last run need into the files where it counts, and shows the change first.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::cli_advice::{allow, attempt, denials, lists, patterns, rules, tree};
use crate::cli_status::product;
use crate::run::{Mode, Outcome, Run, given};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

/// Options, the file to change, and its text before and after.
const ROWS: &[(&[&str], &str, &str, &str)] = &[
    (
        &[],
        "jp-confine.toml",
        "# mine\n[[access.fs]]\npath = '.' # all\nread = true\nexecute = true\n\n[access.commands]\n",
        "# mine\n[[access.fs]]\npath = '.' # all\nread = true\nexecute = true\n\n\
         [[access.fs]]\npath = \"file\"\nread = true\nupdate = true\nexecute = true\n\n\
         [access.commands]\n",
    ),
    (
        &["-p", "p.json"],
        "p.json",
        "{\"access\": {\"fs\": [\n  // all\n  {\"path\": \".\", \"read\": true, \"execute\": true}\n]}}\n",
        "",
    ),
    (&[], "jp-confine.toml", "[access]\nfs = [{path = '.', read = true, execute = true}]\n", ""),
    (
        &[],
        "jp-confine.toml",
        "access = {fs = [\n  # all\n  {path = '.', read = true, execute = true},\n]}\n",
        "",
    ),
    (
        &[],
        "jp-confine.toml",
        "[access.fs]\nstrategy = 'append'\nvalue = [{path = '.', read = true, execute = true}]\n",
        "",
    ),
    (
        &[],
        "jp-confine.toml",
        "access.fs = [{path = '.', read = true, execute = true}]\naccess.env = []\n",
        "",
    ),
    // A rule on the same path is changed. A second one would warn in each run.
    (
        &[],
        "jp-confine.toml",
        "# mine\n[[access.fs]]\npath = 'file'\nread = true # all\ncreate = true\n\n[access.commands]\n",
        "# mine\n[[access.fs]]\npath = 'file'\nread = true # all\ncreate = true\nupdate = true\n\n[access.commands]\n",
    ),
    (
        &[],
        "jp-confine.toml",
        "access = {fs = [{path = 'file', read = true}, {path = '.', read = true}]}\n",
        "access = {fs = [{path = 'file', read = true, update = true }, {path = '.', read = true}]}\n",
    ),
    (
        &["-p", "p.json"],
        "p.json",
        "{\"access\": {\"fs\": [{\"path\": \"file\", \"read\": true}]}}\n",
        "{\"access\": {\"fs\": [{\n        \"path\": \"file\",\n        \"read\": true,\n        \
         \"update\": true\n      }]}}\n",
    ),
    (
        &["--tool", "edit"],
        "jp-confine.toml",
        "[[conversation.tools.edit.access.fs]]\npath = '.'\nread = true\nexecute = true\n",
        "",
    ),
];

fn append(scratch: &Scratch, options: &[&str]) -> Outcome {
    let program = ["--", "sh", "-c", "echo x >> file"];
    product(scratch, &[options, &program].concat()).run()
}

#[test]
fn rules_are_written_as_the_file_has_its_own() {
    for (options, name, policy, expected) in ROWS {
        let scratch = Scratch::new();
        scratch.write(&format!("ws/{name}"), policy);
        let denied = append(&scratch, options);
        assert_ne!(denied.code(), 0, "{policy}: allowed from the start");
        let told = product(&scratch, &["allow", "1", "--yes"]).run();
        let after = fs::read_to_string(scratch.ws().join(name)).expect("the policy");
        assert!(expected.is_empty() || after == *expected, "{after}");
        assert!(!policy.contains("all") || after.contains("all"), "a comment is gone: {after}");
        let shown = after.lines().filter(|line| !policy.contains(line.trim_end_matches(',')));
        for line in shown {
            assert!(told.stdout.contains(&format!("+{line}")), "not shown: {line}: {told}");
        }
        let again = append(&scratch, options);
        assert_eq!(again.code(), 0, "{after}: {again}");
    }
}

/// The command is told in the report. A person sees the change, and says yes.
#[test]
fn a_person_sees_what_is_written() {
    let Some(scratch) = given(&["script"], tree) else { return };
    attempt(&scratch, "echo x >> file").assert_stderr("to allow for good: jp-confine allow; ");
    let before = fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("the policy");
    for (reply, code) in [("n", 1), ("y", 0)] {
        let mut terminal = Terminal::start(&product(&scratch, &["allow"]));
        terminal.see("+path = \"file\"");
        terminal.see("Write this? [y/N] ");
        terminal.keys(&format!("{reply}\n"));
        assert_eq!(terminal.end(), Some(code), "{}", terminal.screen());
        let after = fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("the policy");
        assert_eq!(after == before, reply == "n", "{after}");
    }
    attempt(&scratch, "echo x >> file").assert_ok();
}

/// Without a terminal nobody can say yes. A number that is not there, and one that no file allows, say so.
#[test]
fn nothing_is_written_unasked() {
    let scratch = tree();
    let tell = |words: &[&str]| product(&scratch, words).run();
    tell(&["allow"]).assert_code(125).assert_stderr("no run is on record");
    attempt(&scratch, "echo x >> file; echo x >> dir/program; echo > jp-confine.toml; false");
    tell(&["allow", "1"]).assert_code(125).assert_stderr("to write it unasked: --yes");
    tell(&["allow"]).assert_code(125).assert_stderr("\n  1 update file\n  2 ");
    tell(&["allow", "9"]).assert_code(125).assert_stderr("the last run has no denial 9");
    tell(&["allow", "3"]).assert_code(125).assert_stderr("no file can allow denial 3\n  cannot be");
    tell(&["allow", "1", "--all"]).assert_code(125).assert_stderr("cannot be used with");
}

/// A program sees the change, and writes it with a second command.
#[test]
fn a_program_sees_what_is_written() {
    let scratch = tree();
    attempt(&scratch, "echo x >> file");
    let policy = scratch.read("ws/jp-confine.toml");
    for (words, is_written) in [(&["--json"][..], false), (&["--json", "--yes"], true)] {
        let told = product(&scratch, &[&["allow"], words].concat()).run();
        let answer: Value = serde_json::from_str(&told.assert_ok().stdout).expect("JSON");
        assert_eq!(answer["changes"][0]["add"][0]["rule"]["path"], "file", "{answer}");
        assert_eq!(answer["written"], is_written, "{answer}");
        assert_eq!(scratch.read("ws/jp-confine.toml") != policy, is_written, "{answer}");
    }
    attempt(&scratch, "echo x >> file").assert_ok();
}

/// The file keeps its permissions. Nobody else reads a configuration that nobody else could read before.
#[test]
fn a_changed_file_keeps_its_permissions() {
    let scratch = tree();
    let policy = scratch.ws().join("jp-confine.toml");
    fs::set_permissions(&policy, fs::Permissions::from_mode(0o600)).expect("set");
    attempt(&scratch, "echo x >> file");
    allow(&scratch);
    assert_eq!(fs::metadata(&policy).expect("there").permissions().mode() & 0o777, 0o600);
}

/// Variables that were withheld are allowed together.
#[test]
fn variables_are_allowed_by_their_number() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.env]]\nname = 'A'\nread = true\n");
    let run = || {
        let line = ["--", "sh", "-c", "test -n \"$B_TOKEN\""];
        product(&scratch, &line).env("B_TOKEN", "x").run()
    };
    run().assert_code(1);
    allow(&scratch);
    run().assert_ok();
}

/// An empty list of patterns is a list. With a second one, the file could not be read.
#[test]
fn patterns_are_added_to_an_empty_list() {
    let scratch = Scratch::new();
    scratch.write("home/.config/jp-confine/config.toml", "[file_policy]\nread_paths = []\n");
    let secret = scratch.path("out/secret");
    let read = ["--", "cat", secret.to_str().expect("UTF-8")];
    product(&scratch, &read).run().assert_code(1);
    allow(&scratch);
    product(&scratch, &read).run().assert_ok();
}

/// If a pattern only allows reading a file, a pattern in the other list allows changing it, and names nothing else.
#[test]
fn a_pattern_that_only_reads_belongs_into_the_other_list() {
    let scratch = Scratch::new();
    let write = |list: &str| {
        let text = format!("[file_policy]\n{list} = ['{}/**']\n", scratch.out().display());
        scratch.write("home/.config/jp-confine/config.toml", &text);
    };
    let script = scratch.expand("echo x >> $OUT/target");
    let change = ["--", "sh", "-c", &script];
    write("read_paths");
    let pattern = format!("what `{}/**` opens is for reading alone", scratch.out().display());
    product(&scratch, &change).run().assert_stderr(&pattern);
    write("write_paths");
    product(&scratch, &change).run().assert_ok();
    // Nobody is told to grant the home.
    scratch.write("home/.config/jp-confine/config.toml", "[file_policy]\nread_paths = ['~/**']\n");
    let denied = attempt(&scratch, "echo x >> ~/.private/key");
    let home = scratch.home();
    assert_ne!(denied.code(), 0);
    let told = product(&scratch, &["allow", "1", "-y"]).run().stdout;
    assert!(told.contains(&format!("\"{}/.private/key\"", home.display())), "{told}");
}

/// If a program updates a file in place after a grant to read it, the next suggestion covers the writes, too.
#[test]
fn a_file_is_changed_in_place_as_its_patterns_are_added() {
    let scratch = tree();
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..4 {
        if attempt(&scratch, "sed -i s/o/p/ $HOME/.private/key").code() == 0 {
            return;
        }
        let advice = denials(&scratch);
        let added = patterns(&advice[..1]);
        for (key, known) in &mut all {
            if advice[0]["never"].is_string() && !added.contains_key(key) {
                known.retain(|one| !added.values().flatten().any(|new| new == one));
            }
        }
        for (key, new) in added {
            all.entry(key).or_default().extend(new);
        }
        let text = format!("[file_policy]\n{}", lists(&all));
        scratch.write("home/.config/jp-confine/config.toml", &text);
    }
    panic!("not allowed by {all:?}");
}

/// If a pattern covers more than the file to change, it does not move to the other list.
#[test]
fn nothing_beside_a_file_becomes_writable_for_its_sake() {
    let scratch = tree();
    let file = "home/.config/jp-confine/config.toml";
    scratch.write(file, "[file_policy]\nread_paths = ['~/.private/**']\n");
    assert_ne!(attempt(&scratch, "echo x > $HOME/.private/key").code(), 0);
    let advice = denials(&scratch);
    let said = advice[0].to_string();
    assert!(said.contains("~/.private/**") && !said.contains("belongs into"), "{said}");
    let home = scratch.home();
    let narrow = format!("write_paths = [\"{}/.private/key\"]", home.display());
    scratch.write(file, &format!("[file_policy]\n{narrow}\n"));
    assert_eq!(attempt(&scratch, "echo x > $HOME/.private/key").code(), 0);
    assert_ne!(attempt(&scratch, "echo x > $HOME/.private/other").code(), 0);
}

/// Programs look at the root and at the home in passing. The suggestion allows listing these, and grants nothing in
/// them.
#[test]
fn who_lists_the_home_is_given_nothing_in_it() {
    let scratch = Scratch::new();
    let list = |script: &str| product(&scratch, &["--", "sh", "-c", script]).run();
    list("ls / ~").assert_stderr("denied read / by");
    for denial in denials(&scratch) {
        assert_eq!(denial["options"], Value::Null, "{denial}");
    }
    allow(&scratch);
    list("ls / ~").assert_ok();
    list("cat ~/.private/key").assert_code(1);
}

/// If a run has a profile of the user's own, each round of suggestions adds to that profile.
#[test]
fn a_profile_of_the_run_is_advised_to_be_added_to() {
    let scratch = tree();
    scratch.write("home/.cargo/bin/program", "x");
    let file = "home/.config/jp-confine/config.toml";
    scratch.write(file, "[profiles.mine]\nincludes = ['rust']\nwrite = [\n]\n");
    let run = || {
        let script = scratch.expand("echo x > $HOME/.cargo/bin/new");
        product(&scratch, &["--profile", "mine", "--", "sh", "-c", &script]).run()
    };
    let denied = run();
    assert_ne!(denied.code(), 0, "allowed from the start");
    allow(&scratch);
    let profile = fs::read_to_string(scratch.path(file)).expect("the configuration");
    assert_eq!(profile.matches("[profiles.").count(), 1, "{profile}");
    run().assert_ok();
}

/// A file that was named relative to the run's directory is named so that it is found from where the suggestion is
/// read.
#[test]
fn the_file_for_rules_is_named_for_who_asks() {
    let scratch = tree();
    let rule = "[[access.fs]]\npath = 'dir/note'\n";
    scratch.write("ws/sub/extra.toml", rule);
    scratch.write("ws/dir/note", "x");
    let line = ["-p", "extra.toml", "--", "cat", "../dir/note"];
    product(&scratch, &line).cwd(&scratch.path("ws/sub")).run().assert_code(1);
    for (directory, words) in [
        ("ws/sub", &["allow", "1"][..]),
        ("ws", &["allow", "1"]),
        ("out", &["-C", "../ws", "allow", "1"]),
    ] {
        let told = product(&scratch, words).cwd(&scratch.path(directory)).run();
        assert!(told.stdout.contains("ws/sub/extra.toml\n"), "{directory}: {told}");
    }
}

/// Scripts that create and then read a file, and the other way round.
const IN_A_DIRECTORY: &[&str] =
    &["cd dir; ln -s f new; cat new", "cd dir; cat new; ln -s f new", "cd dir; ls; rm -f note"];

/// Rules on a directory and on its contents are pasted together. None takes away what another one grants.
#[test]
fn rules_of_one_report_do_not_outweigh_each_other() {
    let policy =
        "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n[[access.fs]]\npath = 'dir'\n";
    let refused = |one: &Value| (one["denied"].clone(), one["path"].clone());
    for script in IN_A_DIRECTORY {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", policy);
        scratch.write("ws/dir/note", "x");
        attempt(&scratch, script);
        let before = denials(&scratch);
        assert!(before.len() > 1, "{script}: {before:?}");
        scratch.write("ws/jp-confine.toml", &(policy.to_owned() + &rules(&before)));
        let again = attempt(&scratch, script);
        if again.stderr.contains("denial") {
            let after = denials(&scratch);
            let is_again = |one: &&Value| before.iter().any(|it| refused(it) == refused(one));
            assert_eq!(after.iter().find(is_again), None, "{script}");
        }
    }
}

/// A repository is one unit: what git was denied first allows the rest of a commit, too.
#[test]
fn a_commit_takes_one_round() {
    let Some(scratch) = given(&["git"], Scratch::new) else { return };
    let git = "git -c user.name=a -c user.email=a@b.c -c init.defaultBranch=main";
    let bare = |script: &str| Run::sh(&scratch, script).mode(Mode::Bare).run();
    bare(&format!("{git} init -q .; echo x > tracked; git add tracked")).assert_ok();
    product(&scratch, &["init"]).run().assert_ok();
    let commit = format!("{git} commit -qm one");
    attempt(&scratch, &commit).assert_code(128).assert_stderr("allow: jp-confine -w ");
    allow(&scratch);
    attempt(&scratch, &commit).assert_ok();
    attempt(&scratch, "echo x > .git/hooks/pre-commit").assert_code(2);
}
