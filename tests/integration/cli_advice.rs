//! The suggestion for a denial works: the tests take it from `why --last`, and follow it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use serde_json::Value;

use crate::attack::{Linking, arena_with};
use crate::cli_status::product;
use crate::run::{Outcome, PRODUCT, Run};
use crate::scratch::Scratch;

/// Allows reading everything in the workspace, and executing what is in `bin`.
pub(crate) const POLICY: &str = "[[access.fs]]\npath = \".\"\nread = true\n
[[access.fs]]\npath = \"bin\"\nread = true\nexecute = true\n";

/// Allows reading everything in the workspace.
pub(crate) const READ: &str = "[[access.fs]]\npath = \".\"\nread = true\n\n";

/// Each script fails, and no longer fails once its suggestion is followed.
pub(crate) const ROWS: &[(&str, &str)] = &[
    ("read outside", "cat $OUT/secret"),
    ("read through a link", "cat link"),
    ("read hidden at home", "cat $HOME/.private/key"),
    ("look for what is hidden at home", "test -e $HOME/.private/key"),
    ("list outside", "ls $OUT/dir"),
    ("write outside", "echo x >> $OUT/target"),
    ("create outside", "echo x > \"$OUT/it's new\""),
    ("remove outside", "rm -r $OUT/dir"),
    ("remove hidden at home", "rm -r $HOME/.private"),
    ("move into what is hidden at home", "mv file $HOME/.private"),
    ("make what is hidden at home", "mkdir -p $HOME/.private"),
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
    // One random name in two hundred has only small letters, and passes for a word.
    (
        "replace by a name that is another each time",
        "for i in 1 2 3; do sed -i s/i/j/ file && exit; done; false",
    ),
    ("create what has another name each time", "mktemp -p dir"),
    ("create outside what has another name each time", "mktemp -p $OUT"),
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

pub(crate) fn denials(scratch: &Scratch) -> Vec<Value> {
    let told = product(scratch, &["why", "--last", "--json"]).run();
    told.assert_ok();
    serde_json::from_str(&told.stdout).unwrap_or_else(|error| panic!("{error}: {told}"))
}

pub(crate) fn texts(denials: &[Value], key: &str) -> Vec<String> {
    denials.iter().filter_map(|one| Some(one[key].as_str()?.to_owned())).collect()
}

/// The changes of files that the suggestions have.
pub(crate) fn changes(denials: &[Value]) -> impl Iterator<Item = &Value> {
    denials.iter().flat_map(|one| one["changes"].as_array().into_iter().flatten())
}

/// The suggested rules in TOML, each once, for a file that has no lists in braces.
pub(crate) fn rules(denials: &[Value]) -> String {
    let mut all: Vec<String> = Vec::new();
    for change in changes(denials) {
        let keys = change["list"].as_array().expect("keys").iter().map(Value::to_string);
        let list = keys.collect::<Vec<_>>().join(".");
        for added in change["add"].as_array().expect("additions") {
            let (header, keys) = match (added.get("rule"), added.get("entry")) {
                (Some(keys), _) => (format!("[[{list}]]"), keys),
                (_, Some(entry)) => (format!("[{list}.{}]", entry[0]), &entry[1]),
                _ => continue,
            };
            let keys = keys.as_object().expect("keys").iter();
            let keys: Vec<String> = keys.map(|(key, value)| format!("{key} = {value}\n")).collect();
            let rule = format!("{header}\n{}\n", keys.concat());
            if !all.contains(&rule) {
                all.push(rule);
            }
        }
    }
    all.concat()
}

/// The suggested patterns of each list, by the list's own key.
pub(crate) fn patterns(denials: &[Value]) -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for change in changes(denials) {
        let key = change["list"].as_array().and_then(|keys| keys.last()?.as_str()).expect("a key");
        for added in change["add"].as_array().expect("additions") {
            let Some(text) = added["text"].as_str() else { continue };
            let list = lists.entry(key.to_owned()).or_default();
            if !list.iter().any(|known| known == text) {
                list.push(text.to_owned());
            }
        }
    }
    lists
}

