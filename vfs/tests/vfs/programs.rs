//! `process.run`, with `env` as the wrapper. A real wrapper would confine the programs.

use std::fmt;
use std::time::{Duration, Instant};

use jp_confine_engine::resources::Written;
use jp_confine_vfs::Code;
use jp_confine_vfs::files::OnDisk;
use jp_confine_vfs::incoming::{Incoming, parse};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::service::{Caller, Programs, Service};
use serde_json::{Value, json};

use crate::both::{POLICY, Place, answer};

/// Calls `ask` with a service that has these rules about variables and programs.
fn with_service<T>(rules: &Value, ask: impl FnOnce(&mut Service<'_>) -> T) -> T {
    let place = Place::on_disk(POLICY);
    with_service_of(&place, rules, |service| {
        // Another directory takes the workspace's name. Programs still run in the workspace.
        let elsewhere = place.root().with_file_name("elsewhere");
        std::fs::rename(place.root(), &elsewhere).expect("renamed");
        std::fs::create_dir(place.root()).expect("a folder");
        ask(service)
    })
}

/// Like [`with_service`], for a project that stays in place.
fn with_service_of<T>(place: &Place, rules: &Value, ask: impl FnOnce(&mut Service<'_>) -> T) -> T {
    let mut nobody = Nobody;
    let variables = |name: &str| match name {
        "CARGO_TERM_COLOR" | "LISTED_SHORT" => Some("always".to_owned()),
        "RUST_BACKTRACE" | "API_KEY" => Some("1".to_owned()),
        "MY_TOKEN" => Some("t0ken-value".to_owned()),
        "MY_TOKENS" => Some("t0ken-value-and-more".to_owned()),
        "LISTED" => Some("ordinary name".to_owned()),
        name => (name.len() == 3).then(|| format!("value of {name}")),
    };
    let list = |name: &str| rules.get(name).cloned();
    let written = Written {
        env: list("env").map(|it| serde_json::from_value(it).expect("rules")).unwrap_or_default(),
        net: Vec::new(),
        commands: list("commands").map(|it| serde_json::from_value(it).expect("rules")),
        net_env: list("net_env")
            .map(|it| serde_json::from_value(it).expect("names"))
            .unwrap_or_default(),
    };
    let programs = Programs {
        wrapper: vec!["env".into(), "--".into()],
        directory: OnDisk::at(place.workspace.root())
            .and_then(|it| it.directory())
            .expect("a folder")
            .into(),
        environment: vec![("PATH".into(), std::env::var_os("PATH").expect("a path"))],
        are_judged: false,
    };
    let resources = written.compile().expect("rules");
    let service = place.service(&mut nobody).with_resources(resources, &variables);
    ask(&mut service.with_programs(programs).with_limit(1000))
}

fn run(rules: &Value, params: &Value) -> Value {
    with_service(rules, |service| answer(service, "process.run", params))
}

// conformance: d11-2, d11-87, d11-90, d11-93
#[test]
fn a_program_runs_to_its_end_in_the_workspace() {
    let any = json!({"commands": {"sh": {}}});
    let sh = |script: &str| run(&any, &json!({"program": "sh", "args": ["-c", script]}));
    let ended = json!({"stdout": "a.txt\n", "stderr": "no\n", "exit_code": 3});
    assert_eq!(sh("ls a.txt; echo no >&2; exit 3"), ended);
    assert_eq!(sh("kill -9 $$")["exit_code"], 137);
    assert_eq!(sh("read x; echo $?")["stdout"], "1\n");
    assert_eq!(sh("sleep 100 & echo done")["stdout"], "done\n");
    assert_eq!(sh("head -c 2000 /dev/zero"), json!(-32006));
}

// conformance: d11-15, d11-88, d11-136, d11-141
#[test]
fn only_programs_and_arguments_that_are_listed() {
    let rules = json!({"commands": {"echo": {"args": [["a", "**"]]}}});
    let echo = |args: Value| run(&rules, &json!({"program": "echo", "args": args}));
    assert_eq!(echo(json!(["a", "b"]))["stdout"], "a b\n");
    assert_eq!(echo(json!(["b"])), json!(-32001));
    assert_eq!(run(&rules, &json!({"program": "true"})), json!(-32001));
    assert_eq!(run(&json!({}), &json!({"program": "true"})), json!(-32001));
    assert_eq!(run(&rules, &json!({"program": ""})), json!(-32602));
    assert_eq!(echo(json!(["a", "x\u{0}"])), json!(-32602));
    assert_eq!(echo(json!(["a", "x".repeat(1 << 20)])), json!(-32602));
}

// conformance: d11-91
#[test]
fn a_program_has_no_variable_that_nobody_asked_for() {
    let rules = json!({"commands": {"env": {"envs": ["*"]}}});
    let path = std::env::var("PATH").expect("a path");
    let env = |envs: Value| run(&rules, &json!({"program": "env", "envs": envs}))["stdout"].clone();
    assert_eq!(env(json!([])), format!("PATH={path}\n"));
    assert_eq!(env(json!(["AAA"])), format!("AAA=value of AAA\nPATH={path}\n"));
}

// conformance: d11-89, d11-92
#[test]
fn variables_are_those_that_are_asked_for_and_allowed() {
    let of = |rules: Value| {
        let params = json!({"program": "sh", "args": ["-c", "env | sort"], "envs": ["AAA", "BBB", "CCC", "LONG"]});
        let text = run(&rules, &params)["stdout"].as_str().expect("text").to_owned();
        text.lines()
            .filter_map(|line| Some(line.split_once("=value of ")?.0.to_owned()))
            .collect::<Vec<_>>()
    };
    let commands = json!({"sh": {"envs": ["AAA", "BBB", "DDD", "LONG"]}});
    assert_eq!(of(json!({ "commands": commands })), ["AAA", "BBB"]);
    let env = json!([{"name": "A*", "read": true}]);
    assert_eq!(of(json!({"commands": commands, "env": env})), ["AAA"]);
}

// conformance: d11-94, d11-95, d11-214
/// A forwarded value that is not secret comes back unchanged. Each occurrence of a secret one is removed.
#[test]
fn only_secrets_do_not_come_back() {
    for (envs, net_env, script, stdout, redacted) in [
        (
            json!(["CARGO_TERM_COLOR"]),
            json!([]),
            "echo color = $CARGO_TERM_COLOR",
            "color = always",
            0,
        ),
        (json!(["RUST_BACKTRACE"]), json!([]), "echo 11 1 $RUST_BACKTRACE", "11 1 1", 0),
        (json!(["AAA"]), json!([]), "echo $AAA", "value of AAA", 0),
        (json!(["API_KEY"]), json!([]), "echo 21 $API_KEY", "21 1", 0),
        (json!(["LISTED_SHORT"]), json!(["LISTED*"]), "echo $LISTED_SHORT", "always", 0),
        (json!(["MY_TOKEN"]), json!([]), "echo $MY_TOKEN-$MY_TOKEN", "[REDACTED]-[REDACTED]", 2),
        (json!(["LISTED"]), json!(["LISTED*"]), "echo a${LISTED}b", "a[REDACTED]b", 1),
        (
            json!(["MY_TOKEN", "MY_TOKENS"]),
            json!([]),
            "echo $MY_TOKENS $MY_TOKEN",
            "[REDACTED] [REDACTED]",
            2,
        ),
        (json!(["MY_TOKEN"]), json!([]), "echo $MY_TOKEN | base64", "dDBrZW4tdmFsdWUK", 0),
    ] {
        let rules = json!({"commands": {"sh": {"envs": ["*"]}}, "net_env": net_env});
        let ended = run(&rules, &json!({"program": "sh", "args": ["-c", script], "envs": envs}));
        assert_eq!(ended["stdout"], format!("{stdout}\n"), "{script}");
        let count = if redacted == 0 { Value::Null } else { json!(redacted) };
        assert_eq!(ended["redacted"], count, "{script}");
    }
    let rules = json!({"commands": {"sh": {"envs": ["*"]}}});
    let params =
        json!({"program": "sh", "args": ["-c", "echo $MY_TOKEN >&2"], "envs": ["MY_TOKEN"]});
    let ended = run(&rules, &params);
    assert_eq!((&ended["stderr"], &ended["redacted"]), (&json!("[REDACTED]\n"), &json!(1)));
}

/// The service never changes the contents of files, whatever it forwarded before.
#[test]
fn contents_of_files_stay_what_they_are() {
    let rules = json!({"commands": {"sh": {"envs": ["*"]}}});
    with_service_of(&Place::on_disk(POLICY), &rules, |service| {
        let params = json!({"program": "sh", "args": ["-c", "cp a.txt /dev/null"], "envs": ["MY_TOKEN", "CARGO_TERM_COLOR"]});
        assert_eq!(answer(service, "process.run", &params)["exit_code"], 0);
        let text = "color = always\ntoken = t0ken-value\n";
        for (content, encoding) in
            [(text, json!({})), ("/3Qwa2VuLXZhbHVl", json!({"encoding": "base64"}))]
        {
            let mut params = json!({"path": "rw/new", "content": content});
            params
                .as_object_mut()
                .expect("an object")
                .extend(encoding.as_object().expect("one").clone());
            assert_eq!(answer(service, "fs.write", &params), json!({}));
            let read = answer(service, "fs.read", &json!({"path": "rw/new"}));
            assert_eq!(read["content"], content);
            assert_eq!(read["redacted"], Value::Null);
            assert_eq!(answer(service, "fs.write", &params), json!({}));
        }
        let params = json!({"path": "rw/new", "content": text});
        answer(service, "fs.write", &params);
        let found = answer(service, "fs.grep", &json!({"pattern": "token", "paths": ["rw/new"]}));
        assert_eq!(found["matches"][0]["lines"][0]["content"], "token = t0ken-value");
    });
}

/// A caller that gives up 50 ms after this time.
struct Impatient(Instant);

impl fmt::Debug for Impatient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Impatient")
    }
}

impl Caller for Impatient {
    fn is_gone(&mut self) -> bool {
        self.0.elapsed() > Duration::from_millis(50)
    }

    fn told_to_wait(&mut self, _: &str) {}
}

// conformance: d11-157
#[test]
fn a_program_that_nobody_waits_for_is_ended() {
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"process.run","params":{"program":"sleep","args":["100"]}}"#;
    let Ok(Incoming::Request(request)) = parse(line) else { panic!("a request") };
    let answer = with_service(&json!({"commands": {"sleep": {}}}), |service| {
        service.answer(&request, &mut Impatient(Instant::now())).map(|_| ())
    });
    assert_eq!(answer.map_err(|fault| fault.code), Err(Code::Cancelled));
}
