//! What a denial says would allow it does: the advice is taken from `why --last`, and followed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::attack::{Linking, arena_with};
use crate::cli_status::product;
use crate::run::{Outcome, PRODUCT, Run};
use crate::scratch::Scratch;

/// Lets everything inside be read, and what is in `bin` be run.
const POLICY: &str = "[[access.fs]]\npath = \".\"\nread = true\n
[[access.fs]]\npath = \"bin\"\nread = true\nexecute = true\n";

/// Lets everything inside be read.
const READ: &str = "[[access.fs]]\npath = \".\"\nread = true\n\n";

/// Each script fails, and does not fail once it is allowed.
const ROWS: &[(&str, &str)] = &[
    ("read outside", "cat $OUT/secret"),
    ("read through a link", "cat link"),
    ("read hidden at home", "cat $HOME/.private/key"),
    ("look for what is hidden at home", "test -e $HOME/.private/key"),
    ("list outside", "ls $OUT/dir"),
    ("write outside", "echo x >> $OUT/target"),
    ("create outside", "echo x > \"$OUT/it's new\""),
    ("remove outside", "rm -r $OUT/dir"),
    ("rename out", "mv file $OUT/file"),
    ("execute outside", "$OUT/program"),
    ("update inside", "echo x >> file"),
    ("create inside", "mkdir \"dir/a b\""),
    ("delete inside", "rm -f file"),
    ("execute inside", "dir/program"),
    ("update a program", "echo >> bin/program"),
    ("rename inside", "mv file dir/moved"),
    ("rename over", "mv -f file dir/program"),
    ("link inside", "ln file second"),
    ("link a program", "ln bin/program second"),
    ("remove a link", "rm dir/inner"),
    ("rename over a link", "mv -f dir/program dir/inner"),
    // One name in two hundred is of small letters alone, and taken for a word.
    (
        "replace by a name that is another each time",
        "for i in 1 2 3; do sed -i s/i/j/ file && exit; done; false",
    ),
    ("create what has another name each time", "mktemp -p dir"),
    ("create outside what has another name each time", "mktemp -p $OUT"),
];

/// What no option and no rule allows: the script, and what the advice names.
const WITHHELD: &[(&str, &str)] = &[
    ("echo x >> no/file", "first: `<workspace>/no/**` of deny_paths"),
    ("touch no/new", "first: `<workspace>/no/**` of deny_paths"),
    ("rm -f no/file", "first: `<workspace>/no/**` of deny_paths"),
    (
        "mv whole dir/whole",
        "place; take the pattern out: `<workspace>/whole/part/*` of prompt_paths",
    ),
    ("mv asked/file moved", "first: `<workspace>/asked/**` of prompt_paths"),
    ("ln asked/file second", "first: `<workspace>/asked/**` of prompt_paths"),
];

pub(crate) fn tree() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", POLICY);
    for name in ["ws/dir/program", "ws/bin/program", "out/program"] {
        scratch.copy_program(Path::new("/bin/true"), name);
    }
    std::os::unix::fs::symlink(scratch.path("out/secret"), scratch.ws().join("link"))
        .expect("linked");
    std::os::unix::fs::symlink("program", scratch.ws().join("dir/inner")).expect("linked");
    scratch
}

/// As [`tree`], with places that tiers withhold as well as rules.
fn withheld() -> Scratch {
    let scratch = tree();
    for name in ["ws/no/file", "ws/asked/file", "ws/whole/part/file"] {
        scratch.write(name, "x");
    }
    let deny = "[file_policy]\ndeny_paths = [\"<workspace>/no/**\"]\n";
    let prompt = "prompt_paths = [\"<workspace>/whole/part/*\", \"<workspace>/asked/**\"]\n";
    scratch.write("ws/jp-confine.toml", &[READ, deny, prompt].concat());
    scratch
}

