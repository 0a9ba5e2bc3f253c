//! `jp-confine vfs`: what it prints, how it ends, and whom it prompts.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use crate::cli_advice::{allow, denials, rules};
use crate::cli_prompts_taken::word;
use crate::cli_status::product;
use crate::run::{Mode, PRODUCT, Run, given};
use crate::scratch::Scratch;
use crate::terminal::Terminal;

/// Shell functions for scripts that speak the protocol.
pub(crate) const SPEAK: &str = r#"
    ask() { printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2"; read -r answer
        case $answer in *pending*) read -r answer;; esac; }
    tell() { printf '{"jsonrpc":"2.0","method":"%s","params":%s}\n' "$1" "$2"; }
    show() { printf '%s\n' "$answer" >&2; }
    read -r init
"#;

/// Runs `script` as a tool.
pub(crate) fn tool<'a>(scratch: &'a Scratch, flags: &[&str], script: &str) -> Run<'a> {
    Run::sh(scratch, &format!("{SPEAK}{script}")).flags(&["vfs"]).flags(flags)
}

fn confined<'a>(scratch: &'a Scratch, flags: &[&str], script: &str) -> Run<'a> {
    tool(scratch, flags, script).mode(Mode::Confined)
}

// conformance: d11-18, d11-35, d11-38, d11-107, d11-117, d11-133, d11-213
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
    run("exit 3").assert_code(3).assert_stderr("without a result; -v says what it was refused");
    run("true").assert_code(1).assert_stderr("without a result");
    let nowhere = Run::new(&scratch, "no-such-tool", &[]).flags(&["vfs"]).mode(Mode::Confined);
    nowhere.run().assert_code(127);
}

/// Without rules a tool may read sensitive files of the workspace, too. The end says so.
#[test]
fn a_sensitive_file_that_a_tool_may_read_is_reported() {
    let scratch = Scratch::new();
    scratch.write("ws/.env", "KEY=1\n");
    let script = r#"ask fs.read '{"path":".env"}'; show; tell result '{"content":""}'"#;
    let run = confined(&scratch, &[], script).run();
    run.assert_ok().assert_stderr("KEY=1").assert_stderr("may read .env; to keep one from them");
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = 'file'\nread = true\n");
    let run = confined(&scratch, &[], script).run();
    assert!(!run.stderr.contains("may read .env"), "{run}");
}

