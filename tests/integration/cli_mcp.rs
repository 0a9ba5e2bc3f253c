//! `jp-confine mcp`, driven by the reference client for TypeScript (`tests/mcp/client.mjs`). `tests/agents.sh` installs
//! it; without it tests skip.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, have, skip};
use crate::scratch::Scratch;

/// The client's SDK, if it and its interpreter are installed.
fn sdk() -> Option<PathBuf> {
    let agents = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents");
    let sdk = agents.join("lib/node_modules/@modelcontextprotocol/sdk");
    if !sdk.exists() {
        skip("no client of MCP: sh tests/agents.sh mcp");
        return None;
    }
    have("node").then_some(sdk)
}

/// What the client prints in a session with these `steps`: pairs of what it is and what it says. `answer` is the
/// person's to each question; without it, the client cannot ask. `None` without a client.
fn session(
    scratch: &Scratch,
    options: &[&str],
    answer: Option<&str>,
    steps: &Value,
) -> Option<Vec<(String, Value)>> {
    let sdk = sdk()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/client.mjs");
    let server: Vec<&str> = [PRODUCT].iter().chain(options).chain(&["mcp"]).copied().collect();
    let mut input = json!({"sdk": sdk, "server": server, "steps": steps});
    if let Some(answer) = answer {
        input["answer"] = answer.into();
    }
    let run = Run::new(scratch, "node", &[script]).mode(Mode::Bare);
    let run = run.env("GIVEN", "by the client").input(input.to_string().as_bytes()).run();
    run.assert_ok().assert_no_secret();
    let said = |line: &str| {
        let object: serde_json::Map<String, Value> = serde_json::from_str(line).expect("an object");
        object.into_iter().next().expect("one key")
    };
    Some(run.stdout.lines().map(said).collect())
}

fn say(kind: &str, text: &str) -> (String, Value) {
    (kind.to_owned(), text.into())
}

/// Fails unless each line is of its kind and has its words.
#[track_caller]
fn assert_said(said: &[(String, Value)], expected: &[(&str, &str)]) {
    for (index, (kind, words)) in expected.iter().enumerate() {
        let (of, text) = said.get(index).unwrap_or_else(|| panic!("{words}: {said:#?}"));
        assert_eq!(of, kind, "{words}: {said:#?}");
        assert!(text.as_str().is_some_and(|text| text.contains(words)), "{words}: {said:#?}");
    }
    assert_eq!(said.len(), expected.len(), "{said:#?}");
}

#[test]
fn each_tool_does_what_a_run_may() {
    let scratch = Scratch::new();
    scratch.write("ws/dir/a.txt", "spring\nsummer\nspring\n");
    let steps = json!([
        ["tools"],
        ["read", {"path": "dir/a.txt"}],
        ["write", {"path": "new/er", "content": "one two"}],
        ["edit", {"path": "new/er", "old": "two", "new": "three"}],
        ["edit", {"path": "dir/a.txt", "old": "spring", "new": "may"}],
        ["edit", {"path": "dir/a.txt", "old": "spring", "new": "may", "all": true}],
        ["list", {"path": "."}],
        ["search", {"pattern": "s.mmer", "paths": ["dir"], "context": 1}],
        ["run", {"program": "sh", "args": ["-c", "cat new/er; echo ' b' >&2; exit 3"]}],
        ["run", {"program": "printenv", "args": ["GIVEN"]}],
        ["run", {"program": "no-such-program"}],
        ["read", {"path": "gone"}],
        ["read", {"place": "file"}],
        ["fly", {}],
    ]);
    let Some(said) = session(&scratch, &[], None, &steps) else { return };
    let tools = json!(["read", "write", "edit", "list", "search", "run"]);
    assert_eq!(said[0], ("tools".to_owned(), tools));
    assert_eq!(said[1], say("ok", "spring\nsummer\nspring\n"));
    assert_said(
        &said[2..],
        &[
            ("ok", "written"),
            ("ok", "replaced: 1"),
            ("error", "`old` occurs 2 times in dir/a.txt"),
            ("ok", "replaced: 2"),
            ("ok", "dir/\nfile\nnew/\n"),
            ("ok", "dir/a.txt-1-may\ndir/a.txt:2:summer\ndir/a.txt-3-may\n"),
            ("ok", "one three\n[stderr]\n b\n[exit status 3]"),
            ("ok", "by the client\n"),
            ("error", "[exit status 127]"),
            ("error", "gone does not exist"),
            ("error", "unknown field `place`"),
            ("protocol", "no tool `fly`"),
        ],
    );
    assert_eq!(scratch.read("ws/new/er"), "one three");
}

