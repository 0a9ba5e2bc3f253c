//! `learn`, and the hosts that a command connects to. The learned policy allows the command again, but no other port.

use std::fmt::Write as _;

use crate::cli_status::product;
use crate::run::{Outcome, have, note, skip};
use crate::runs_net::Server;
use crate::scratch::Scratch;

/// A name, a script that connects, and the rule that is learned.
const ROWS: [(&str, &str, &str); 4] = [
    ("by address", "curl -sS -m 20 http://127.0.0.1:PORT/", "host = \"127.0.0.1\"\nport = PORT\n"),
    ("by name", "curl -sS -m 20 http://A.Test:PORT/", "host = \"a.test\"\nport = PORT\n"),
    (
        "datagrams",
        "python3 -c \"import socket as s; \
         s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', PORT))\"",
        "host = \"127.0.0.1\"\nport = PORT\n",
    ),
    ("nothing", "true", "connected to no host"),
];

fn run(scratch: &Scratch, options: &[&str], script: &str) -> Outcome {
    let name = ["--resolve", "a.test=127.0.0.1"];
    let options =
        if options.contains(&"--no-net") { options.to_vec() } else { [&name, options].concat() };
    product(scratch, &[&options, &["--", "sh", "-c", script][..]].concat()).run()
}

/// Learns from `script`. `None` where this machine has no supervisor.
fn learn(scratch: &Scratch, options: &[&str], script: &str) -> Option<Outcome> {
    let outcome = run(scratch, &[&["learn", "-o", "-"], options].concat(), script);
    if outcome.code() == 125 && outcome.stderr.contains("learn ") {
        note("skipped: learn cannot be had here");
        return None;
    }
    Some(outcome)
}

#[test]
fn hosts_are_learned_by_the_name_that_was_looked_up() {
    if !have("curl") || !have("python3") {
        return skip("curl and python connect");
    }
    let scratch = Scratch::new();
    let (server, other) = (Server::start(), Server::start());
    let mut table = String::from("\nconnection   learned\n");
    for (name, script, rule) in ROWS {
        let (script, rule) = (server.text(script), server.text(rule));
        let page = ["--html", "../page.html", "--force"];
        let Some(learned) = learn(&scratch, &page, &script) else { return };
        learned.assert_ok().assert_stdout(&rule);
        let page = scratch.read("page.html");
        let listed = page.contains(&server.text(":PORT</td><td>"));
        assert_eq!(listed, name != "nothing", "{name}: {page}");
        let reached = server.was_reached();
        assert!(!learned.stderr.contains("denied net"), "{name}: {learned}");
        let policy = learned.stdout.split_once("# Learned").expect("a policy").1;
        scratch.write("learned.toml", &format!("#{policy}"));
        if name != "nothing" {
            let options = ["-p", "../learned.toml"];
            run(&scratch, &options, &script).assert_ok();
            assert!(reached && server.was_reached(), "{name}: {policy}");
            let elsewhere = script.replace(&server.port.to_string(), &other.port.to_string());
            let refused = run(&scratch, &options, &elsewhere);
            assert!(!other.was_reached() && refused.code() != 0, "{name}: {refused}");
        }
        let _ = writeln!(table, "{name:<12} {}", rule.trim_end().replace('\n', ", "));
    }
    note(&table);
}

/// Declared rules apply during learning, and connections that they deny are not learned.
#[test]
fn rules_about_hosts_hold_meanwhile() {
    if !have("curl") {
        return skip("curl connects");
    }
    let scratch = Scratch::new();
    let server = Server::start();
    let script = server.text("curl -sS -m 20 http://127.0.0.1:PORT/; true");
    for options in [&["--net", "a.test"][..], &["--no-net"]] {
        let Some(learned) = learn(&scratch, options, &script) else { return };
        assert!(!server.was_reached() && !learned.stdout.contains("access.net"), "{learned}");
    }
}

/// Rules about hosts would break a program that takes datagrams of other machines. So none are written for it.
#[test]
fn hosts_are_left_out_where_rules_would_break_the_command() {
    if !have("python3") {
        return skip("python listens");
    }
    let scratch = Scratch::new();
    let server = Server::start();
    let script = server.text(
        "python3 -c \"import socket as s; port = s.create_server(('', 0)).getsockname()[1]; \
         s.socket(type=s.SOCK_DGRAM).bind(('', port)); s.create_connection(('127.0.0.1', PORT))\"",
    );
    let Some(learned) = learn(&scratch, &[], &script) else { return };
    learned.assert_ok().assert_stdout("#   listen on 0.0.0.0:").assert_stdout("# [[access.net]]");
    assert!(!learned.stdout.contains("\n[[access.net]]"), "{learned}");
}
