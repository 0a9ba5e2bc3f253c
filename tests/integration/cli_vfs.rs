//! `jp-confine vfs`: what it prints, how it ends, and whom it asks.

use crate::run::{Mode, Run, have};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

/// What scripts need to speak the protocol.
pub(crate) const SPEAK: &str = r#"
    ask() { printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2"; read -r answer
        case $answer in *pending*) read -r answer;; esac; }
    tell() { printf '{"jsonrpc":"2.0","method":"%s","params":%s}\n' "$1" "$2"; }
    show() { printf '%s\n' "$answer" >&2; }
    read -r init
"#;

/// `script` as a tool.
pub(crate) fn tool<'a>(scratch: &'a Scratch, flags: &[&str], script: &str) -> Run<'a> {
    Run::sh(scratch, &format!("{SPEAK}{script}")).flags(&["vfs"]).flags(flags)
}

fn confined<'a>(scratch: &'a Scratch, flags: &[&str], script: &str) -> Run<'a> {
    tool(scratch, flags, script).mode(Mode::Confined)
}

#[test]
fn a_result_is_printed_and_a_failure_is_a_status() {
    let scratch = Scratch::new();
    let run = |script: &str| confined(&scratch, &[], script).run();
    let done = run(r#"echo words >&2; tell result '{"content":"done"}'"#);
    assert_eq!(done.assert_ok().stdout, "done\n");
    done.assert_stderr("words\n");
    let failed = run(r#"tell error '{"message":"it cannot be","trace":["a\u001b[2J"]}'"#);
    failed.assert_code(1).assert_stderr("the tool failed: it cannot be");
    failed.assert_stderr(r"a\x1b[2J");
    run("exit 3").assert_code(3).assert_stderr("without a result");
    run("true").assert_code(1).assert_stderr("without a result");
    let nowhere = Run::new(&scratch, "no-such-tool", &[]).flags(&["vfs"]).mode(Mode::Confined);
    nowhere.run().assert_code(127);
}

#[test]
fn without_rules_the_workspace_may_be_read_and_nothing_else() {
    let scratch = Scratch::new();
    let script = r#"
        ask fs.read '{"path":"file"}'; show
        ask fs.write '{"path":"file","content":""}'; show
        ask process.run '{"program":"true"}'; show
        ask http.get '{"url":"http://127.0.0.1/"}'; show
        tell result '{"content":""}'"#;
    let run = confined(&scratch, &[], script).run();
    run.assert_ok().assert_stderr(r#""content":"inside\n""#);
    assert_eq!(run.stderr.matches(r#""code":-32001"#).count(), 3, "{run}");
    let run = confined(&scratch, &["-w", "file"], script).run();
    assert_eq!(run.stderr.matches(r#""code":-32001"#).count(), 2, "{run}");
    assert_eq!(scratch.read("ws/file"), "");
}

#[test]
fn a_run_is_not_held_to_what_only_tools_are() {
    let scratch = Scratch::new();
    let policy = "[tools.t.access]\nnet_env = ['X']\ncommands.echo.args = [['hello']]\n";
    scratch.write("ws/jp-confine.toml", policy);
    Run::new(&scratch, "true", &[]).mode(Mode::Confined).run().assert_ok();
    let run = Run::new(&scratch, "true", &[]).flags(&["--tool", "t"]).mode(Mode::Confined);
    run.run().assert_code(125).assert_stderr("`net_env` is not enforced for runs");
    let script = r#"ask process.run '{"program":"echo","args":["hello"]}'; show
        tell result '{"content":""}'"#;
    let run = confined(&scratch, &["--tool", "t"], script).run();
    run.assert_ok().assert_stderr(r#""stdout":"hello\n""#);
}

#[test]
fn the_client_for_python_speaks_the_protocol() {
    if !have("python3") {
        return;
    }
    let scratch = Scratch::new();
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/vfs_client.py");
    scratch.copy_program(client.as_ref(), "ws/client");
    let count = |path: &str| {
        let arguments = format!(r#"{{"path": "{path}"}}"#);
        let run = Run::new(&scratch, "./client", &[]).flags(&["vfs", "--arguments", &arguments]);
        run.mode(Mode::Confined).run()
    };
    assert_eq!(count("file").assert_ok().stdout, "file has 1 lines\n");
    count("../out/secret").assert_code(1).assert_stderr("the tool failed: cannot read");
}

#[test]
fn a_person_is_asked_about_what_no_rule_is_about() {
    let scratch = Scratch::new();
    if !have("script") {
        return;
    }
    let script = r#"ask fs.write '{"path":"new","content":"x"}'
        ask fs.write '{"path":"new","content":"y"}'; tell result '{"content":"written"}'"#;
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("the tool sh wants to create");
    terminal.see("ws/new");
    terminal.see("[N] no: ");
    terminal.keys("y\n");
    terminal.see("wants to update");
    terminal.see("[N] no: ");
    terminal.keys("\n");
    terminal.see("written");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(scratch.read("ws/new"), "x");
}

#[test]
fn a_key_calls_it_off() {
    let scratch = Scratch::new();
    if !have("script") {
        return;
    }
    let script = "echo begun >&2; read -r line; echo \"$line\" >&2; exit 0";
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("begun");
    terminal.keys("\u{3}");
    terminal.see(r#""method":"cancel""#);
    assert_eq!(terminal.end(), Some(130));
}

#[test]
fn what_only_runs_do_is_refused() {
    let scratch = Scratch::new();
    let run = |flags: &[&str]| {
        let run = Run::new(&scratch, "touch", &["out"]).flags(&["vfs"]).flags(flags);
        run.mode(Mode::Confined).run()
    };
    run(&["--no-mount"]).assert_code(125).assert_stderr("makes no links");
    run(&["--events", "log"]).assert_code(125).assert_stderr("no event log");
    run(&["--dry-run"]).assert_ok().assert_stdout("the workspace, which may be read");
}