/// These lists in TOML.
pub(crate) fn lists(patterns: &BTreeMap<String, Vec<String>>) -> String {
    let lists = patterns.iter().map(|(key, list)| format!("{key} = {list:?}\n"));
    lists.collect::<Vec<_>>().concat()
}

/// Lets `allow` write all that the last run needs.
pub(crate) fn allow(scratch: &Scratch) {
    product(scratch, &["allow", "--all", "--yes"]).run().assert_ok();
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
        denied.assert_stderr(" denied ");
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
        let rules = rules(&advice);
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        let again = attempt(&scratch, script);
        assert_eq!(again.code(), 0, "{name}: {rules}: {again}");
    }
}

/// No rule overrides what a person denied, by an option or in a profile of their own. An option does.
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
        assert_eq!(rules(&advice), "", "{advice:?}");
        let options = texts(&advice, "options").join(" ");
        run(&options.split(' ').collect::<Vec<_>>()).assert_ok();
    }
}

/// If a profile denies something in the home, an option on that path allows it, and nothing else in the home.
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

#[test]
fn behind_a_link_that_dangles_there_is_nothing_to_allow() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink("../nothere", scratch.ws().join("fork")).expect("linked");
    let rules = "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let run = Run::sh(&scratch, "cat fork/x").run();
    run.assert_code(1).assert_stderr("`fork` leads to nothing on this machine");
    assert!(!run.stderr.contains("allow: jp-confine"), "{run}");
}

/// Where a rule covers paths outside, no pattern helps: below what a profile grants, and below an approved symlink.
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
        assert_eq!(advice.len(), 1, "{script}: {advice:?}");
        allow(&scratch);
        let line = ["--profile", "mine", "--", "sh", "-c", &scratch.expand(script)];
        let again = product(&scratch, &line).run();
        assert_eq!(again.code(), 0, "{script}: {again}");
    }
}

/// Several denials on one path are allowed by one rule, and by the same options.
#[test]
fn what_is_refused_on_one_path_is_allowed_by_one_rule() {
    let script = "echo >> dir/program; dir/program; mv dir/program moved; rm -f moved";
    for by_options in [false, true] {
        let scratch = tree();
        attempt(&scratch, script);
        let advice = denials(&scratch);
        let shown = rules(&advice).matches("path = \"dir/program\"").count();
        assert_eq!(shown, 1, "{advice:?}");
        let options = if by_options { texts(&advice, "options").join(" ") } else { String::new() };
        let rules = if by_options { String::new() } else { rules(&advice) };
        scratch.write("ws/jp-confine.toml", &format!("{POLICY}\n{rules}"));
        let line = format!("{PRODUCT} {options} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]);
        let again = run.mode(crate::run::Mode::Bare).run();
        assert!(!again.stderr.contains("denied"), "{options}{rules}: {again}");
        assert!(!scratch.ws().join("moved").exists(), "{again}");
    }
}

/// An exchange of two entries takes more than one move, for programs with the library and without.
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
        scratch.write("ws/jp-confine.toml", &[policy, &rules(&advice)].concat());
        attempt(&scratch, script).assert_stdout("ok");
    }
}

/// Many denials in one directory have one suggestion, in the block and afterwards.
#[test]
fn what_is_refused_in_one_directory_is_allowed_by_one_rule() {
    let script = "for i in 1 2 3 4 5; do echo x > dir/$i; done; echo x >> dir/program";
    for by_option in [false, true] {
        let scratch = tree();
        let denied = attempt(&scratch, script);
        denied.assert_stderr("6 denials").assert_stderr("and 5 more in dir\n");
        let told = product(&scratch, &["why", "--last"]).run();
        let all = told.stdout.split_once("\n1 all 6 in dir\n  allow: jp-confine ");
        let (option, _) = all.and_then(|(_, all)| all.split_once('\n')).expect(&told.stdout);
        let option = if by_option { option } else { "" };
        if !by_option {
            product(&scratch, &["allow", "1", "-y"]).run().assert_ok();
        }
        let line = format!("{PRODUCT} {option} -- sh -c \"$0\"");
        let run = Run::new(&scratch, "sh", &["-c", &line, script]);
        let again = run.mode(crate::run::Mode::Bare).run();
        assert!(!again.stderr.contains("denied"), "{option}: {again}");
        assert!(scratch.ws().join("dir/5").exists(), "{again}");
    }
}