pub(crate) fn denials(scratch: &Scratch) -> Vec<Value> {
    let told = product(scratch, &["why", "--last", "--json"]).run();
    told.assert_ok();
    serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

pub(crate) fn texts(denials: &[Value], key: &str) -> Vec<String> {
    denials.iter().filter_map(|one| Some(one[key].as_str()?.to_owned())).collect()
}

pub(crate) fn attempt(scratch: &Scratch, script: &str) -> Outcome {
    product(scratch, &["--", "sh", "-c", &scratch.expand(script)]).run()
}

#[test]
fn options_that_are_advised_allow_it() {
    for (name, script) in ROWS {
        let scratch = tree();
        let denied = attempt(&scratch, script);
        assert_ne!(denied.code(), 0, "{name}: allowed from the start");
        denied.assert_stderr("  denied ");
        let options = texts(&denials(&scratch), "options").join(" ");
        let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, &scratch.expand(script)]);
        let again = run.mode(crate::run::Mode::Bare).run();
        assert_eq!(again.code(), 0, "{name}: {options}: {again}");
        assert!(!again.stderr.contains("denied"), "{name}: {options}: {again}");
    }
}

#[test]
fn rules_that_are_advised_allow_it() {
    let inside = |script: &str| !script.contains('$') && !script.contains("link");
    for (name, script) in ROWS.iter().filter(|(_, script)| inside(script)) {
        let scratch = tree();
        assert_ne!(attempt(&scratch, script).code(), 0, "{name}: allowed from the start");
        let advice = denials(&scratch);
        let rules = texts(&advice, "toml").join("\n");
        let file = texts(&advice, "file").pop().unwrap_or_else(|| panic!("{name}: {advice:?}"));
        assert!(file.ends_with("jp-confine.toml"), "{name}: {file}");
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        let again = attempt(&scratch, script);
        assert_eq!(again.code(), 0, "{name}: {rules}: {again}");
    }
}

/// No rule outweighs what a person denied, be it typed or in a profile of that person's own: an option does.
#[test]
fn no_rule_is_advised_for_what_a_person_denied() {
    for person in [["--deny", "dir"], ["--profile", "own"]] {
        let scratch = tree();
        let config = scratch.expand("[profiles.own]\ndeny = ['$WS/dir']\nwrite = ['$WS/bin']\n");
        scratch.write("home/.config/jp-confine/config.toml", &config);
        let run = |options: &[&str]| {
            let line = [person.as_slice(), options, &["--", "sh", "-c", "cat dir/program"]];
            product(&scratch, &line.concat()).run()
        };
        let denied = run(&[]);
        let warning = "left out, because inside the workspace only its rules and options grant";
        assert_eq!(denied.stderr.contains(warning), person[1] == "own", "{denied}");
        let advice = denials(&scratch);
        assert_eq!(texts(&advice, "toml"), [""; 0], "{advice:?}");
        let options = texts(&advice, "options").join(" ");
        run(&options.split(' ').collect::<Vec<_>>()).assert_ok();
    }
}

/// What a profile denies in the home an option on it opens, and nothing else in the home.
#[test]
fn what_a_profile_denies_in_the_home_is_opened_by_its_name() {
    for (options, script) in [
        (["-r", "$HOME"], "cat $HOME/.netrc"),
        (["-w", "$HOME"], "echo x > $HOME/.netrc"),
        (["--profile", "own"], "echo x > $HOME/big/file"),
        (["--profile", "own"], "ls $HOME/big/sub"),
        (["--profile", "own"], "cat $HOME/big/sub/deep"),
    ] {
        let scratch = tree();
        let own = "[profiles.own]\nread = ['~/big']\ndeny = ['~/big/file', '~/big/sub']\n";
        scratch.write("home/.config/jp-confine/config.toml", own);
        for name in ["home/.netrc", "home/big/file", "home/big/sub/deep"] {
            scratch.write(name, "x");
        }
        let (options, script) =
            (options.map(|option| scratch.expand(option)), scratch.expand(script));
        let run = |more: &[&str]| {
            let first = options.iter().map(String::as_str);
            let line = first.chain(more.iter().copied()).chain(["--", "sh", "-c", &script]);
            product(&scratch, &line.collect::<Vec<_>>()).run()
        };
        assert_ne!(run(&[]).code(), 0, "{script}: allowed from the start");
        let advised = texts(&denials(&scratch), "options").join(" ");
        let (_, place) = advised.split_once(' ').unwrap_or_else(|| panic!("{script}: no option"));
        assert!(script.ends_with(place), "{script}: {advised}");
        run(&advised.split(' ').collect::<Vec<_>>()).assert_ok();
    }
}

