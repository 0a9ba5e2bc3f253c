//! Suggested rules about hosts and programs belong where they count, and `allow` writes them as the file has its own.

use std::net::TcpListener;

use crate::cli_advice::{READ, allow, attempt, denials, rules, texts};
use crate::cli_status::product;
use crate::scratch::Scratch;

/// Options, the file to change, and its text.
type Row = (&'static [&'static str], &'static str, &'static str);

const OWN: &str = "jp-confine.toml";

const PROGRAMS: &[Row] = &[
    (&[], OWN, "[access.commands.bash]\n"),
    (&[], OWN, "[access.commands]\nbash = {}\n"),
    (&[], OWN, "[access]\ncommands.babash = {}\n"),
    (&["--tool=a"], OWN, "[conversation.tools.a.access.commands.bash]\n"),
    (&["--tool=a"], OWN, "[tools.a.sandbox.commands.bash]\n"),
    (&[], OWN, "access.commands = {bash = {}}\n"),
    (&[], OWN, "[access]\ncommands = {bash = {}}\n"),
    (&["--tool=a"], OWN, "[tools.a]\naccess = {commands = {bash = {}}}\n"),
    (&["-p", "p.toml"], "p.toml", "[access.commands.bash]\n"),
    (&["-p", "p.json"], "p.json", "{\"access\": {\"commands\": {\"bash\": {}}}}"),
];

const HOSTS: &[Row] = &[
    (&[], OWN, "[[access.net]]\nhost = 'a.test'\nallow = true\n"),
    (&["--tool=a"], OWN, "[[conversation.tools.a.access.net]]\nhost = 'a.test'\n"),
    (&["--tool=a"], OWN, "[conversation.tools.a.access]\nnet = [{host = 'a.test'},\n]\n"),
    (&[], OWN, "access.net = [{host = 'a.test'},\n]\n"),
    (&[], OWN, "[access]\nnet = [{host = 'a.test'},\n]\n"),
    (&[], OWN, "[access.net]\nstrategy = 'append'\nvalue = [{host = 'a.test'},\n]\n"),
    (
        &["-p", "p.toml"],
        "p.toml",
        "[access.net]\nstrategy = 'replace'\nvalue = [{host = 'a.test'},\n]\n",
    ),
    (&["-p", "p.json"], "p.json", "{\"access\": {\"net\": [{\"host\": \"a.test\"},\n]}}"),
    // The rules of the higher file come first.
    (
        &["-p", "low.toml", "-p", "top.toml"],
        "low.toml",
        "[[access.net]]\nhost = '127.0.0.1'\nport = PORT\n",
    ),
];

/// Runs the script, which is denied. Then runs it again with what `allow` writes.
fn follow(scratch: &Scratch, row: &Row, script: &str, expand: impl Fn(&str) -> String) {
    let (options, name, policy) = row;
    let attempt = || {
        let program = ["--", "bash", "-c", &expand(script)];
        product(scratch, &[options, &program[..]].concat()).run()
    };
    scratch.write(&format!("ws/{name}"), &expand(policy));
    assert_ne!(attempt().code(), 0, "{policy}: allowed from the start");
    allow(scratch);
    let again = attempt();
    assert_eq!(again.code(), 0, "{policy}: {again}");
}

#[test]
fn rules_about_programs_are_written_as_the_file_has_its_own() {
    for row in PROGRAMS {
        follow(&Scratch::new(), row, "ls dir", str::to_owned);
    }
}

#[test]
fn rules_about_hosts_are_written_as_the_file_has_its_own() {
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
        (OWN, "[access.commands.bash]\n[access.commands.ls]\nargs = []\n"),
        (OWN, "[access.commands]\nls = {args = []}\nbash = {}\n"),
        ("p.json", "{\"access\": {\"commands\": {\"ls\": {\"args\": []}, \"bash\": {}}}}"),
    ] {
        let options = if name == OWN { &["-q"][..] } else { &["-p", name] };
        let scratch = Scratch::new();
        scratch.write(&format!("ws/{name}"), policy);
        let attempt =
            || product(&scratch, &[options, &["--", "bash", "-c", "ls dir"]].concat()).run();
        assert_ne!(attempt().code(), 0, "{policy}: allowed from the start");
        allow(&scratch);
        let again = attempt();
        assert_eq!(again.code(), 0, "{policy}: {again}");
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
        let rules = rules(&denials(&scratch));
        scratch.write("ws/jp-confine.toml", &format!("{start}{rules}"));
        attempt(script).assert_ok().assert_stdout("EXECUTED");
        scratch.write("ws/jp-confine.toml", start);
    }
}

/// A file can have one rule about a program. So one rule covers all denials of the program.
#[test]
fn one_rule_is_for_all_calls_of_a_program() {
    for known in ["", "[access.commands.ls]\nargs = [['x']]\n"] {
        let scratch = Scratch::new();
        scratch.write("ws/jp-confine.toml", &format!("[access.commands.bash]\n{known}"));
        let attempt = || product(&scratch, &["--", "bash", "-c", "ls a; ls b"]).run();
        attempt();
        product(&scratch, &["allow", "1", "-y"]).run().assert_ok();
        let again = attempt();
        assert!(!again.stderr.contains("denied"), "{again}");
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
    assert!(!denied.stderr.contains("jp-confine allow"), "{denied}");
    assert_eq!(rules(&denials(&scratch)), "");
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
