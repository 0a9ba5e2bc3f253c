//! Suggested rules about hosts and programs have the form of the file's own, belong where they count, and can be pasted
//! unchanged.

use std::net::TcpListener;

use crate::cli_advice::{READ, attempt, denials, texts};
use crate::cli_advice_pasted::printed;
use crate::cli_status::product;
use crate::scratch::Scratch;

/// Options, the file to change, its text with `@` where more goes, and the place that the suggestion names.
type Row = (&'static [&'static str], &'static str, &'static str, &'static str);

const OWN: &str = "jp-confine.toml";

const PROGRAMS: &[Row] = &[
    (&[], OWN, "[access.commands.bash]\n@", "add to $WS/jp-confine.toml:"),
    (&[], OWN, "[access.commands]\nbash = {}\n@", "add to $WS/jp-confine.toml:"),
    (&[], OWN, "[access]\ncommands.babash = {}\n@", "add to $WS/jp-confine.toml:"),
    (
        &["--tool=a"],
        OWN,
        "[conversation.tools.a.access.commands.bash]\n@",
        "add to $WS/jp-confine.toml:",
    ),
    (&["--tool=a"], OWN, "[tools.a.sandbox.commands.bash]\n@", "add to $WS/jp-confine.toml:"),
    (
        &[],
        OWN,
        "access.commands = {bash = {}, @}\n",
        "add to access.commands of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        OWN,
        "[access]\ncommands = {bash = {}, @}\n",
        "add to access.commands of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &["--tool=a"],
        OWN,
        "[tools.a]\naccess = {commands = {bash = {}, @}}\n",
        "add to tools.a.access.commands of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (&["-p", "p.toml"], "p.toml", "[access.commands.bash]\n@", "add to p.toml:"),
    (
        &["-p", "p.json"],
        "p.json",
        "{\"access\": {\"commands\": {\"bash\": {}, @}}}",
        "add to access.commands of p.json, at its end behind a comma:",
    ),
];

const HOSTS: &[Row] = &[
    (&[], OWN, "[[access.net]]\nhost = 'a.test'\nallow = true\n@", "add to $WS/jp-confine.toml:"),
    (
        &["--tool=a"],
        OWN,
        "[[conversation.tools.a.access.net]]\nhost = 'a.test'\n@",
        "add to $WS/jp-confine.toml:",
    ),
    (
        &["--tool=a"],
        OWN,
        "[conversation.tools.a.access]\nnet = [{host = 'a.test'},\n@]\n",
        "add to conversation.tools.a.access.net of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        OWN,
        "access.net = [{host = 'a.test'},\n@]\n",
        "add to access.net of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        OWN,
        "[access]\nnet = [{host = 'a.test'},\n@]\n",
        "add to access.net of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &[],
        OWN,
        "[access.net]\nstrategy = 'append'\nvalue = [{host = 'a.test'},\n@]\n",
        "add to access.net.value of $WS/jp-confine.toml, at its end behind a comma:",
    ),
    (
        &["-p", "p.toml"],
        "p.toml",
        "[access.net]\nstrategy = 'replace'\nvalue = [{host = 'a.test'},\n@]\n",
        "add to access.net.value of p.toml, at its end behind a comma:",
    ),
    (
        &["-p", "p.json"],
        "p.json",
        "{\"access\": {\"net\": [{\"host\": \"a.test\"},\n@]}}",
        "add to access.net of p.json, at its end behind a comma:",
    ),
    // The rules of the higher file come first.
    (
        &["-p", "low.toml", "-p", "top.toml"],
        "low.toml",
        "[[access.net]]\nhost = '127.0.0.1'\nport = PORT\n@",
        "add to low.toml:",
    ),
];

/// The text with these rules in it. Without rules, the comma in front of their place goes, too.
fn filled(policy: &str, rules: &str) -> String {
    if rules.is_empty() {
        policy.replace(", @", "").replace('@', "")
    } else {
        policy.replace('@', rules)
    }
}

/// Runs the script, which is denied. Then runs it once with each form of the suggestion.
fn follow(scratch: &Scratch, row: &Row, script: &str, expand: impl Fn(&str) -> String) {
    let (options, name, policy, place) = row;
    let attempt = || {
        let program = ["--", "bash", "-c", &expand(script)];
        product(scratch, &[options, &program[..]].concat()).run()
    };
    let write = |rules: &str| scratch.write(&format!("ws/{name}"), &expand(&filled(policy, rules)));
    write("");
    let place = place.replace("$WS", scratch.ws().to_str().expect("UTF-8"));
    let denied = attempt();
    assert_ne!(denied.code(), 0, "{policy}: allowed from the start");
    let told = product(scratch, &["why", "--last"]).run().stdout;
    let json = texts(&denials(scratch), "toml").concat();
    // If the place is too long for one line, it takes two.
    let block = denied.stderr.replace("\n        allow: ", " allow: ");
    for rules in [
        printed(&block, &place, "  all of them"),
        printed(&format!("{told}\n\n"), &place, "\n\n"),
        json,
    ] {
        write(rules.trim());
        let again = attempt();
        assert_eq!(again.code(), 0, "{policy}: {rules}: {again}");
    }
}

#[test]
fn rules_about_programs_are_pasted_as_the_file_has_its_own() {
    for row in PROGRAMS {
        follow(&Scratch::new(), row, "ls dir", str::to_owned);
    }
}

#[test]
fn rules_about_hosts_are_pasted_as_the_file_has_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("an address").port().to_string();
    for row in HOSTS {
        let scratch = Scratch::new();
        scratch.write(
            "ws/top.toml",
            "[access.net]\nstrategy = 'prepend'\nvalue = [{host = 'a.test', allow = true}]\n",
        );
        follow(&scratch, row, "exec 3<>/dev/tcp/127.0.0.1/PORT", |text| {
            text.replace("PORT", &port)
        });
    }
}

