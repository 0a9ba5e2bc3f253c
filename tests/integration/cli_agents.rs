//! Coding agents: their profiles, the presets of hosts, and the examples of `examples/agents`. Stand-ins play the agents'
//! side here; `agents_installed` starts real ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::run::{Mode, Outcome, PRODUCT, Run, have};
use crate::scratch::Scratch;

/// Where the examples are.
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/agents");

/// Writes a script that starts by its name in `home/tools`.
fn agent(scratch: &Scratch, name: &str, script: &str) {
    let file = format!("home/tools/{name}");
    scratch.write(&file, &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(scratch.path(&file), fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Runs `line` where `tools` and the product are on `PATH`.
fn with_tools<'a>(scratch: &'a Scratch, program: &str, args: &[&str]) -> Run<'a> {
    if !scratch.path("ws/bin/jp-confine").exists() {
        scratch.copy_program(Path::new(PRODUCT), "ws/bin/jp-confine");
        scratch.hand_over();
    }
    let path = scratch.expand("$WS/bin:$HOME/tools:/usr/local/bin:/usr/bin:/bin");
    Run::new(scratch, program, args).env("PATH", &path)
}

/// State of each agent that a run of it writes, and files that it obeys and only reads.
const STATE: [(&str, &str, &str); 7] = [
    ("aider", ".aider/analytics.json", ".aider.conf.yml"),
    ("claude", ".claude/projects/x.jsonl", ".claude/settings.json"),
    ("codex", ".codex/sessions/x.jsonl", ".codex/config.toml"),
    ("copilot", ".copilot/session-state/x.json", ".copilot/mcp-config.json"),
    ("gemini", ".gemini/tmp/x.json", ".gemini/settings.json"),
    ("opencode", ".local/share/opencode/opencode.db", ".config/opencode/opencode.json"),
    ("pi", ".pi/agent/sessions/x.jsonl", ".pi/agent/models.json"),
];

#[test]
fn an_agent_has_its_own_state_and_no_other() {
    let scratch = Scratch::for_ordinary_user();
    for (_, state, obeyed) in STATE {
        scratch.write(&format!("home/{state}"), "old\n");
        scratch.write(&format!("home/{obeyed}"), "obeyed\n");
    }
    scratch.hand_over();
    for (index, (name, state, obeyed)) in STATE.into_iter().enumerate() {
        let (_, others, _) = STATE[(index + 1) % STATE.len()];
        let script = format!(
            "cd; echo new > {state} && rm {state} && echo new > {state} || exit 1
            test \"$(cat {obeyed})\" = obeyed || exit 2
            echo x 2> /dev/null >> {obeyed} && exit 3
            mv {obeyed} {state}.moved 2> /dev/null && exit 4
            cat {others} 2> /dev/null && exit 5
            ls .private 2> /dev/null && exit 6
            exit 0"
        );
        agent(&scratch, name, &script);
        with_tools(&scratch, name, &[]).run().assert_ok();
        assert_eq!(scratch.read(&format!("home/{state}")), "new\n", "{name}");
    }
}

/// A shell that somebody starts confined, and what an agent starts in a run of its own.
#[test]
fn no_other_program_has_an_agents_state() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("home/.claude/.credentials.json", "a login\n");
    scratch.hand_over();
    let script = "cat ~/.claude/.credentials.json && exit 1; exit 0";
    with_tools(&scratch, "sh", &["-c", script]).run().assert_ok();
    agent(
        &scratch,
        "claude",
        &format!("cat ~/.claude/.credentials.json; \"$SHELL\" -c '{script}'"),
    );
    let shell = format!("{EXAMPLES}/jp-confine-shell");
    let run = with_tools(&scratch, "claude", &[]).flags(&["-x", EXAMPLES]).env("SHELL", &shell);
    run.run().assert_ok().assert_stdout("a login");
}

#[test]
fn a_preset_stands_for_its_hosts() {
    let scratch = Scratch::for_ordinary_user();
    let check = |words: &[&str]| Run::new(&scratch, PRODUCT, words).mode(Mode::Bare).run();
    for (line, status) in [
        ("--net-preset claude check net https://api.anthropic.com", 0),
        ("--net-preset claude check net https://github.com", 1),
        ("--net-preset claude --net-preset github check net https://github.com", 0),
        ("--net-preset npm --net a.test check net https://a.test", 0),
        ("check --net-preset pypi net https://files.pythonhosted.org", 0),
        ("--no-net --net-preset crates check net https://index.crates.io", 0),
    ] {
        check(&line.split(' ').collect::<Vec<_>>()).assert_code(status);
    }
    let wrong = check(&["--net-preset", "cluade", "check", "net", "https://a.test"]);
    wrong.assert_code(125).assert_stderr("did you mean `claude`?");
}

/// A program that a package manager or an installer put into the home needs no option.
#[test]
fn a_program_in_the_home_starts_with_its_package() {
    let scratch = Scratch::for_ordinary_user();
    let package = "home/.npm-global/lib/node_modules/@a/tool";
    scratch.write(&format!("{package}/cli.sh"), "#!/usr/bin/env sh\ncat \"${0%/*}/../lib/data\"\n");
    scratch.write("home/.npm-global/lib/data", "data\n");
    scratch.write("home/.npm-global/bin/keep", "");
    scratch.write("home/Documents/run.sh", "#!/bin/sh\ncat ~/Documents/secret\n");
    scratch.write("home/Documents/secret", "secret\n");
    for program in [&format!("{package}/cli.sh"), "home/Documents/run.sh"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(scratch.path(program), mode).expect("a mode");
    }
    let link = scratch.path("home/.npm-global/bin/tool");
    symlink("../lib/node_modules/@a/tool/cli.sh", &link).expect("a link");
    scratch.hand_over();

    let path = scratch.expand("$HOME/.npm-global/bin:/usr/bin:/bin");
    let run = |program: &str| Run::new(&scratch, &scratch.expand(program), &[]).env("PATH", &path);
    let found = run("tool").run();
    found.assert_ok().assert_stdout("data");
    assert!(found.stderr.is_empty(), "{found}");
    run("tool").flags(&["--profile", "none"]).run().assert_code(126);
    let alone = run("$HOME/Documents/run.sh").run();
    alone.assert_code(1).assert_stderr("Documents/secret: No such file");
}