#[test]
fn the_last_run_is_explained_and_no_other() {
    let scratch = tree();
    let nothing = product(&scratch, &["why", "--last"]).run();
    nothing.assert_ok().assert_stdout("no run is on record in ");
    let script = scratch.expand("cat $OUT/secret; echo x >> file; exit 3");
    product(&scratch, &["-q", "--", "sh", "-c", &script]).run().assert_code(3);
    let told = product(&scratch, &["why", "--last"]).run();
    told.assert_ok().assert_stdout("2 denials in the last run: sh -c").assert_stdout("status 3");
    told.assert_stdout("denied read").assert_stdout("-r ").assert_stdout("jp-confine allow 2\n");
    told.assert_stdout("\nwhat all of it needs: jp-confine learn -- the same again\n");
    product(&scratch, &["--", "sh", "-c", "exit 4"]).run().assert_code(4);
    let told = product(&scratch, &["why", "--last"]).run();
    told.assert_ok()
        .assert_stdout("no denials in the last run: sh -c 'exit 4' (exit status 4, just now)");
    told.assert_stdout("explain PATH").assert_stdout("what Landlock refused by itself");
    assert_eq!(product(&scratch, &["why", "--last", "--json"]).run().assert_ok().stdout, "[]\n");
    product(&scratch, &["why"]).run().assert_code(125);
}

/// If the system denies the user, too, no policy helps. The block does not count such a denial, and `why` explains it.
/// On the user's own files, an option allows the same.
#[test]
fn what_the_system_refuses_too_is_not_counted() {
    let scratch = Scratch::for_ordinary_user();
    // In a workspace without rules, nobody would be prompted for sensitive files in a directory that moves in.
    let rules = "[[access.fs]]\npath = '.'\nread = true\nwrite = true\nexecute = true\n";
    scratch.write("ws/jp-confine.toml", rules);
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let hand = |owner, [directory, file]: [u32; 2]| {
        let parent = scratch.path("out/dir");
        // An earlier row may have closed it.
        set_mode(&parent, 0o755);
        for (path, mode) in [(parent.join("inner"), file), (parent, directory)] {
            chown(&path, owner, owner).expect("an owner");
            set_mode(&path, mode);
        }
    };
    let is_root = rustix::process::geteuid().is_root();
    let (own, root) = (scratch.uid, Some(0));
    for (script, owner, modes) in [
        ("cat $OUT/dir/inner", own, [0o755, 0]),
        ("cat $OUT/dir/inner", own, [0, 0o644]),
        ("echo x >> $OUT/dir/inner", own, [0o755, 0o444]),
        ("touch $OUT/dir/new", own, [0o555, 0o644]),
        ("mkdir $OUT/dir/new", own, [0o555, 0o644]),
        ("rm -f $OUT/dir/inner", own, [0o555, 0o644]),
        ("$OUT/dir/inner", own, [0o755, 0o644]),
        ("ln file $OUT/dir/new", own, [0o555, 0o644]),
        ("chmod 600 $OUT/dir/inner", root, [0o777, 0o644]),
        ("rm -f $OUT/dir/inner", root, [0o1777, 0o666]),
        ("mv $OUT/dir/inner new", root, [0o1777, 0o666]),
        ("mv -f file $OUT/dir/inner", root, [0o1777, 0o666]),
    ] {
        if owner == root && !is_root {
            continue;
        }
        hand(own, [0o755, 0o755]);
        attempt(&scratch, script).assert_stderr("allow: jp-confine -");
        hand(owner, modes);
        let told = attempt(&scratch, script);
        assert!(!told.stderr.contains("jp-confine: "), "{script}: {told}");
        let denials = denials(&scratch);
        assert!(!denials.is_empty(), "{script}");
        for denial in denials {
            let never = denial["never"].as_str().unwrap_or_default();
            assert!(never.ends_with("the system denies it to you, too"), "{script}: {denial}");
            assert_eq!(denial["options"], Value::Null, "{script}: {denial}");
        }
    }
    hand(own, [0o755, 0o755]);
}

/// If nobody approved the target of a rule, the command that approves it is suggested, and works.
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