/// Where a tier withholds what a rule does not grant either, both are named, and nothing is advised in vain: what
/// follows on the pattern is enough once that is gone.
#[test]
fn what_tiers_withhold_too_is_named() {
    for (script, pattern) in WITHHELD {
        let scratch = withheld();
        let denied = attempt(&scratch, script);
        denied.assert_stderr("rule `.`").assert_stderr(pattern);
        let denials = denials(&scratch);
        for denial in &denials {
            assert_eq!(denial["options"], Value::Null, "{script}: {denial}");
        }
        let told = product(&scratch, &["why", "--last"]).run();
        told.assert_stdout(pattern);
        let is_first = pattern.starts_with("first: ");
        assert_eq!(told.stdout.contains("then allow: jp-confine -w "), is_first, "{told}");
        assert_eq!(told.stdout.contains("or add to "), is_first, "{told}");
        // Of several there is no room for it.
        let is_told = is_first && denials.len() == 1;
        assert_eq!(denied.stderr.contains("or add to "), is_told, "{denied}");
        if is_first {
            let rules = texts(&denials, "toml").join("\n");
            scratch.write("ws/jp-confine.toml", &format!("{READ}\n{rules}"));
            attempt(&scratch, script).assert_ok();
        }
    }
}

/// What no grant outweighs is told of before what lacks a grant, also by the spelling of where a move goes.
#[test]
fn a_spelling_that_is_denied_goes_first() {
    let scratch = tree();
    std::os::unix::fs::symlink("dir", scratch.ws().join("way")).expect("linked");
    scratch.write(
        "ws/jp-confine.toml",
        &format!("{READ}[file_policy]\ndeny_paths = [\"**/way/*\"]\n"),
    );
    for script in ["mv file way/file", "ln file way/file", "mkdir way/new", "rm way/program"] {
        attempt(&scratch, script).assert_stderr("`**/way/*` of deny_paths");
        for denial in denials(&scratch) {
            assert_eq!(denial["options"], Value::Null, "{script}: {denial}");
        }
    }
}

/// A pattern by which a person is asked, or a directory kept in its place, is named with those that deny.
#[test]
fn what_is_behind_patterns_that_deny_is_named_at_once() {
    const WRITE: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\n\n";
    let asked = "then a person is asked, for `**/no/file` of prompt_paths";
    let kept = "`**/no/part/*` of prompt_paths";
    for (granted, script, denied, named) in [
        (READ, "echo x >> no/file", "deny_paths = ['**/no/*']", asked),
        (WRITE, "echo x >> no/file", "deny_paths = ['**/no/*']", asked),
        (READ, "mv no dir/moved", "deny_paths = ['**/no']", kept),
        (WRITE, "mv no dir/moved", "deny_paths = ['**/no']", kept),
    ] {
        let scratch = withheld();
        scratch.write("ws/no/part/file", "x");
        let prompt = "prompt_paths = ['**/no/file', '**/no/part/*']";
        let policy = format!("{granted}[file_policy]\n{denied}\n{prompt}\n");
        scratch.write("ws/jp-confine.toml", &policy);
        let told = attempt(&scratch, script).stderr;
        let last = product(&scratch, &["why", "--last"]).run().stdout;
        for told in [told, last] {
            let has_both = told.contains(named) && told.contains("of deny_paths");
            assert!(has_both, "{policy}: {script}: {told}");
        }
    }
}

/// What is granted and asked about does not leave its place: that is no question, and nobody is told of one.
#[test]
fn what_is_asked_about_stays_in_its_place() {
    let scratch = withheld();
    let policy = std::fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("read");
    let policy = policy.replace("read = true", "read = true\nwrite = true");
    scratch.write("ws/jp-confine.toml", &policy);
    scratch.write("ws/asked/dir/file", "x");
    for script in ["mv asked/file moved", "ln asked/file second", "mv asked/dir dir/asked"] {
        let denied = attempt(&scratch, script);
        denied.assert_stderr("has to stay in its place; take the pattern out");
        assert!(!denied.stderr.contains("consented"), "{denied}");
        product(&scratch, &["why", "--last"]).run().assert_stdout("has to stay in its place");
    }
    attempt(&scratch, "cat asked/file").assert_stderr("nobody consented");
}

