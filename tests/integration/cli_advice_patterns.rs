//! Suggestions where tiers deny: patterns to remove first, patterns to add, and paths that prompt. As in
//! `cli_advice.rs`, the tests take them from `why --last`, and follow them.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::cli_advice::{READ, ROWS, allow, attempt, denials, patterns, rules, texts, tree};
use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run};
use crate::scratch::Scratch;

/// Scripts that no option and no rule allows, and what the suggestion names.
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

/// As [`tree`], with places that tiers deny as well as rules.
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

/// If a tier denies what no rule grants either, the suggestion names both. It is enough once the pattern is gone.
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
        assert_eq!(told.stdout.contains("for good: jp-confine allow "), is_first, "{told}");
        assert_eq!(denied.stderr.contains("jp-confine allow"), is_first, "{denied}");
        if is_first {
            let rules = rules(&denials);
            scratch.write("ws/jp-confine.toml", &format!("{READ}\n{rules}"));
            attempt(&scratch, script).assert_ok();
        }
    }
}

/// A denial that no grant overrides is reported before one that lacks a grant. The spelling of a move's destination
/// counts, too.
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

/// `mv` and `ln` first try the directory's own name, which stays as it is. A move into the directory needs no grant on
/// that name, whatever a pattern says of it. A hidden source must become visible, and no more.
#[test]
fn what_goes_into_a_directory_takes_nothing_of_its_name() {
    for list in ["deny_paths", "prompt_paths", "read_paths"] {
        let scratch = tree();
        scratch.write("ws/dir/sub/kept", "x");
        scratch.write("home/data/f", "x");
        let policy = format!("{READ}[file_policy]\n{list} = ['<workspace>/dir/*']\n");
        scratch.write("ws/jp-confine.toml", &policy);
        let path = |name: &str| scratch.path(name).display().to_string();
        let (file, moved) = (path("ws/file"), path("ws/dir/sub/file"));
        for (script, needed) in [
            ("mv file dir/sub", format!("-w {file} -w {moved}")),
            ("mv file dir/sub/", format!("-w {file} -w {moved}")),
            ("ln ~/data/f dir/sub", format!("-r {}", path("home/data/f"))),
        ] {
            let denied = attempt(&scratch, script);
            assert_ne!(denied.code(), 0, "{list}: {script}: allowed from the start");
            assert!(!denied.stderr.contains("dir/*"), "{list}: {script}: {denied}");
            let mut advised: Vec<String> = texts(&denials(&scratch), "options");
            advised.dedup();
            assert_eq!(advised, [needed], "{list}: {script}");
        }
        let options = ["-w", &file, "-w", &moved, "--", "mv", "file", "dir/sub"];
        product(&scratch, &options).run().assert_ok();
    }
}

/// Without the pattern, the next denial would say that the mark of a workspace must stay.
#[test]
fn what_has_to_stay_is_not_to_be_had_by_taking_a_pattern_out() {
    let scratch = Scratch::new();
    scratch.write("ws/.git/HEAD", "");
    for list in ["deny_paths", "prompt_paths"] {
        let config = format!("[file_policy]\n{list} = ['**/.git']\n");
        scratch.write("home/.config/jp-confine/config.toml", &config);
        let refused = attempt(&scratch, "mv .git y");
        refused.assert_code(1).assert_stderr("cannot be allowed").assert_stderr("has to leave");
        assert!(!refused.stderr.contains("take the pattern out"), "{list}: {refused}");
    }
}

/// A pattern that prompts, or that keeps a directory in its place, is named with those that deny.
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

/// Nobody can remove a built-in pattern.
#[test]
fn what_a_built_in_pattern_keeps_in_its_place() {
    let scratch = withheld();
    scratch.write("home/.aws/credentials", "TOPSECRET");
    let home = scratch.path("home");
    let options = ["-w", home.to_str().expect("UTF-8")];
    let script = "mv ~/.aws ~/moved";
    let denied = product(&scratch, &[&options[..], &["--", "sh", "-c", script]].concat()).run();
    denied.assert_stderr("credentials` of sensitive_paths, which is built in");
    assert!(!denied.stderr.contains("take the pattern out"), "{denied}");
}

/// A granted path that prompts does not leave its place. There is no prompt for that, and the report mentions none.
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
        denied.assert_stderr("or make a copy (`cp`), which asks");
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