#[test]
fn what_the_policy_denies_is_told_and_not_done() {
    let scratch = Scratch::new();
    symlink(scratch.path("out/target"), scratch.path("ws/link")).expect("a link");
    symlink(scratch.out(), scratch.path("ws/fork")).expect("a link");
    scratch.write("ws/jp-confine.toml", "[file_policy]\ndeny_paths = ['<workspace>/dir/**']\n");
    scratch.write("ws/dir/a", "spring\n");
    let key = scratch.expand("cat $HOME/.private/key");
    let steps = json!([
        ["read", {"path": "dir/a"}],
        ["read", {"path": "../out/secret"}],
        ["read", {"path": scratch.path("out/secret")}],
        ["read", {"path": "fork/secret"}],
        ["write", {"path": "link", "content": "changed"}],
        ["edit", {"path": "link", "old": "un", "new": ""}],
        ["list", {"path": "fork"}],
        ["search", {"pattern": "."}],
        ["write", {"path": "jp-confine.toml", "content": ""}],
        ["write", {"path": ".git/hooks/pre-commit", "content": "true"}],
        ["run", {"program": "sh", "args": ["-c", key]}],
        ["run", {"program": "sh", "args": ["-c", "cat dir/a; echo changed >link"]}],
        ["read", {"path": "file"}],
    ]);
    let Some(said) = session(&scratch, &[], None, &steps) else { return };
    assert_said(
        &said,
        &[
            ("error", "cannot read dir/a: "),
            ("error", "cannot read ../out/secret: "),
            ("error", "cannot read /"),
            ("error", "cannot read fork/secret: "),
            ("error", "cannot "),
            ("error", "cannot read link: "),
            ("error", "cannot read fork: "),
            ("ok", "file:1:inside\n"),
            ("error", "cannot "),
            ("error", "cannot "),
            ("ok", "[exit status 1]"),
            ("ok", "[exit status "),
            ("ok", "inside\n"),
        ],
    );
    let report = said[11].1.as_str().expect("text");
    assert!(report.contains("denied read dir/a by cat"), "{report}");
    assert!(!said[7].1.to_string().contains("spring"), "{said:?}");
    assert_eq!(scratch.read("out/target"), "unchanged\n");
    assert!(!scratch.path("ws/.git/hooks/pre-commit").exists());
}

/// Of the paths, one needs a prompt, one has no rule, one is denied.
const PROMPTS: &str = "\
[[access.fs]]
path = 'dir'
read = true
write = true

[file_policy]
prompt_paths = ['<workspace>/dir/asked/**']
deny_paths = ['<workspace>/dir/denied/**']
";

#[test]
fn a_prompt_is_an_elicitation_and_without_one_a_denial() {
    let scratch = Scratch::new();
    let steps = json!([
        ["read", {"path": "dir/asked/a"}],
        ["read", {"path": "file"}],
        ["write", {"path": "dir/asked/a", "content": "b\n"}],
        ["edit", {"path": "dir/asked/a", "old": "b", "new": "c"}],
        ["search", {"pattern": "x", "paths": ["dir/denied/a", "dir/asked/a"]}],
        ["read", {"path": "dir/denied/a"}],
    ]);
    let with = |answer: Option<&str>| {
        scratch.write("ws/jp-confine.toml", PROMPTS);
        scratch.write("ws/dir/asked/a", "a\n");
        scratch.write("ws/dir/denied/a", "a\n");
        session(&scratch, &[], answer, &steps)
    };
    let Some(said) = with(Some("yes, once")) else { return };
    let asked = scratch.path("ws/dir/asked/a").display().to_string();
    let asked_to_write = format!("jp-confine: the agent wants to update\n    {asked}\n    | b\n");
    let denied = [("error", "dir/denied/a"), ("error", "cannot read dir/denied/a: ")];
    let yes = [
        ("asked", "prompt_paths"),
        ("ok", "a\n"),
        ("asked", "no rule is about it"),
        ("ok", "inside\n"),
        ("asked", &asked_to_write),
        ("ok", "written"),
        ("asked", "    | - b\n    | + c\n"),
        ("ok", "replaced: 1"),
    ];
    assert_said(&said, &[&yes[..], &denied].concat());
    assert_eq!(scratch.read("ws/dir/asked/a"), "c\n");

    let said = with(Some("yes, in this session")).expect("a client");
    let told = [&yes[..6], &yes[7..], &denied].concat();
    assert_said(&said, &told);

    for answer in ["no", "decline", "cancel"] {
        let said = with(Some(answer)).expect("a client");
        let no = [
            ("asked", "dir/asked/a"),
            ("error", "The user was asked, and refused."),
            ("asked", "file"),
            ("error", "The user was asked, and refused."),
            ("asked", "update"),
            ("error", "The user was asked, and refused."),
            ("asked", "update"),
            ("error", "The user was asked, and refused."),
        ];
        assert_said(&said, &[&no[..], &denied].concat());
        assert_eq!(scratch.read("ws/dir/asked/a"), "a\n");
    }

    let said = with(None).expect("a client");
    let nobody = [
        ("error", "cannot read dir/asked/a: "),
        ("error", "cannot read file: "),
        ("error", "cannot update dir/asked/a: "),
        ("error", "dir/asked/a: "),
    ];
    assert_said(&said, &[&nobody[..], &denied].concat());
}