/// A pattern below a directory keeps it in its place, wherever the pattern begins.
#[test]
fn what_keeps_a_directory_in_its_place_is_named() {
    for pattern in ["**/dir/**/x", "**/dir/*", "**/di*/conf/x", "<workspace>/dir/conf/x"] {
        let scratch = Scratch::new();
        scratch.write("ws/dir/conf/file", "x");
        let policy = format!("[file_policy]\ndeny_paths = ['**/other/*', '{pattern}']\n");
        scratch.write("ws/jp-confine.toml", &policy);
        let named = format!("take the pattern out: `{pattern}` of deny_paths");
        let denied = attempt(&scratch, "mv dir moved");
        assert_ne!(denied.code(), 0, "{pattern}: allowed");
        denied.assert_stderr(&named).assert_stderr("(jp-confine.toml:2)");
        product(&scratch, &["why", "--last"]).run().assert_stdout(&named);
    }
}

/// Where a person is asked once it is granted, the advice says so, and what was granted stays granted.
#[test]
fn what_is_asked_about_once_it_is_granted_says_so() {
    let scratch = withheld();
    let denied = attempt(&scratch, "echo x >> asked/file");
    denied.assert_stderr("-w ").assert_stderr("then a person is asked, for `<workspace>/asked/**`");
    let advice = denials(&scratch);
    assert_eq!(texts(&advice, "question").len(), 1, "{advice:?}");
    let rules = texts(&advice, "toml").concat();
    assert!(rules.contains("read = true") && rules.contains("update = true"), "{rules}");
    let policy = std::fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("read");
    scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
    attempt(&scratch, "echo x >> asked/file").assert_stderr("nobody consented");
}

/// Patterns for the user's own configuration, which has some already: they count, what counted does still.
#[test]
fn patterns_that_are_advised_allow_it() {
    let config = "[file_policy]\nread_paths = [\n\"/nowhere\",\n]\n";
    let outside = ["read", "list", "write", "create", "rename out", "execute outside"];
    let names = |name: &str| outside.iter().any(|begin| name.starts_with(begin));
    let leaves = |script: &str| script.contains('$') || script.contains("link");
    for (name, script) in ROWS.iter().filter(|(name, script)| names(name) && leaves(script)) {
        let scratch = tree();
        scratch.write("home/.config/jp-confine/config.toml", config);
        assert_ne!(attempt(&scratch, script).code(), 0, "{name}: allowed from the start");
        let advice = denials(&scratch);
        let rules = texts(&advice, "toml").join("\n");
        let (mut read, mut write) = (vec!["/nowhere".to_owned()], Vec::new());
        for one in advice.iter().flat_map(|one| one["patterns"].as_array().expect("a list")) {
            assert_eq!(
                one["file"],
                scratch.path("home/.config/jp-confine/config.toml").to_str().unwrap()
            );
            let list = if one["key"] == "read_paths" { &mut read } else { &mut write };
            list.extend(one["patterns"].as_array().expect("a list").iter().map(Value::to_string));
        }
        assert!(read.len() + write.len() > 1, "{name}: {advice:?}");
        read[0] = "\"/nowhere\"".to_owned();
        let (read, write) = (read.join(","), write.join(","));
        let own = format!("[file_policy]\nread_paths = [{read}]\nwrite_paths = [{write}]\n");
        scratch.write("home/.config/jp-confine/config.toml", &own);
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        let again = attempt(&scratch, script);
        assert_eq!(again.code(), 0, "{name}: {own}{rules}: {again}");
    }
}

/// What `default` withholds a pattern gives, with a rule where that lacks, too.
#[test]
fn patterns_are_advised_where_a_default_refuses() {
    let config = "[file_policy]\ndefault = \"deny\"\n";
    for script in ["cat file", "echo x >> file", "cat $OUT/secret"] {
        let scratch = tree();
        scratch.write("home/.config/jp-confine/config.toml", config);
        attempt(&scratch, script)
            .assert_stderr("  allow: add to ")
            .assert_stderr("file_policy] in");
        let advice = denials(&scratch);
        let list =
            |one: &Value| format!("{} = {}\n", one["key"].as_str().unwrap(), one["patterns"]);
        let patterns = advice.iter().flat_map(|one| one["patterns"].as_array().expect("a list"));
        let own = patterns.map(list).collect::<String>();
        scratch.write("home/.config/jp-confine/config.toml", &format!("{config}{own}"));
        let rules = texts(&advice, "toml").concat();
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        attempt(&scratch, script).assert_ok();
        if script == "cat file" {
            attempt(&scratch, "cat bin/program").assert_stderr("config.toml:2)");
        }
    }
}