/// So does a pattern below a directory that is gone by the end of the run. All are named if there are several. A
/// pattern below the destination alone keeps nothing in its place.
#[test]
fn patterns_below_what_moves_are_named() {
    let named = |words: &[&str]| {
        let words: Vec<String> =
            words.iter().map(|one| format!("`<workspace>/{one}` of deny_paths")).collect();
        words.join(" (jp-confine.toml:5), ")
    };
    let rule = "[[access.fs]]\npath = '.'\nread = true\n";
    for (patterns, script) in [
        (vec!["dir/.env"], "mv dir moved"),
        (vec!["dir/key"], "mv dir moved; cp -r dir moved; rm -r dir"),
        (vec!["dir/sub/a", "dir/sub/b"], "mv dir moved"),
    ] {
        let scratch = Scratch::new();
        scratch.write("ws/dir/file", "x");
        let list = patterns.iter().map(|one| format!("'<workspace>/{one}'")).collect::<Vec<_>>();
        let tiers = format!("[file_policy]\ndeny_paths = [{}]\n", list.join(", "));
        for rule in [format!("{rule}\n"), format!("{rule}write = true\n")] {
            scratch.write("ws/jp-confine.toml", &(rule + &tiers));
            let denied = attempt(&scratch, script);
            let line = if denied.stderr.contains("toml:6") { 6 } else { 5 };
            let words = named(&patterns).replace("toml:5", &format!("toml:{line}"));
            let told = product(&scratch, &["why", "--last"]).run();
            told.assert_stdout(&words);
            assert!(!told.stdout.contains("allows it now"), "{told}");
        }
    }
}

/// If a person is prompted even after the grant, the suggestion says so, and keeps what was granted.
#[test]
fn what_is_asked_about_once_it_is_granted_says_so() {
    let scratch = withheld();
    let denied = attempt(&scratch, "echo x >> asked/file");
    denied.assert_stderr("-w ").assert_stderr("then a person is asked, for `<workspace>/asked/**`");
    let advice = denials(&scratch);
    assert_eq!(texts(&advice, "question").len(), 1, "{advice:?}");
    let rules = rules(&advice);
    assert!(rules.contains("read = true") && rules.contains("update = true"), "{rules}");
    let policy = std::fs::read_to_string(scratch.ws().join("jp-confine.toml")).expect("read");
    scratch.write("ws/jp-confine.toml", &format!("{policy}\n{rules}"));
    attempt(&scratch, "echo x >> asked/file").assert_stderr("nobody consented");
}

/// If a pattern allows only reading where a person would otherwise be prompted, that pattern denies a change.
#[test]
fn what_leaves_for_reading_what_is_asked_about_is_named() {
    let theirs = "read_paths = ['**/*.pem']\n";
    for (own, theirs) in [("", "default = 'prompt'\n"), ("default = 'prompt'", "")]
        .map(|(own, default)| (own, format!("{default}{theirs}")))
    {
        let scratch = Scratch::new();
        let config = |text: &str| {
            scratch
                .write("home/.config/jp-confine/config.toml", &format!("[file_policy]\n{text}\n"));
        };
        scratch.write("ws/k.pem", "");
        scratch.write("ws/jp-confine.toml", &format!("[file_policy]\n{theirs}"));
        config(own);
        let denied = attempt(&scratch, "echo x >> k.pem");
        denied.assert_stderr("`**/*.pem` of read_paths (jp-confine.toml:");
        denied.assert_stderr("belongs into write_paths; then a person is asked, for default");
        attempt(&scratch, "cat k.pem").assert_stderr("nobody consented");
        scratch.write("ws/jp-confine.toml", "");
        config("default = 'prompt'");
        attempt(&scratch, "echo x >> k.pem").assert_stderr("nobody consented");
    }
}

/// Patterns for a user's configuration that has some already: the new ones count, and the old ones still do.
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
        allow(&scratch);
        let own = std::fs::read_to_string(scratch.path("home/.config/jp-confine/config.toml"));
        let own = own.expect("the configuration");
        assert!(own.contains("\"/nowhere\"") && own.len() > config.len(), "{name}: {own}");
        let again = attempt(&scratch, script);
        assert_eq!(again.code(), 0, "{name}: {own}: {again}");
    }
}

/// A suggestion for a directory does not take away what patterns allow in it.
#[test]
fn what_patterns_open_below_a_directory_stays() {
    let scratch = tree();
    let config = "home/.config/jp-confine/config.toml";
    let out = scratch.out().display().to_string();
    let write = |more: &str| {
        let text = format!("[file_policy]\nread_paths = ['{out}/**'{more}]\n");
        scratch.write(config, &text);
    };
    write("");
    let denied = attempt(&scratch, "ls $OUT");
    assert!(!denied.stderr.contains("jp-confine -"), "{denied}");
    let told = denials(&scratch);
    assert_eq!(texts(&told, "options"), Vec::<String>::new(), "{told:?}");
    assert_eq!(patterns(&told)["read_paths"], [out.as_str()], "{told:?}");
    write(&format!(", '{out}'"));
    attempt(&scratch, "ls $OUT; $OUT/program").assert_ok();
}

/// Rules that grant everything. In a workspace without rules, nobody would be prompted for its sensitive files.
const FREE: &str = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n";

