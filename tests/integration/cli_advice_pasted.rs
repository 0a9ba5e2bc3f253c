//! Suggested rules have the form of the file's own, and can be pasted into it unchanged.

use serde_json::Value;

use crate::cli_advice::{attempt, denials, texts, tree};
use crate::cli_status::product;
use crate::run::Outcome;
use crate::scratch::Scratch;

/// Options, a policy with `@` where more of its list goes, and the place that the suggestion names.
const ROWS: &[(&[&str], &str, &str, &str)] = &[
    (
        &["--mount", "fork=../out"],
        "jp-confine.toml",
        "[[access.fs]]\npath = '.'\nread = true\nexecute = true\n@",
        "add to $WS/jp-confine.toml:",
    ),
    (
        &["-p", "p.json"],
        "p.json",
        "{\"access\": {\"fs\": [{\"path\": \".\", \"read\": true, \"execute\": true},\n@]}}",
        "add to access.fs of p.json, at its end behind a comma:",
    ),
    (
        &[],
        "jp-confine.toml",
        "[access]\nfs = [{path = '.', read = true, execute = true},\n@]\n",
        "add to access.fs of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        "jp-confine.toml",
        "access = {fs = [{path = '.', read = true, execute = true},\n@]}\n",
        "add to access.fs of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        "jp-confine.toml",
        "[access.fs]\nstrategy = 'append'\nvalue = [{path = '.', read = true, execute = true},\n@]\n",
        "add to access.fs.value of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &["--tool", "edit"],
        "jp-confine.toml",
        "[[conversation.tools.edit.access.fs]]\npath = '.'\nread = true\nexecute = true\n@",
        "add to $WS/jp-confine.toml:",
    ),
];

fn append(scratch: &Scratch, options: &[&str]) -> Outcome {
    let program = ["--", "sh", "-c", "echo x >> file"];
    product(scratch, &[options, &program].concat()).run()
}

/// The text after `place`, up to `end`.
pub(crate) fn printed(told: &str, place: &str, end: &str) -> String {
    let (_, rules) = told.split_once(place).unwrap_or_else(|| panic!("{place}: {told}"));
    rules.split_once(end).unwrap_or_else(|| panic!("{end}: {told}")).0.to_owned()
}

#[test]
fn rules_are_pasted_as_the_file_has_its_own() {
    for (options, name, policy, place) in ROWS {
        let scratch = Scratch::new();
        let file = format!("ws/{name}");
        let write = |rules: &str| scratch.write(&file, &policy.replace('@', rules));
        write("");
        let place = place.replace("$WS", scratch.ws().to_str().expect("UTF-8"));
        let denied = append(&scratch, options);
        assert_ne!(denied.code(), 0, "{policy}: allowed from the start");
        let told = product(&scratch, &["why", "--last"]).run().stdout;
        for rules in [
            printed(&denied.stderr, &place, "  all of them"),
            printed(&format!("{told}\n\n"), &place, "\n\n"),
        ] {
            write(&rules);
            let again = append(&scratch, options);
            assert_eq!(again.code(), 0, "{policy}: {rules}: {again}");
        }
    }
}

/// An empty list of patterns is a list. With a second one, the file could not be read.
#[test]
fn patterns_are_pasted_into_an_empty_list() {
    let scratch = Scratch::new();
    let file = "home/.config/jp-confine/config.toml";
    let write = |patterns: &str| {
        scratch.write(file, &format!("[file_policy]\nread_paths = [{patterns}]\n"));
    };
    write("");
    let secret = scratch.path("out/secret");
    let read = ["--", "cat", secret.to_str().expect("UTF-8")];
    let denied = product(&scratch, &read).run();
    let config = scratch.path(file);
    let place = format!("add to read_paths of [file_policy] in {}:", config.display());
    // If that is too long for one line, it takes two.
    let told = denied.stderr.replace("in\n      ", "in ");
    write(&printed(&told, &place, "  all of them"));
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
    denied.assert_stderr(&format!("write_paths = [\"{}/.private/key\"]", home.display()));
}

/// If a program updates a file in place after a grant to read it, the next suggestion covers the writes, too.
#[test]
fn a_file_is_changed_in_place_as_its_patterns_are_pasted() {
    let scratch = tree();
    let mut lists = [("read_paths", Vec::new()), ("write_paths", Vec::new())];
    for _ in 0..4 {
        if attempt(&scratch, "sed -i s/o/p/ $HOME/.private/key").code() == 0 {
            return;
        }
        let advice = denials(&scratch);
        for addition in advice[0]["patterns"].as_array().expect("a list") {
            let taken_out = advice[0]["never"].is_string();
            for (key, patterns) in &mut lists {
                let added = addition["patterns"].as_array().expect("patterns");
                if addition["key"] == *key {
                    patterns.extend(added.iter().cloned());
                } else if taken_out {
                    patterns.retain(|known| !added.contains(known));
                }
            }
        }
        let text = |(key, patterns): &(&str, Vec<Value>)| {
            format!("{key} = {}\n", Value::from(patterns.clone()))
        };
        let lists: String = lists.iter().map(text).collect();
        scratch.write("home/.config/jp-confine/config.toml", &format!("[file_policy]\n{lists}"));
    }
    panic!("not allowed by {lists:?}");
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
    let file = "home/.config/jp-confine/config.toml";
    let mut patterns = Vec::new();
    for denial in denials(&scratch) {
        assert_eq!(denial["options"], Value::Null, "{denial}");
        let one = &denial["patterns"][0];
        assert_eq!(one["key"], "read_paths", "{denial}");
        patterns.push(one["patterns"][0].to_string());
    }
    let lists = format!("[file_policy]\nread_paths = [{}]\n", patterns.join(","));
    scratch.write(file, &lists);
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
    denied.assert_stderr("write of [profiles.mine] in");
    let advice = denials(&scratch);
    let mut profile = "[profiles.mine]\nincludes = ['rust']\n".to_owned();
    for one in advice[0]["patterns"].as_array().expect("a list") {
        assert_eq!(one["table"], "profiles.mine", "{advice:?}");
        assert_eq!(one["begun"], if one["key"] == "write" { "list" } else { "table" });
        let key = one["key"].as_str().expect("a key");
        profile = format!("{profile}{key} = {}\n", one["patterns"]);
    }
    scratch.write(file, &profile);
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
    let whole = scratch.path("ws/sub/extra.toml").display().to_string();
    for (directory, words, name) in [
        ("ws/sub", &["why", "--last"][..], "extra.toml"),
        ("ws", &["why", "--last"], "sub/extra.toml"),
        ("out", &["-C", "../ws", "why", "--last"], &whole),
    ] {
        let why = product(&scratch, words).cwd(&scratch.path(directory)).run();
        let told: String = why.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(&format!("add to {name}")), "{directory}: {why}");
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
        scratch
            .write("ws/jp-confine.toml", &(policy.to_owned() + &texts(&before, "toml").concat()));
        let again = attempt(&scratch, script);
        if again.stderr.contains("denial") {
            let after = denials(&scratch);
            let is_again = |one: &&Value| before.iter().any(|it| refused(it) == refused(one));
            assert_eq!(after.iter().find(is_again), None, "{script}");
        }
    }
}