// conformance: d11-56
/// Nothing is below a file, and a broken rule or a pattern says more than the system's error.
#[test]
fn paths_below_files_do_not_exist() {
    let scratch = Scratch::new();
    scratch.write(
        "ws/jp-confine.toml",
        "[[access.fs]]\npath = '.'\nread = true\n[[access.fs]]\npath = 'dir'\n\
         [file_policy]\ndeny_paths = ['**/kept/**']\n",
    );
    for (path, answer) in [
        ("file/x", r#""exists":false"#),
        ("file/x/y", r#""exists":false"#),
        ("none/x", r#""exists":false"#),
        ("file", r#""exists":true"#),
        ("dir/inner/x", "-32001"),
        ("file/kept/x", "a pattern of `file_policy` withholds it"),
    ] {
        let script =
            format!(r#"ask fs.exists '{{"path":"{path}"}}'; show; tell result '{{"content":""}}'"#);
        confined(&scratch, &[], &script).run().assert_ok().assert_stderr(answer);
    }
}

// conformance: d11-1, d11-9, d11-171, d11-172, d11-173, d11-174, d11-188
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
    let mounted = confined(&scratch, &["--mount", "m=../out/dir"], script).run();
    assert_eq!(mounted.stderr.matches(r#""code":-32001"#).count(), 3, "{mounted}");
    let run = confined(&scratch, &["-w", "file"], script).run();
    run.assert_stderr("2 requests of the tool refused; which and why: jp-confine why --last");
    let why = product(&scratch, &["why", "--last"]).run();
    why.assert_stdout("denied process.run true by sh\n")
        .assert_stdout("denied http.get http://127.");
    confined(&scratch, &[], r#"tell result '{"content":""}'"#).run().assert_ok();
    let why = product(&scratch, &["why", "--last"]).run();
    why.assert_stdout("no denials in the last run: ");
}

// conformance: d11-167, d11-169
/// The example of RFD D11, with hosts and programs beside it.
#[test]
fn the_older_form_is_held_to() {
    let scratch = Scratch::new();
    let policy = "[tools.smart_editor]\nsource = 'local'\nruntime = 'vfs'\n
        command = '.config/jp/tools/target/release/jp-tools fs modify_file'\n
        [tools.smart_editor.sandbox]\nfilesystem.allow = ['.']\nfilesystem.writable = true\n";
    let script = r#"ask fs.write '{"path":"new","content":"made"}'
        ask fs.read '{"path":"../out/secret"}'; show; ask process.run '{"program":"true"}'; show
        tell result '{"content":""}'"#;
    scratch.write("ws/jp-confine.toml", policy);
    let run = confined(&scratch, &["--tool", "smart_editor"], script).run();
    assert_eq!(run.assert_ok().stderr.matches(r#""code":-32001"#).count(), 2, "{run}");
    assert_eq!(scratch.read("ws/new"), "made");
    let more = "commands.true.args = [[]]\n";
    scratch.write("ws/jp-confine.toml", &format!("{}{more}", policy.replace("true\n", "false\n")));
    scratch.write("ws/new", "old");
    let run = confined(&scratch, &["--tool", "smart_editor"], script).run();
    run.assert_ok().assert_stderr(r#""exit_code":0"#);
    assert_eq!(scratch.read("ws/new"), "old");
}

// conformance: d43-15, d43-73, d43-229
/// No path behind a symlink that leads out has a rule of its own. So the rule on the symlink must grant more.
#[test]
fn behind_a_link_more_of_its_rule_is_advised_and_works() {
    let scratch = Scratch::new();
    symlink(scratch.out(), scratch.path("ws/fork")).expect("a link");
    let granted = |more: &str| {
        let rule = "[[access.fs]]\npath = 'fork'\nexternal = true\nread = true\n";
        scratch.write("ws/jp-confine.toml", &format!("{rule}{more}"));
    };
    granted("");
    product(&scratch, &["approvals", "approve", "fork"]).run().assert_ok();
    let script = r#"ask fs.write '{"path":"fork/target","content":"written"}'
        ask fs.write '{"path":"fork/new","content":"made"}'; tell result '{"content":""}'"#;
    confined(&scratch, &[], script).run().assert_ok();
    let advised = "`create = true` and `update = true` in the `access.fs` rule on `fork`";
    let why = product(&scratch, &["why", "--last"]).run();
    assert_eq!(why.stdout.matches(advised).count(), 2, "{why}");
    let check = |capability: &str| product(&scratch, &["check", capability, "fork/target"]).run();
    check("update")
        .assert_code(1)
        .assert_stdout("`update = true` in the `access.fs` rule on `fork`");
    granted("create = true\nupdate = true\n");
    check("update").assert_ok();
    confined(&scratch, &[], script).run().assert_ok();
    assert_eq!(
        (scratch.read("out/target"), scratch.read("out/new")),
        ("written".into(), "made".into())
    );
}

/// Denials of the service and of the programs that it started are one record.
#[test]
fn programs_of_a_tool_have_their_denials_beside_its_own() {
    let scratch = Scratch::new();
    let policy = "[[access.fs]]\npath = '.'\nread = true\n[access.commands.cat]\n";
    scratch.write("ws/jp-confine.toml", policy);
    let script = r#"ask process.run '{"program":"cat","args":["../out/secret"]}'
        ask fs.read '{"path":"../out/secret"}'; tell result '{"content":""}'"#;
    confined(&scratch, &[], script).run().assert_ok();
    let why = product(&scratch, &["why", "--last"]).run();
    why.assert_stdout("2 denials in the last run: sh -c").assert_stdout("out/secret by /");
    why.assert_stdout("denied fs.read ../out/secret by sh");
}

/// The last rule on a path decides. So one rule covers all denials of the tool's programs on that path.
#[test]
fn one_rule_is_for_what_all_programs_of_a_tool_were_refused() {
    let scratch = Scratch::new();
    let policy = "[[access.fs]]\npath = '.'\nread = true\n[access.commands]\nbash = {}\nrm = {}\n";
    scratch.write("ws/jp-confine.toml", policy);
    let script = r#"
        ask process.run '{"program":"bash","args":["-c","echo x >> file"]}'
        ask process.run '{"program":"rm","args":["-f","file"]}'; tell result '{"content":""}'"#;
    confined(&scratch, &[], script).run().assert_ok();
    assert_eq!(rules(&denials(&scratch)).matches("\"file\"").count(), 1);
    allow(&scratch);
    confined(&scratch, &[], script).run().assert_ok();
    assert!(!scratch.path("ws/file").exists());
    product(&scratch, &["why", "--last"]).run().assert_stdout("no denials in the last run: ");
}

/// Messages of a run to a person are not part of the program's output to the tool.
#[test]
fn what_a_program_writes_is_its_own() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[access.commands.true]\n");
    scratch.write("ws/.env", "KEY=1\n");
    let script = r#"ask process.run '{"program":"true"}'; show; tell result '{"content":""}'"#;
    confined(&scratch, &[], script).run().assert_ok().assert_stderr(r#""stderr":"""#);
}

// conformance: d11-83
/// A variable that is set to nothing is set.
#[test]
fn an_empty_variable_is_one_for_headers() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[access]\nnet_env = ['EMPTY', 'UNSET']\n");
    let script = r#"
        get() { ask http.get "{\"url\":\"http://127.0.0.1/\",\"headers\":[{\"name\":\"x\",\"value\":\"\${$1}\"}]}"; show; }
        get EMPTY; get UNSET; tell result '{"content":""}'"#;
    let run = confined(&scratch, &[], script).env("EMPTY", "").run();
    run.assert_ok().assert_stderr("access.net does not allow it");
    run.assert_stderr("cannot put ${UNSET}");
    assert!(!run.stderr.contains("${EMPTY}"), "{run}");
}

// conformance: d11-88
#[test]
fn a_run_is_not_held_to_what_only_tools_are() {
    let scratch = Scratch::new();
    let policy = "[tools.t.access]\nnet_env = ['X']\ncommands.echo.args = [['hello']]\n";
    scratch.write("ws/jp-confine.toml", policy);
    Run::new(&scratch, "true", &[]).mode(Mode::Confined).run().assert_ok();
    let run = Run::new(&scratch, "true", &[]).flags(&["--tool", "t"]).mode(Mode::Confined);
    run.run().assert_code(125).assert_stderr("`net_env` is about requests");
    let script = r#"ask process.run '{"program":"echo","args":["hello"]}'; show
        tell result '{"content":""}'"#;
    let run = confined(&scratch, &["--tool", "t"], script).run();
    run.assert_ok().assert_stderr(r#""stdout":"hello\n""#);
}

// conformance: d11-7, d11-17, d11-24, d11-99, d11-145, d11-174, d11-181, d11-215
#[test]
fn the_client_for_python_speaks_the_protocol() {
    let Some(scratch) = given(&["python3"], Scratch::new) else { return };
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

// conformance: d11-146, d11-147, d11-148, d11-149, d11-187, d11-209
#[test]
fn a_person_is_asked_about_what_no_rule_is_about() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let script = r#"ask fs.write '{"path":"new","content":"x"}'
        ask fs.write '{"path":"new","content":"y"}'; tell result '{"content":"written"}'"#;
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("the tool sh wants to create");
    terminal.see("ws/new");
    terminal.see("[N] no  [?] help: ");
    terminal.keys("y\n");
    terminal.see("wants to update");
    terminal.see("[N] no  [?] help: ");
    terminal.keys("\n");
    terminal.see("written");
    assert_eq!(terminal.end(), Some(0));
    assert_eq!(scratch.read("ws/new"), "x");
}

/// A program of the tool that reads the terminal takes part of what is typed.
#[test]
fn what_a_tool_leaves_of_a_no_is_no_yes() {
    let Some(scratch) = given(&["script", "setsid"], Scratch::new) else { return };
    let script = r#"setsid -f dd bs=4 count=1 </dev/tty >/dev/null 2>&1; sleep 0.3
        ask fs.write '{"path":"new","content":"x"}'; tell result '{"content":"told"}'"#;
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    word(&mut terminal);
    terminal.keys("neeey\n");
    terminal.see("told");
    assert_eq!(terminal.end(), Some(0));
    assert!(!scratch.ws().join("new").exists());
}

// conformance: d11-109, d11-111
#[test]
fn a_key_calls_it_off() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let script = "echo begun >&2; read -r line; echo \"$line\" >&2; exit 0";
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("begun");
    terminal.keys("\u{3}");
    terminal.see(r#""method":"cancel""#);
    assert_eq!(terminal.end(), Some(130));
}

// conformance: d43-12, d43-136
#[test]
fn a_mount_is_for_the_tool_and_its_programs() {
    let scratch = Scratch::new();
    let mount = scratch.expand("t:fork=$OUT:rw");
    scratch.write("ws/jp-confine.toml", "[tools.t.access.commands.cat]\n");
    let script = r#"
        ask fs.read '{"path":"fork/secret"}'; show
        ask process.run '{"program":"cat","args":["fork/secret"]}'; show
        ask fs.write '{"path":"fork/new","content":"made"}'; tell result '{"content":""}'"#;
    let run = confined(&scratch, &["--tool", "t", "--mount", &mount], script).run();
    run.assert_ok().assert_stderr(r#""content":"#).assert_stderr(r#""stdout":"#);
    assert_eq!(scratch.read("out/new"), "made");
    let unmount =
        confined(&scratch, &["--tool", "t", "--no-mount"], "tell result '{\"content\":\"\"}'");
    unmount.run().assert_ok();
    assert!(scratch.ws().join("fork").symlink_metadata().is_err());
}

#[test]
fn what_is_refused_and_asked_is_on_record() {
    let scratch = Scratch::new();
    let script = r#"
        ask fs.read '{"path":"../secret"}'; ask fs.write '{"path":"log","content":"forged"}'
        ask fs.read '{"path":"gone"}'; tell result '{"content":""}'"#;
    confined(&scratch, &["-w", ".", "--events", "log"], script).run().assert_ok();
    let log = scratch.read("ws/log");
    let denied: Vec<&str> = log.lines().filter(|line| line.contains("\"denial\"")).collect();
    assert_eq!(denied.len(), 2, "{log}");
    assert!(
        denied[0].contains(r#""call":"fs.read""#) && denied[0].contains(r#""path":"../secret""#)
    );
    assert!(denied[1].contains(r#""call":"fs.write""#) && !log.contains("forged"), "{log}");
}

#[test]
fn what_would_be_held_is_shown() {
    let scratch = Scratch::new();
    let run = Run::new(&scratch, "touch", &["out"]).flags(&["--dry-run", "--json", "vfs"]);
    run.mode(Mode::Confined).run().assert_ok().assert_stdout("the workspace, which may be read");
}

// conformance: d11-157, d11-165, d11-208
/// A prompt ends when the tool no longer wants the answer, and when a key cancels everything.
#[test]
fn a_question_can_be_called_off() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let script = r#"
        printf '{"jsonrpc":"2.0","id":1,"method":"fs.write","params":{"path":"new","content":"x"}}\n'
        read -r pending; sleep 0.3; tell cancel '{}'; read -r line; printf '%s\n' "$pending" "$line" >&2
        tell state '{"type":"waiting","content":"Well","question":"really?"}'; read -r line; echo "$line" >&2
        ask fs.write '{"path":"new","content":"x"}'"#;
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("wants to create");
    terminal
        .see(r#""method":"pending","params":{"request_id":1,"reason":"awaiting user approval"}"#);
    terminal.see("-32005");
    terminal.see("really?");
    terminal.keys("so\n");
    terminal.see(r#"{"input":"so"}"#);
    terminal.see("wants to create");
    terminal.see("[N] no  [?] help: ");
    terminal.keys("\u{3}");
    assert_eq!(terminal.end(), Some(130));
    assert!(!scratch.path("ws/new").exists());
}

// conformance: d11-119, d11-155, d11-217
/// A running tool gets lines of standard input, one each time that it says that it runs.
#[test]
fn a_tool_that_lives_on_is_given_lines() {
    let scratch = Scratch::new();
    let script = r#"
        while tell state '{"type":"running","content":"next"}'; read -r line; [ -z "${line##*apply*}" ]; do
            case $line in *end*) break;; esac; echo "$line" >&2
        done
        tell state '{"type":"stopped","result":"staged"}'"#;
    let run = confined(&scratch, &["--idle", "20"], script).input(b"one\ntwo\nend").run();
    run.assert_ok().assert_stderr(r#"{"input":"one"}"#).assert_stderr(r#"{"input":"two"}"#);
    assert_eq!(run.stdout, "staged\n");
}

/// A person who starts a tool learns what of theirs a committed file lends it, and what the tool could guess.
#[test]
fn what_a_workspace_lends_is_said() {
    let scratch = Scratch::new();
    let script = "tell result '{\"content\":\"\"}'";
    let policy =
        "[access]\nnet_env = ['TOKEN', 'UNSET']\n[[access.env]]\nname = 'KEY_*'\nread = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    let run = confined(&scratch, &[], script).env("TOKEN", "1234").env("KEY_A", "x").run();
    run.assert_ok().assert_stderr("allows the tool to see KEY_A, and to send in headers TOKEN\n");
    run.assert_stderr("the value of TOKEN is shorter than 8 bytes");
    let run = confined(&scratch, &[], script).env("TOKEN", "0123456789abcdef").run();
    run.assert_stderr("allows the tool to send in headers TOKEN\n");
    assert!(!run.stderr.contains("short"), "{run}");
}

/// Inside another run, the tool would have no supervisor. The library of that run would not see what the service does.
#[test]
fn no_tool_is_hosted_inside_a_run() {
    let scratch = Scratch::new();
    scratch.copy_program(PRODUCT.as_ref(), "ws/bin/inner");
    for outer in ["--enforce=cooperative", "--enforce=layered"] {
        let run = Run::new(&scratch, "bin/inner", &["vfs", "--", "touch", "ran"]);
        let run = run.flags(&[outer]).mode(Mode::Confined).run();
        run.assert_code(125).assert_stderr("start the service outside of that run");
        assert!(!scratch.ws().join("ran").exists() && !run.stderr.contains("denial"), "{run}");
    }
}

/// Thirteen files do not fit on one screen. Each is shown before anybody consents to it.
#[test]
fn nothing_is_consented_to_that_was_not_shown() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let policy = "[[access.fs]]\npath = '.'\nread = true\n[file_policy]\nprompt_paths = ['<workspace>/p*']\n";
    scratch.write("ws/jp-confine.toml", policy);
    let names: Vec<String> = (1..=13).map(|number| format!("p{number}.txt")).collect();
    for name in &names {
        scratch.write(&format!("ws/{name}"), "spring\n");
    }
    let paths = names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",");
    let script = format!(
        r#"ask fs.grep '{{"pattern":"spring","paths":[{paths}]}}'; show; tell result '{{"content":"told"}}'"#
    );
    for (says, last) in [(["y\n", "y\n", "y\n"], "spring"), (["y\n", "\n", ""], "-32001")] {
        let mut terminal = Terminal::start_sized(&confined(&scratch, &[], &script), 24, 200);
        for (screen, says) in names.chunks(6).zip(says).take_while(|(_, says)| !says.is_empty()) {
            for name in screen {
                terminal.see(name);
            }
            terminal.see("`<workspace>/p*` of prompt_paths");
            terminal.see(if screen.len() == 6 { "[y] show the rest" } else { "[y] yes, once" });
            terminal.see("[N] no  [?] help: ");
            terminal.keys(says);
        }
        terminal.see(last);
        assert_eq!(terminal.end(), Some(0));
    }
}

/// A command is shown whole, or none of it runs.
#[test]
fn a_long_command_is_shown_whole_or_denied() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let word = |count: usize| format!("{}hidden{}", "a".repeat(count), "b".repeat(count));
    let script = |count| {
        let word = word(count);
        format!(
            r#"ask process.run '{{"program":"touch","args":["{word}"]}}'; show; tell result '{{"content":"told"}}'"#
        )
    };
    let mut terminal = Terminal::start_sized(&confined(&scratch, &[], &script(900)), 24, 80);
    terminal.see("hidden");
    terminal.see("[y] show the rest");
    terminal.keys("\n");
    terminal.see("-32001");
    assert_eq!(terminal.end(), Some(0));
    let mut terminal = Terminal::start_sized(&confined(&scratch, &[], &script(30_000)), 24, 80);
    terminal.see("wants more than can be asked about");
    terminal.see("-32001");
    assert_eq!(terminal.end(), Some(0));
}

/// Whether a process has this word on its command line.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    processes.map(|process| process.path().join("cmdline")).any(|line| {
        let line = std::fs::read(line).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|it| it == word.as_bytes())
    })
}

/// When the host ends in any way, its tool ends, and so do the programs that it runs for the tool.
#[test]
fn nothing_outlives_a_host_that_is_killed() {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", "[access.commands.sh]\n");
    let word = format!("9{}", std::process::id());
    let of_tool = format!("trap '' TERM HUP; sleep {word} & sleep {word}; sleep {word}");
    let of_service = format!(
        r#"ask process.run '{{"program":"sh","args":["-c","trap : TERM HUP; sleep {word} & sleep {word}; sleep {word}"]}}'"#
    );
    for script in [of_tool, of_service] {
        let mut command = confined(&scratch, &[], &script).command();
        command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut host = command.spawn().expect("a host");
        let until = |running: bool| {
            let end = Instant::now() + Duration::from_secs(60);
            while is_running(&word) != running {
                assert!(Instant::now() < end, "{script}: {running}");
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        until(true);
        host.kill().expect("killed");
        host.wait().expect("collected");
        until(false);
    }
}

// conformance: d11-134
/// The host stays reachable during a search.
#[test]
fn a_key_calls_off_a_search() {
    let Some(scratch) = given(&["script"], Scratch::new) else { return };
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if state >> 31 == 0 { 'a' } else { 'b' }
    };
    scratch.write("ws/large", &(0..8_000_000).map(|_| next()).collect::<String>());
    let script = r#"echo begun >&2
        ask fs.grep '{"pattern":"(?-u)a[ab]{400}[c-z]"}'; show"#;
    let mut terminal = Terminal::start(&confined(&scratch, &[], script));
    terminal.see("begun");
    let begun = Instant::now();
    terminal.keys("\u{3}");
    assert_eq!(terminal.end(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