/// If a pattern allows only a directory's own name, an option that also allows its contents lets it move.
#[test]
fn a_folder_that_is_open_by_its_name_moves_by_the_option_that_is_advised() {
    let scratch = tree();
    let script = "mv $OUT/folder moved";
    scratch.write("ws/jp-confine.toml", FREE);
    scratch.write("out/folder/file", "x");
    let own = format!("[file_policy]\nwrite_paths = ['{}/folder']\n", scratch.out().display());
    scratch.write("home/.config/jp-confine/config.toml", &own);
    assert_ne!(attempt(&scratch, script).code(), 0);
    let options = texts(&denials(&scratch), "options").join(" ");
    let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
    let run = Run::new(&scratch, "sh", &["-c", &line, &scratch.expand(script)]);
    run.mode(Mode::Bare).run().assert_ok();
}

/// No option is suggested that would be in vain.
#[test]
fn a_folder_that_would_lose_a_question_is_told_to_be_copied() {
    let scratch = Scratch::new();
    scratch.write("out/folder/file", "x");
    let (out, line) = (scratch.out().display().to_string(), scratch.expand("mv $OUT/folder moved"));
    let run = product(&scratch, &["-w", &out, "-x", &out, "--", "sh", "-c", &line]).run();
    run.assert_code(1).assert_stderr("nobody would be asked about what is sensitive in it");
}

/// The suggested profile does, too.
#[test]
fn a_folder_that_is_open_by_its_name_moves_by_the_profile_that_is_advised() {
    let scratch = tree();
    let script = scratch.expand("mv $OUT/folder moved");
    scratch.write("ws/jp-confine.toml", FREE);
    scratch.write("out/folder/file", "x");
    let own = format!("[file_policy]\nwrite_paths = ['{}/folder']\n", scratch.out().display());
    scratch.write("home/.config/jp-confine/config.toml", &own);
    assert_ne!(attempt(&scratch, &script).code(), 0);
    product(&scratch, &["allow", "1", "-y"]).run().assert_ok();
    product(&scratch, &["--profile", "mine", "--", "sh", "-c", &script]).run().assert_ok();
}

/// A path below a directory still prompts, and an option on the directory is suggested nevertheless.
#[test]
fn an_option_on_a_folder_leaves_the_question_about_what_is_below() {
    let scratch = tree();
    let asked = format!("[file_policy]\nprompt_paths = ['{}/secret']\n", scratch.out().display());
    scratch.write("home/.config/jp-confine/config.toml", &asked);
    assert_ne!(attempt(&scratch, "ls $OUT").code(), 0);
    let out = scratch.out().display().to_string();
    assert_eq!(texts(&denials(&scratch), "options"), [format!("-r {out}")]);
    let run = |script: &str| {
        let script = scratch.expand(script);
        product(&scratch, &["-r", &out, "--", "sh", "-c", &script]).run()
    };
    run("ls $OUT; cat $OUT/target").assert_ok();
    run("cat $OUT/secret").assert_code(1).assert_stderr("nobody consented");
}

/// A pattern allows what `default` denies, with a rule where that is missing, too.
#[test]
fn patterns_are_advised_where_a_default_refuses() {
    let config = "[file_policy]\ndefault = \"deny\"\n";
    for script in ["cat file", "echo x >> file", "cat $OUT/secret"] {
        let scratch = tree();
        scratch.write("home/.config/jp-confine/config.toml", config);
        attempt(&scratch, script).assert_stderr("allow: jp-confine allow 1");
        allow(&scratch);
        attempt(&scratch, script).assert_ok();
        if script == "cat file" {
            attempt(&scratch, "cat bin/program").assert_stderr("config.toml:2)");
        }
    }
}

/// A symlink moves alone, whatever patterns say of paths below the directory that it leads to.
#[test]
fn a_link_to_a_directory_is_not_kept_in_its_place() {
    for (pattern, to) in [
        ("deny_paths = ['<workspace>/link/x']", "moved"),
        ("prompt_paths = ['<workspace>/asked/**']", "asked/moved"),
    ] {
        let scratch = Scratch::new();
        scratch.write("ws/dir/x", "x");
        scratch.write("ws/asked/file", "x");
        symlink("dir", scratch.ws().join("link")).expect("linked");
        let rule = "[[access.fs]]\npath = '.'\nread = true\n";
        let policy = format!("{rule}[file_policy]\n{pattern}\n");
        scratch.write("ws/jp-confine.toml", &policy);
        let script = format!("mv -T link {to}");
        let denied = attempt(&scratch, &script);
        assert_ne!(denied.code(), 0, "{script}: allowed from the start");
        assert!(!denied.stderr.contains("has to stay in its place"), "{denied}");
        if to == "asked/moved" {
            denied.assert_stderr("then a person is asked");
            continue;
        }
        let options = texts(&denials(&scratch), "options").join(" ");
        let line = format!("{PRODUCT} {options} -- {script}");
        Run::new(&scratch, "sh", &["-c", &line]).mode(Mode::Bare).run().assert_ok();
    }
}
