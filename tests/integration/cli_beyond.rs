//! `check` and `explain` for hosts, variables and programs.

use crate::run::{Mode, Outcome, PRODUCT, Run};
use crate::scratch::Scratch;

const POLICY: &str = "\
[[access.env]]
name = 'AWS_*'
read = true
[[access.env]]
name = 'AWS_SECRET'
[access.commands.sh]
args = [['-c', 'true'], ['-x', '**']]
";

const HOSTS: &str = "\
[[access.net]]
host = 'example.org'
allow = true
[[access.net]]
host = 'example.org'
path_prefix = 'admin'
";

fn asked(scratch: &Scratch, words: &[&str]) -> Outcome {
    Run::new(scratch, PRODUCT, words).mode(Mode::Bare).run()
}

#[test]
fn verdicts_and_their_status() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", POLICY);
    scratch.write("hosts.toml", HOSTS);
    let hosts = scratch.path("hosts.toml");
    let hosts = hosts.to_str().expect("UTF-8");
    for (line, status, said) in [
        ("check env HOME AWS_REGION", 0, "allow env AWS_REGION"),
        ("check env AWS_SECRET", 1, "deny env AWS_SECRET: access.env `AWS_SECRET` ("),
        ("check env TOKEN HOME", 1, "env is granted on: the base set, AWS_*"),
        ("check --env TOKEN env TOKEN", 0, "allow env TOKEN"),
        ("--isolated check env AWS_REGION", 1, "deny env AWS_REGION: no rule grants it"),
        ("check env A=B", 125, ""),
        ("check command -- sh -c true", 0, "allow command sh -c true"),
        ("check command -- /bin/sh -x any words", 0, "allow command /bin/sh -x any words"),
        ("check command sh", 1, "deny command sh: access.commands.sh ("),
        ("check command cat", 1, "deny command cat: access.commands does not list it"),
        ("check command none-such", 1, "there is no such program"),
        ("-p HOSTS check net http://example.org/x", 0, "allow net http://example.org/x"),
        ("-p HOSTS check net http://example.org/admin/x", 1, "access.net example.org/admin"),
        ("-p HOSTS check net http://example.com", 1, "net is granted on: example.org"),
        ("--no-net check net http://example.org", 1, "an option takes the network away"),
        ("check net http://example.org", 0, "allow net http://example.org"),
        ("check net example.org", 0, "allow net example.org"),
    ] {
        let words: Vec<&str> =
            line.split(' ').map(|word| if word == "HOSTS" { hosts } else { word }).collect();
        asked(&scratch, &words).assert_code(status).assert_stdout(said);
    }
}

/// Settings that only the file service enforces do not prevent an answer about their tool.
#[test]
fn tools_of_the_file_service_are_answered_for() {
    let scratch = Scratch::for_ordinary_user();
    let tool =
        "[tools.x.access]\nnet_env = ['TOKEN']\n[[tools.x.access.fs]]\npath = '.'\nread = true\n";
    scratch.write("ws/jp-confine.toml", tool);
    asked(&scratch, &["--tool", "x", "check", "read", "file"]).assert_ok().assert_stdout("allow");
    asked(&scratch, &["--tool", "x", "explain", "file"]).assert_ok();
    asked(&scratch, &["--tool", "x", "--", "true"]).assert_code(125).assert_stderr("net_env");
    asked(&scratch, &["--tool", "x", "--dry-run", "--", "true"]).assert_code(125);
}

/// The form that tools receive, with the launcher's word for a list that is declared and empty.
#[test]
fn the_compiled_policy_has_the_rules() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", POLICY);
    let json = |words: &[&str]| -> serde_json::Value {
        serde_json::from_str(&asked(&scratch, words).assert_ok().stdout).expect("JSON")
    };
    let compiled = json(&["compile"]);
    assert_eq!(compiled["env"][1], serde_json::json!({"name": "AWS_SECRET", "read": false}));
    assert_eq!(compiled["commands"]["sh"]["args"][1], serde_json::json!(["-x", "**"]));
    std::fs::remove_file(scratch.path("ws/jp-confine.toml")).expect("removed");
    assert_eq!(json(&["compile"])["env"], serde_json::json!([]));
    let isolated = json(&["--isolated", "compile"]);
    assert_eq!(isolated["env"], serde_json::json!([{"name": "*", "read": false}]));
}

#[test]
fn explanations_name_every_candidate_and_who_holds_it() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/jp-confine.toml", POLICY);
    let run = asked(&scratch, &["explain", "env", "AWS_SECRET"]);
    run.assert_ok().assert_stdout("deny").assert_stdout("held by: the start of the run");
    run.assert_stdout("    access.env `AWS_*` (").assert_stdout("jp-confine.toml:2): read = true");
    run.assert_stdout("  * access.env `AWS_SECRET` (")
        .assert_stdout("jp-confine.toml:5): read = false");
    let run = asked(&scratch, &["explain", "command", "--", "sh", "-x"]);
    run.assert_ok().assert_stdout("  * access.commands.sh (").assert_stdout("jp-confine.toml:6)");
    let run = asked(&scratch, &["explain", "--json", "command", "cat"]);
    run.assert_ok().assert_stdout(r#""verdict": "deny""#).assert_stdout(r#""held_by": "#);
    asked(&scratch, &["check", "--json", "env", "HOME"]).assert_stdout(r#""target": "HOME""#);
    // One word is a path, whatever its name is.
    asked(&scratch, &["explain", "env"]).assert_ok().assert_stdout("ws/env (does not exist)");
}