/// The program's present rule must go, however it is written.
#[test]
fn a_rule_about_a_program_is_replaced_as_it_is_written() {
    for (name, policy) in [
        (OWN, "[access.commands.bash]\n@[access.commands.ls]\nargs = []\n@"),
        (OWN, "[access.commands]\n@ls = {args = []}\n@bash = {}\n"),
        ("p.json", "{\"access\": {\"commands\": {@\"ls\": {\"args\": []}@, \"bash\": {}}}}"),
    ] {
        let scratch = Scratch::new();
        let parts: Vec<&str> = policy.split('@').collect();
        let write = |rule: &str| {
            scratch.write(&format!("ws/{name}"), &format!("{}{rule}{}", parts[0], parts[2]));
        };
        write(parts[1]);
        let options = if name == OWN { &["-q"][..] } else { &["-p", name] };
        let attempt =
            || product(&scratch, &[options, &["--", "bash", "-c", "ls dir"]].concat()).run();
        assert_ne!(attempt().code(), 0, "{policy}: allowed from the start");
        product(&scratch, &["why", "--last"])
            .run()
            .assert_stdout("allow: add in place of access.commands.ls (");
        let advice = denials(&scratch);
        assert!(advice[0]["instead"].is_string(), "{advice:?}");
        write(&texts(&advice, "toml").concat());
        let again = attempt();
        assert_eq!(again.code(), 0, "{policy}: {advice:?}: {again}");
    }
}

/// If a program was started by a symlink of another name, the rule is for the symlink.
#[test]
fn a_program_is_listed_by_the_link_that_it_was_started_by() {
    let scratch = Scratch::new();
    std::os::unix::fs::symlink("/bin/echo", scratch.ws().join("dir/say")).expect("linked");
    let start = "[access.commands.bash]\n";
    scratch.write("ws/jp-confine.toml", start);
    let attempt = |script: &str| product(&scratch, &["--", "bash", "-c", script]).run();
    let denied = attempt("exec -a none /bin/echo EXECUTED");
    denied.assert_stderr("its file is not called `none`: list a link to it that is");
    let told = denied.stderr.matches("access.commands does not list it").count();
    assert_eq!(told, 1, "{denied}");
    for script in ["dir/say EXECUTED", "$PWD/dir/say EXECUTED"] {
        attempt(script).assert_code(126);
        let rules = texts(&denials(&scratch), "toml").concat();
        scratch.write("ws/jp-confine.toml", &format!("{start}{rules}"));
        attempt(script).assert_ok().assert_stdout("EXECUTED");
        scratch.write("ws/jp-confine.toml", start);
    }
}

/// A file can have one rule about a program. So one rule covers all denials of the program, and is printed once.
#[test]
fn one_rule_is_for_all_calls_of_a_program() {
    for known in ["", "args = [['x']]\n"] {
        let scratch = Scratch::new();
        let write = |rules: &str| {
            let policy = format!("[access.commands.bash]\n{rules}");
            scratch.write("ws/jp-confine.toml", &policy);
        };
        write(&if known.is_empty() {
            String::new()
        } else {
            format!("[access.commands.ls]\n{known}")
        });
        let attempt = || product(&scratch, &["--", "bash", "-c", "ls a; ls b"]).run();
        let denied = attempt();
        let told = product(&scratch, &["why", "--last"]).run().stdout;
        let mut rules = texts(&denials(&scratch), "toml");
        rules.dedup();
        let [rule] = rules.as_slice() else { panic!("{rules:?}") };
        for told in [&denied.stderr, &told] {
            assert_eq!(told.matches("[access.commands.ls]").count(), 1, "{told}");
            assert_eq!(told.matches("allow: as above").count(), 1, "{told}");
            let shown = rule.lines().all(|line| told.contains(line));
            assert!(shown, "{rule}: {told}");
        }
        write(rule);
        let again = attempt();
        assert!(!again.stderr.contains("denied"), "{rule}: {again}");
        again.assert_code(2);
    }
}

/// With `--no-net`, rules in files do not count.
#[test]
fn nothing_is_written_where_files_do_not_count() {
    let scratch = Scratch::new();
    let script = "exec 3<>/dev/tcp/127.0.0.1/9";
    let run = ["--no-net", "--net", "127.0.0.1:1", "--", "bash", "-c", script];
    let denied = product(&scratch, &run).run();
    denied.assert_stderr("allow: jp-confine --net 127.0.0.1:9");
    assert!(!denied.stderr.contains("add to"), "{denied}");
    assert!(texts(&denials(&scratch), "toml").is_empty());
}

/// Deleting a directory that is not empty fails in any case. A program that succeeds all the same did without. Any other
/// may empty the directory next.
#[test]
fn a_directory_that_is_not_empty_is_no_loss_to_a_program_that_succeeds() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", READ);
    scratch.write("ws/full/f", "");
    let told = attempt(&scratch, "rmdir full || true");
    assert!(!told.stderr.contains("jp-confine: "), "{told}");
    assert_eq!(denials(&scratch).len(), 1);
    let told = attempt(&scratch, "perl -e 'rmdir q(full) or die'");
    told.assert_stderr(&format!("allow: jp-confine -w {}", scratch.expand("$WS/full")));
    // The contents of the directory were to go first.
    attempt(&scratch, "find full -delete");
    assert_eq!(texts(&denials(&scratch), "never"), [""; 0]);
    let options = texts(&denials(&scratch), "options").join(" ");
    let words: Vec<&str> =
        options.split_whitespace().chain(["--", "find", "full", "-delete"]).collect();
    product(&scratch, &words).run().assert_ok();
}