#[test]
fn behind_a_link_that_dangles_there_is_nothing_to_allow() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink("../nothere", scratch.ws().join("fork")).expect("linked");
    let rules = "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let run = Run::sh(&scratch, "cat fork/x").run();
    run.assert_code(1).assert_stderr("leads to nothing on this machine, so that");
    assert!(!run.stderr.contains("allow: jp-confine"), "{run}");
}

/// What several denials want in one list is told as that, since rules are not in it.
#[test]
fn patterns_are_put_together_as_lists() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    scratch.write("home/p", "x");
    scratch.write("out/q", "x");
    attempt(&scratch, "echo x > new; cat $HOME/p; cat $OUT/q");
    let told = product(&scratch, &["why", "--last"]).run();
    told.assert_ok().assert_stdout("\nall of the lists together\n");
}

/// Where a rule covers what lies outside no pattern helps: below what a profile grants, and below an approved link.
#[test]
fn profiles_that_are_advised_allow_it() {
    let rule = "[[access.fs]]\npath = 'out'\nexternal = true\nread = true\n";
    for script in ["echo x > $HOME/.cargo/bin/new", "echo x >> out/target", "rm out/target"] {
        let scratch = tree();
        scratch.write("home/.cargo/bin/program", "x");
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}{rule}"));
        std::os::unix::fs::symlink(scratch.path("out"), scratch.ws().join("out")).expect("linked");
        product(&scratch, &["approvals", "approve", "out"]).run().assert_ok();
        assert_ne!(attempt(&scratch, script).code(), 0, "{script}: allowed from the start");
        let advice = denials(&scratch);
        let [denial] = advice.as_slice() else { panic!("{script}: {advice:?}") };
        let told = product(&scratch, &["why", "--last"]).run();
        assert!(!told.stdout.contains("all of the lists"), "one denial is told once: {told}");
        let list =
            |one: &Value| format!("{} = {}\n", one["key"].as_str().unwrap(), one["patterns"]);
        let lists: String =
            denial["patterns"].as_array().expect("a list").iter().map(list).collect();
        let config = format!("[profiles.mine]\n{lists}");
        scratch.write("home/.config/jp-confine/config.toml", &config);
        let line = ["--profile", "mine", "--", "sh", "-c", &scratch.expand(script)];
        let again = product(&scratch, &line).run();
        assert_eq!(again.code(), 0, "{script}: {config}: {again}");
    }
}

/// A rule is written once; who is told of others beside it is told of that, too.
#[test]
fn rules_that_were_told_before_are_referred_to() {
    let scratch = tree();
    attempt(&scratch, "rm -f file; mv file dir/moved; rm -f file");
    let told = product(&scratch, &["why", "--last"]).run().stdout;
    let of_move = told.split("\n\n").find(|one| one.contains("in rename")).expect(&told);
    assert!(
        of_move.contains("path = \"dir/moved\"") && of_move.contains("\n  and as above"),
        "{told}"
    );
    assert!(!of_move.contains("path = \"file\""), "{told}");
}

/// What is refused on one path in several ways is allowed by one rule, and by the same options.
#[test]
fn what_is_refused_on_one_path_is_allowed_by_one_rule() {
    let script = "echo >> dir/program; dir/program; mv dir/program moved; rm -f moved";
    for by_options in [false, true] {
        let scratch = tree();
        attempt(&scratch, script);
        let advice = denials(&scratch);
        let told = product(&scratch, &["why", "--last"]).run();
        let shown = told.stdout.matches("path = \"dir/program\"").count();
        assert_eq!(shown, 1, "{told}");
        let options = if by_options { texts(&advice, "options").join(" ") } else { String::new() };
        let rules = if by_options { String::new() } else { texts(&advice, "toml").concat() };
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]);
        let again = run.mode(crate::run::Mode::Bare).run();
        assert!(!again.stderr.contains("denied"), "{options}{rules}: {again}");
        assert!(!scratch.ws().join("moved").exists(), "{again}");
    }
}