/// A link that an earlier run planted leads to no package.
#[test]
fn a_planted_program_grants_nothing() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("home/app/bin/program", "#!/bin/sh\ncat \"${0%/*}/../key\"\n");
    scratch.write("home/app/lib/x", "");
    scratch.write("home/app/key", "a key\n");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(scratch.path("home/app/bin/program"), mode).expect("a mode");
    symlink(scratch.path("home/app/bin/program"), scratch.path("ws/planted")).expect("a link");
    scratch.hand_over();
    let run = |program: &str| Run::new(&scratch, &scratch.expand(program), &[]).run();
    run("./planted").assert_code(126);
    run("$HOME/app/bin/program").assert_ok().assert_stdout("a key");
}

#[test]
fn a_virtual_environment_is_the_one_that_starts() {
    if !have("python3") {
        return;
    }
    let scratch = Scratch::for_ordinary_user();
    let make = ["-m", "venv", "--without-pip", &scratch.expand("$HOME/venvs/x")];
    Run::new(&scratch, "/usr/bin/python3", &make).mode(Mode::Bare).run().assert_ok();
    let path = scratch.expand("$HOME/venvs/x/bin:/usr/bin:/bin");
    let prefix = ["-c", "import sys; print(sys.prefix)"];
    let run = Run::new(&scratch, "python", &prefix).env("PATH", &path).run();
    run.assert_ok().assert_stdout("home/venvs/x");
    let active = scratch.expand("$HOME/venvs/x");
    let script = "python -c 'import sys; print(sys.prefix)'";
    let inner = Run::sh(&scratch, script).env("PATH", &path).env("VIRTUAL_ENV", &active).run();
    inner.assert_ok().assert_stdout("home/venvs/x");
}

/// The output of the hook for `input`, as the agent's shell would run it.
fn hooked(scratch: &Scratch, options: &str, event: &str, tool: &str) -> Outcome {
    let command = "cat ~/.claude/.credentials.json && exit 1; echo in > made; echo ok";
    let input = serde_json::json!({
        "session_id": "s", "cwd": scratch.ws(), "hook_event_name": event, "tool_name": tool,
        "tool_input": { "command": command, "description": "a command" },
    });
    let program = format!("{EXAMPLES}/pre_tool_use.py {options}");
    let hook = with_tools(scratch, "sh", &["-c", &program]).mode(Mode::Bare);
    let answer = hook.input(input.to_string().as_bytes()).run();
    answer.assert_ok();
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], event);
    let allows = (!options.is_empty()).then_some("allow");
    assert_eq!(output["permissionDecision"].as_str(), allows);
    let key = if event == "BeforeTool" { "tool_input" } else { "updatedInput" };
    assert_eq!(output[key]["description"], "a command");
    let command = output[key]["command"].as_str().expect("a command");
    with_tools(scratch, "bash", &["-c", command]).mode(Mode::Bare).run()
}

#[test]
fn a_hook_confines_the_commands_of_an_agent() {
    if !have("python3") {
        return;
    }
    for (options, event, tool) in [
        ("", "PreToolUse", "Bash"),
        ("--allow", "PreToolUse", "Bash"),
        ("", "BeforeTool", "run_shell_command"),
    ] {
        let scratch = Scratch::for_ordinary_user();
        scratch.write("home/.claude/.credentials.json", "a login\n");
        scratch.hand_over();
        let run = hooked(&scratch, options, event, tool);
        run.assert_ok().assert_stdout("ok");
        assert!(!run.stdout.contains("login"), "{run}");
        assert_eq!(scratch.read("ws/made"), "in\n");
    }
}

/// The wrapper for Codex, which a stand-in for it describes.
#[test]
fn the_wrapper_of_codex_confines_it_alone() {
    let scratch = Scratch::for_ordinary_user();
    agent(&scratch, "codex", "echo \"$@\"; jp-confine status > /dev/null; echo \"status $?\"");
    let wrapper = format!("{EXAMPLES}/codex");
    for (words, expected) in [
        (&["hello"][..], "--no-daemon --sandbox danger-full-access hello"),
        (&["exec", "hello"], "exec --sandbox danger-full-access hello"),
        (&["login"], "login"),
    ] {
        let run = with_tools(&scratch, &wrapper, words).mode(Mode::Bare).run();
        run.assert_ok().assert_stdout(&format!("{expected}\nstatus 0\n"));
    }
}

/// A shell that confines: for one command, as a prefix of one argument, and for a script.
#[test]
fn a_shell_that_confines_its_commands() {
    let scratch = Scratch::for_ordinary_user();
    scratch.write("ws/script", "cat ~/.private/key || echo hidden $1\n");
    scratch.hand_over();
    let shell = format!("{EXAMPLES}/jp-confine-shell");
    for words in [
        &["-c", "cat ~/.private/key || echo hidden $1", "sh", "one"][..],
        &["set one; shift 0; cat ~/.private/key || echo hidden one"],
        &["script", "one"],
    ] {
        let run = with_tools(&scratch, &shell, words).mode(Mode::Bare).run();
        run.assert_ok().assert_no_secret().assert_stdout("hidden one");
    }
}