#[test]
fn the_policy_is_a_resource() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", PROMPTS);
    let steps = json!([
        ["resources"],
        ["resource", "jp-confine://policy"],
        ["resource", "jp-confine://status"],
    ]);
    let Some(said) = session(&scratch, &["-r", "../out/target"], None, &steps) else { return };
    let uris = json!(["jp-confine://policy", "jp-confine://status"]);
    assert_eq!(said[0], ("resources".to_owned(), uris));
    let policy: Value = serde_json::from_str(said[1].1.as_str().expect("text")).expect("JSON");
    let compiled = product(&scratch, &["compile", "-r", "../out/target"]).run();
    let compiled: Value = serde_json::from_str(&compiled.assert_ok().stdout).expect("JSON");
    assert_eq!(policy["fs"], compiled["fs"]);
    assert_eq!(policy["workspace"], compiled["workspace"]);
    assert!(policy["grants"].to_string().contains("out/target"), "{policy}");
    assert_said(&said[2..], &[("resource", "dir")]);
}

/// The programs of `run` have the options of the server.
#[test]
fn options_hold_for_programs_too() {
    let scratch = Scratch::new();
    let script = "cat ../out/target; echo $GIVEN; echo x >dir/x; echo x >file";
    let steps = json!([
        ["run", {"program": "sh", "args": ["-c", script]}],
        ["write", {"path": "dir/x", "content": ""}],
    ]);
    let options = ["--deny", "dir", "-r", "../out/target", "--env", "GIVEN=set", "--no-net"];
    let Some(said) = session(&scratch, &options, None, &steps) else { return };
    assert_said(&said, &[("ok", "unchanged\nset\n"), ("error", "dir/x")]);
    assert!(!scratch.path("ws/dir/x").exists());
    assert_eq!(scratch.read("ws/file"), "x\n");
}

#[test]
fn a_cancelled_call_ends_its_program_and_is_not_made_later() {
    let scratch = Scratch::new();
    let script = "echo >started; exec sleep 1000";
    let call = json!({"name": "run", "arguments": {"program": "sh", "args": ["-c", script]}});
    let next = json!({"name": "write", "arguments": {"path": "file", "content": "late"}});
    let steps = json!([
        ["cancel", {"calls": [call, next], "once": "started"}],
        ["read", {"path": "file"}],
    ]);
    let Some(said) = session(&scratch, &[], None, &steps) else { return };
    assert_eq!(said, [say("cancel", "rejected rejected"), say("ok", "inside\n")]);
}

/// The lines of a client that begins as it should.
const BEGIN: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

#[test]
fn wrong_lines_end_nothing_and_the_end_of_input_is_no_failure() {
    let scratch = Scratch::new();
    let read = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{"path":"file"}}}"#;
    let wrong =
        "no JSON\n[]\n{\"jsonrpc\":\"2.0\",\"id\":7}\n{\"jsonrpc\":\"2.0\",\"method\":3}\n\u{0}\n";
    let input = format!("{{\n{BEGIN}{wrong}{read}\n");
    let run = product(&scratch, &["mcp"]).input(input.as_bytes()).run();
    run.assert_ok().assert_stdout(r#""text":"inside\n""#);
    product(&scratch, &["mcp"]).run().assert_ok();
    product(&scratch, &["mcp"]).input(BEGIN.as_bytes()).run().assert_ok();
}

#[test]
fn inside_a_run_it_does_not_start() {
    let scratch = Scratch::new();
    let inside = Run::new(&scratch, PRODUCT, &["mcp"]).flags(&["-x", PRODUCT]);
    let run = inside.mode(Mode::Confined).input(BEGIN.as_bytes()).run();
    run.assert_code(125).assert_stderr("the server cannot be held inside another run");
}

#[test]
fn denials_and_answers_are_in_the_event_log() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", PROMPTS);
    scratch.write("ws/dir/asked/a", "a\n");
    let steps = json!([
        ["read", {"path": "dir/asked/a"}],
        ["read", {"path": "../out/secret"}],
    ]);
    let events = scratch.path("out/events");
    let options = ["--events", events.to_str().expect("UTF-8")];
    if session(&scratch, &options, Some("yes, once"), &steps).is_none() {
        return;
    }
    let log = scratch.read("out/events");
    let has = |words: &[&str]| log.lines().any(|line| words.iter().all(|it| line.contains(it)));
    assert!(has(&[r#""event":"start""#, r#""program":"mcp""#]), "{log}");
    assert!(has(&["dir/asked/a", r#""consent":"once""#]), "{log}");
    assert!(has(&["../out/secret", r#""layer":"service""#]), "{log}");
    assert!(has(&[r#""event":"end""#]), "{log}");
}