/// Two entries that change places take more than one that moves, of programs with the library and without.
#[test]
fn an_exchange_is_advised_as_what_it_is() {
    for linking in [Linking::Dynamic, Linking::Static] {
        let policy = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n
[[access.fs]]\npath = 'dir'\nread = true\n";
        let scratch = tree();
        scratch.write("ws/dir/text", "of dir");
        scratch.write("ws/jp-confine.toml", policy);
        let scratch = arena_with(linking, scratch);
        let script = "bin/attack exchange file dir/text";
        attempt(&scratch, script).assert_stdout("EACCES");
        let advice = denials(&scratch);
        let options = texts(&advice, "options").join(" ");
        let line = format!("{PRODUCT} {options} -- {script}");
        let run = Run::new(&scratch, "sh", &["-c", &line]).mode(crate::run::Mode::Bare).run();
        run.assert_stdout("ok");
        scratch.write("ws/jp-confine.toml", &[policy, &texts(&advice, "toml").concat()].concat());
        attempt(&scratch, script).assert_stdout("ok");
    }
}

/// Many files in one directory have one way out, in the block and afterwards.
#[test]
fn what_is_refused_in_one_directory_is_allowed_by_one_rule() {
    let script = "for i in 1 2 3 4 5; do echo x > dir/$i; done; echo x >> dir/program";
    for by_option in [false, true] {
        let scratch = tree();
        let denied = attempt(&scratch, script);
        denied.assert_stderr("6 denials").assert_stderr("and 5 more in dir");
        let told = product(&scratch, &["why", "--last"]).run();
        let (_, all) = told.stdout.split_once("all 6 in dir\n").unwrap_or_else(|| panic!("{told}"));
        let (all, _) = all.split_once("\nwhat all of it needs").unwrap_or_else(|| panic!("{told}"));
        let (option, rule) = all.split_once("  or add").unwrap_or_else(|| panic!("{told}"));
        let option = option.trim().trim_start_matches("allow: jp-confine ");
        let option = if by_option { option } else { "" };
        let rule = if by_option { "" } else { &rule[rule.find('[').expect("a rule")..] };
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rule}"));
        let line = format!("{PRODUCT} {option} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]);
        let again = run.mode(crate::run::Mode::Bare).run();
        assert!(!again.stderr.contains("denied"), "{option}{rule}: {again}");
        assert!(scratch.ws().join("dir/5").exists(), "{again}");
    }
}

#[test]
fn the_last_run_is_explained_and_no_other() {
    let scratch = tree();
    let nothing = product(&scratch, &["why", "--last"]).run();
    nothing.assert_ok().assert_stdout("no denials are on record").assert_stdout("explain PATH");
    nothing.assert_stdout("what Landlock refused by itself");
    let script = scratch.expand("cat $OUT/secret; echo x >> file; exit 3");
    product(&scratch, &["-q", "--", "sh", "-c", &script]).run().assert_code(3);
    let told = product(&scratch, &["why", "--last"]).run();
    told.assert_ok().assert_stdout("2 denials in the last run: sh -c").assert_stdout("status 3");
    told.assert_stdout("denied read").assert_stdout("-r ").assert_stdout("path = \"file\"");
    told.assert_stdout("\nwhat all of it needs: jp-confine learn -- the same again\n");
    product(&scratch, &["--", "true"]).run().assert_ok();
    product(&scratch, &["why", "--last"]).run().assert_stdout("no denials are on record");
    product(&scratch, &["why"]).run().assert_code(125);
}

/// What the user may not do in any case no policy helps with.
#[test]
fn what_the_system_refuses_too_is_told_of_as_that() {
    let scratch = Scratch::for_ordinary_user();
    let allow = |name: &str, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(scratch.path(name), mode).expect("a mode");
    };
    for (script, name, mode, told) in [
        ("cat $OUT/secret", "out/secret", 0, "helps: the user may not read $OUT/secret"),
        ("touch $OUT/dir/new", "out/dir", 0o555, "helps: the user may not change $OUT/dir"),
        ("rm -f $OUT/dir/inner", "out/dir", 0o555, "helps: the user may not change $OUT/dir"),
    ] {
        attempt(&scratch, script).assert_stderr("allow: jp-confine -");
        let before = scratch.path(name).metadata().expect("found").permissions().mode();
        allow(name, mode);
        attempt(&scratch, script);
        for denial in denials(&scratch) {
            let never = denial["never"].as_str().unwrap_or_default();
            assert!(never.ends_with(&scratch.expand(told)), "{script}: {denial}");
            assert_eq!(denial["options"], Value::Null, "{script}: {denial}");
        }
        allow(name, before);
    }
}

