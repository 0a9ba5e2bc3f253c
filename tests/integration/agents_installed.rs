//! Real coding agents, as their registries serve them, to their first screen and through one command for a model that
//! `ModelServer` stands in for. `tests/agents.sh` installs them; tests skip those that are missing.

use std::path::{Path, PathBuf};

use crate::model_server::{LAST_WORDS, ModelServer};
use crate::run::{Run, skip};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

/// Where `tests/agents.sh` puts them.
fn prefix() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents")
}

/// Whether it is installed. If it is not, says that the test is skipped.
fn have(agent: &str) -> bool {
    let found = prefix().join("bin").join(agent).exists();
    if !found {
        skip(&format!("no {agent}: sh tests/agents.sh"));
    }
    found
}

/// Starts `line` confined, where the agents are on `PATH`.
fn run<'a>(scratch: &'a Scratch, line: &[&str], options: &[&str]) -> Run<'a> {
    let prefix = prefix();
    let prefix = prefix.to_str().expect("UTF-8");
    let path = format!("{prefix}/bin:{}:/usr/bin:/bin", scratch.expand("$WS/bin"));
    let run = Run::new(scratch, line[0], &line[1..]).env("PATH", &path);
    run.flags(&["-x", prefix]).flags(options)
}

/// The files of an agent that has been started before: nothing has to be chosen or fetched.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("home/.claude.json", r#"{"hasCompletedOnboarding": true, "theme": "dark"}"#);
    scratch
}

#[test]
fn each_agent_starts() {
    for agent in ["aider", "claude", "codex", "copilot", "gemini", "opencode", "pi"] {
        if !have(agent) {
            continue;
        }
        let scratch = scratch();
        for word in ["--version", "--help"] {
            let run = run(&scratch, &[agent, word], &["--no-net"]).run();
            run.assert_ok();
            assert!(!(run.stdout.clone() + &run.stderr).trim().is_empty(), "{run}");
        }
    }
}

#[test]
fn each_agent_shows_its_first_screen() {
    for (line, seen) in [
        ("claude", "Accessing"),
        ("codex --no-daemon", "ChatGPT"),
        ("copilot", "Do you trust the files"),
        ("gemini", "Do you trust the files"),
        ("pi", "/login"),
        // Aider asks one of ten users, drawn at random, whether it may collect analytics.
        (
            "aider --no-git --no-check-update --no-show-release-notes --no-analytics --no-pretty",
            "no API keys were",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        if have(words[0]) {
            let scratch = scratch();
            let run = run(&scratch, &words, &["--no-net"]);
            Terminal::start(&run).see(seen);
        }
    }
}

/// The command that the model wants: it succeeds in the workspace, and finds neither the private key nor a login.
const COMMAND: &str =
    "echo made > made; cat ~/.private/key ~/.login; echo confined: $JP_CONFINE_NOTE";

/// How an agent is told where its model is, and to run commands without asking.
fn drive(
    agent: &str,
    scratch: &Scratch,
    server: &ModelServer,
) -> (Vec<String>, Vec<(&'static str, String)>) {
    let url = server.url();
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
    match agent {
        "claude" => (
            words("claude -p hello --allowedTools Bash"),
            vec![("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", "x".to_owned())],
        ),
        "codex" => {
            let provider = format!(
                "model_providers.fake={{name=\"f\",base_url=\"{url}/v1\",wire_api=\"responses\"}}"
            );
            let mut line =
                words("codex exec --skip-git-repo-check --sandbox danger-full-access -c");
            line.push(provider);
            line.extend(words("-c model_provider=\"fake\" -c model=\"m\" hello"));
            (line, Vec::new())
        }
        "gemini" => {
            let auth = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#;
            scratch.write("home/.gemini/settings.json", auth);
            (
                words("gemini --yolo --skip-trust -m gemini-2.5-pro -p hello"),
                vec![("GOOGLE_GEMINI_BASE_URL", url), ("GEMINI_API_KEY", "x".to_owned())],
            )
        }
        "opencode" => {
            let options = format!(r#"{{"baseURL": "{url}/v1", "apiKey": "x"}}"#);
            let provider = format!(
                r#"{{"npm": "@ai-sdk/openai-compatible", "options": {options},
                    "models": {{"m": {{"name": "m", "tool_call": true}}}}}}"#
            );
            let config =
                format!(r#"{{"provider": {{"fake": {provider}}}, "permission": "allow"}}"#);
            scratch.write("home/.config/opencode/opencode.json", &config);
            (words("opencode run --model fake/m hello"), Vec::new())
        }
        "pi" => {
            let models = format!(
                r#"{{"providers": {{"fake": {{"baseUrl": "{url}/v1", "api": "openai-completions",
                    "apiKey": "x", "models": [{{"id": "m"}}]}}}}}}"#
            );
            scratch.write("home/.pi/agent/models.json", &models);
            (words("pi --provider fake --model m -p hello"), Vec::new())
        }
        _ => panic!("{agent} is not driven"),
    }
}

#[test]
fn a_command_of_an_agent_is_confined() {
    for agent in ["claude", "codex", "gemini", "opencode", "pi"] {
        if !have(agent) {
            continue;
        }
        let scratch = scratch();
        let server = ModelServer::start(COMMAND);
        let (line, env) = drive(agent, &scratch, &server);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let run = run(&scratch, &line, &["--net", &server.host()]);
        let run = env.iter().fold(run, |run, (name, value)| run.env(name, value)).run();
        let results = server.results();
        run.assert_ok().assert_stdout(LAST_WORDS).assert_no_secret();
        assert_eq!(scratch.read("ws/made"), "made\n", "{results} {run}");
        assert!(results.contains("confined: jp-confine confines"), "{results} {run}");
        assert!(results.contains(".private/key: No such file"), "{results} {run}");
    }
}