/// Nor with what is left to owners: of one's own files the same is allowed by an option.
#[test]
fn what_the_system_leaves_to_owners_is_told_of_as_that() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let scratch = Scratch::for_ordinary_user();
    let names = ["out/dir", "out/dir/inner"];
    let hand = |owner, [directory, file]: [u32; 2]| {
        for (name, mode) in names.into_iter().zip([directory, file]) {
            let path = scratch.path(name);
            std::os::unix::fs::chown(&path, owner, owner).expect("an owner");
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("a mode");
        }
    };
    let links = std::fs::read("/proc/sys/fs/protected_hardlinks").expect("read");
    for (script, modes, told) in [
        ("rm -f $OUT/dir/inner", [0o1777, 0o666], "remove $OUT/dir/inner"),
        ("mv $OUT/dir/inner new", [0o1777, 0o666], "remove $OUT/dir/inner"),
        ("mv -f file $OUT/dir/inner", [0o1777, 0o666], "remove $OUT/dir/inner"),
        ("mv $OUT/dir new", [0o755, 0o666], "change $OUT/dir"),
        ("chmod 600 $OUT/dir/inner", [0o777, 0o666], "change the mode of $OUT/dir/inner"),
        ("chown 65534 $OUT/dir/inner", [0o777, 0o666], "change the owner of $OUT/dir/inner"),
        ("ln $OUT/dir/inner new", [0o777, 0o644], "link to $OUT/dir/inner"),
        ("ln $OUT/dir/inner new", [0o777, 0o6777], "link to $OUT/dir/inner"),
    ] {
        if script.starts_with("ln") && links.trim_ascii() != b"1" {
            continue;
        }
        hand(scratch.uid, modes);
        attempt(&scratch, script).assert_stderr("allow: jp-confine -");
        hand(Some(0), modes);
        attempt(&scratch, script).assert_stderr("no option and no rule helps");
        let told = scratch.expand(&format!("helps: the user may not {told}"));
        for denial in denials(&scratch) {
            let never = denial["never"].as_str().unwrap_or_default();
            assert!(never.ends_with(&told), "{script}: {denial}");
        }
    }
}

/// The block's own rules, pasted as they stand, allow all that it shows.
#[test]
fn what_the_block_prints_can_be_pasted() {
    let scratch = tree();
    let script = "echo x >> file; rm -f file";
    let denied = attempt(&scratch, script);
    let from = denied.stderr.find("[[access.fs]]").unwrap_or_else(|| panic!("{denied}"));
    let end = denied.stderr.find("  all of them").unwrap_or_else(|| panic!("{denied}"));
    scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{}", &denied.stderr[from..end]));
    let again = attempt(&scratch, script);
    assert!(!again.stderr.contains("denied"), "{again}");
    assert!(!scratch.ws().join("file").exists());
}

/// Where nobody approved what a rule leads to, the command that does is advised, and works.
#[test]
fn an_approval_is_advised_where_it_lacks() {
    let scratch = Scratch::new();
    let rule = "[[access.fs]]\npath = 'a fork'\nexternal = true\nread = true\n";
    scratch.write("ws/jp-confine.toml", rule);
    std::os::unix::fs::symlink(scratch.path("out"), scratch.ws().join("a fork")).expect("linked");
    let script = "cat 'a fork/secret'";
    attempt(&scratch, script).assert_stderr("allow: jp-confine approvals approve 'a fork'");
    let command = texts(&denials(&scratch), "approve").join("");
    let line = command.replacen("jp-confine", PRODUCT, 1);
    let run = Run::new(&scratch, "sh", &["-c", &line]).mode(crate::run::Mode::Bare);
    run.run().assert_ok();
    attempt(&scratch, script).assert_ok();
}
