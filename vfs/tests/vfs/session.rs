//! Misbehaving tools. None of them blocks the host, and the host leaves none of their processes running.

use std::process::Command;
use std::time::{Duration, Instant};

use jp_confine_vfs::message::{Init, ToolCall};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::session::{Ending, Limits, OneShot, Session};
use serde_json::{Value, json};

use crate::both::{POLICY, Place};

/// Silence limit for tools that should not hang, long enough for a busy machine.
const LONG: Duration = Duration::from_secs(30);

/// Runs `script` as a tool. Returns how it ended and its standard error.
fn tool(script: &str, idle: Duration, interrupted: &dyn Fn() -> bool) -> (Ending, String) {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody).with_limit(400_000);
    let mut diagnostics = Vec::new();
    let session = Session {
        service: &mut service,
        conversation: &mut OneShot,
        diagnostics: &mut diagnostics,
        interrupted,
        limits: Limits { idle, grace: Duration::from_millis(100) },
    };
    let result = r#"result() { printf '{"jsonrpc":"2.0","method":"result","params":{"content":"%s"}}\n' "$1"; }
        ask() { printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2"; read -r answer; }
        cancel() { printf '{"jsonrpc":"2.0","method":"cancel"}\n'; }
        read -r init
        "#;
    let mut command = Command::new("bash");
    command.arg("-c").arg(format!("{result}{script}"));
    let init = Init::new(ToolCall::new("tool"));
    let ending = session.run(&mut command, &init).expect("a tool");
    (ending, String::from_utf8_lossy(&diagnostics).into_owned())
}

fn ends(script: &str) -> String {
    told(tool(script, LONG, &|| false).0)
}

fn hangs(script: &str) {
    assert_eq!(told(tool(script, Duration::from_millis(200), &|| false).0), "hung");
}

fn told(ending: Ending) -> String {
    match ending {
        Ending::Result(contents) => contents.to_text(),
        Ending::Failed(error) => format!("failed: {error}"),
        Ending::Died { status, stderr } => format!("{status}: {stderr}"),
        Ending::Hung => "hung".to_owned(),
        Ending::Unanswered(question) => format!("unanswered: {question}"),
        Ending::Cancelled => "cancelled".to_owned(),
    }
}

// conformance: d11-7, d11-19, d11-33, d11-38, d11-106, d11-132
#[test]
fn the_first_result_counts_and_later_lines_do_not() {
    assert_eq!(ends("result one; result two; echo '{'; exit 3"), "one");
    let error =
        r#"echo '{"jsonrpc":"2.0","method":"error","params":{"message":"no"}}'; result two"#;
    assert_eq!(ends(error), "failed: no");
}

// conformance: d11-133
#[test]
fn a_tool_that_ends_without_a_result_has_failed() {
    assert_eq!(ends("echo why >&2; exit 3"), "exit status: 3: why\n");
    assert_eq!(ends("kill -9 $$"), "signal: 9 (SIGKILL): ");
}

// conformance: d11-18, d11-33, d11-154, d11-156
#[test]
fn tools_that_hang_are_ended() {
    hangs("sleep 100");
    hangs("trap '' TERM; exec 0<&-; sleep 100; sleep 100");
    assert!(ends("exec 1>&-; sleep 100").starts_with("signal: 15"));
    // After the result, nobody waits for processes that the tool leaves behind.
    assert_eq!(ends("result done; sleep 100 & sleep 100"), "done");
    // Standard error is not activity, but it is not lost either.
    hangs("while sleep 0.05; do echo still here >&2; done");
    // Lines that are not messages are not activity either, nor are bytes without a line end.
    hangs("tr '\\0' x < /dev/zero");
    hangs("yes ''");
    hangs("while sleep 0.05; do printf x; done");
    hangs("while sleep 0.05; do echo bad; read -r answer; done");
    hangs("yes bad & cat > /dev/null");
}

// conformance: d11-17, d11-20, d11-21, d11-40, d11-104, d11-158, d11-159, d11-200
#[test]
fn what_is_no_message_is_answered_and_the_session_goes_on() {
    let script = r#"
        printf '\n  \n{"jsonrpc":"2.0","id":7\n'; read -r one
        printf '{"jsonrpc":"2.0","id":8,"method":"fs.fly"}\n'; read -r two
        ask fs.read '{"path":"rw/kept/file"}'
        code() { sed 's/.*"id":\([^,]*\).*"code":\([-0-9]*\).*/\1 \2/' <<< "$1"; }
        result "$(code "$one"), $(code "$two"), $(sed 's/.*"content":"\([a-z]*\).*/\1/' <<< "$answer")"
    "#;
    assert_eq!(ends(script), "null -32600, 8 -32601, kept");
}

// conformance: d11-105, d11-135, d11-150, d11-194
#[test]
fn full_pipes_hold_up_nobody() {
    // The flood exceeds any pipe, and the tool reads no answer: it has used up its time.
    let flood = r#"while :; do echo '{"jsonrpc":"2.0","id":1,"method":"fs.read","params":{"path":"a.txt"}}'; done"#;
    hangs(flood);
    // Each direction carries more than a pipe holds, both at once.
    let both = r#"
        text=$(head -c 300000 /dev/zero | tr '\0' x)
        ask fs.write "{\"path\":\"rw/big\",\"content\":\"$text\"}"
        ask fs.read '{"path":"rw/big"}'
        head -c 300000 /dev/zero >&2
        result ${#answer}"#;
    let length: usize = ends(both).parse().expect("a length");
    assert!(length > 300_000);
}

// conformance: d11-158
#[test]
fn a_line_that_is_too_long_is_passed_over() {
    let script = r#"
        { printf '{"jsonrpc":"2.0","id":1,"x":"'; head -c 5000000 /dev/zero | tr '\0' x; printf '"}\n'; }
        read -r answer
        code=$(sed 's/.*"code":\([-0-9]*\).*/\1/' <<< "$answer")
        ask fs.exists '{"path":"a.txt"}'
        result "$code ${#answer}""#;
    assert_eq!(ends(script), "-32600 49");
}

// conformance: d11-109, d11-112, d11-113, d11-114, d11-134
#[test]
fn whoever_calls_it_off_need_not_wait() {
    let begun = Instant::now();
    let called_off = || begun.elapsed() > Duration::from_millis(100);
    let script = "trap '' TERM; read -r line; echo \"$line\" >&2; sleep 100; sleep 100";
    let (ending, told) = tool(script, LONG, &called_off);
    assert!(matches!(ending, Ending::Cancelled), "{ending:?}");
    assert!(told.contains(r#""method":"cancel""#), "{told}");
}

// conformance: d11-122, d11-124
#[test]
fn a_question_that_nobody_answers_ends_the_tool() {
    let waiting = r#"printf '{"jsonrpc":"2.0","method":"state","params":{"type":"waiting","question":"q"}}\n'
        read -r line; sleep 100"#;
    assert_eq!(ends(waiting), "unanswered: \"q\"");
    let stopped = r#"printf '{"jsonrpc":"2.0","method":"state","params":{"type":"running","content":"x"}}\n'
        printf '{"jsonrpc":"2.0","method":"state","params":{"type":"stopped","result":"done"}}\n'"#;
    assert_eq!(ends(stopped), "done");
}

/// Runs `script` as a tool that writes what it gets to standard error. Returns those lines.
fn heard(script: &str) -> Vec<Value> {
    let (ending, lines) = tool(script, LONG, &|| false);
    assert!(matches!(ending, Ending::Result(_)), "{ending:?}");
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

// conformance: d11-96, d11-97, d11-98, d11-99, d11-100, d11-103, d11-130, d11-131
#[test]
fn the_first_message_is_init() {
    let tool = json!({"name": "tool", "arguments": null, "answers": null, "options": null});
    let params = json!({"tool": tool, "protocol_version": "0.1.0"});
    let init = json!({"jsonrpc": "2.0", "method": "init", "params": params});
    assert_eq!(heard(r#"printf '%s\n' "$init" >&2; result done"#), [init]);
}

// conformance: d11-30, d11-31
#[test]
fn answers_are_as_documented() {
    let lines = heard(
        r#"for path in rw/kept/file gone; do
            ask fs.read "{\"path\":\"$path\"}"; printf '%s\n' "$answer" >&2
        done; result done"#,
    );
    let result = json!({"content": "kept", "size": 4});
    assert_eq!(lines[0], json!({"jsonrpc": "2.0", "id": 1, "result": result}));
    let error = json!({"code": -32002, "message": "gone does not exist"});
    assert_eq!(lines[1], json!({"jsonrpc": "2.0", "id": 1, "error": error}));
}

// conformance: d11-205
/// A tool that writes several requests at once gets one answer after the other.
#[test]
fn requests_are_answered_in_order() {
    let lines = heard(
        r#"for id in 1 2 3; do
            printf '{"jsonrpc":"2.0","id":%s,"method":"fs.read","params":{"path":"a.txt"}}\n' $id
        done
        for id in 1 2 3; do read -r answer; printf '%s\n' "$answer" >&2; done; result done"#,
    );
    assert_eq!(lines.iter().map(|line| line["id"].clone()).collect::<Vec<_>>(), [1, 2, 3]);
}

// conformance: d11-195, d11-197
#[test]
fn there_is_no_method_beyond_those() {
    let lines = heard(
        r#"for method in fs.watch fs.register fs.stream; do
            ask $method '{"path":"."}'; printf '%s\n' "$answer" >&2
        done; result done"#,
    );
    assert!(lines.iter().all(|line| line["error"]["code"] == -32601), "{lines:?}");
}

// conformance: d11-112
#[test]
fn a_tool_that_goes_on_is_terminated_then_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let ready = folder.path().join("ready");
    // The tool tells which signal it got, and goes on.
    let script =
        format!("trap 'echo term >&2' TERM; : > {}; while :; do sleep 0.01; done", ready.display());
    let (ending, told) = tool(&script, LONG, &|| ready.exists());
    assert!(matches!(ending, Ending::Cancelled), "{ending:?}");
    assert!(told.contains("term"), "{told}");
}

// conformance: d11-113, d11-155
#[test]
fn limits_are_as_documented() {
    let Limits { idle, grace } = Limits::default();
    assert_eq!([idle, grace].map(|it| it.as_secs()), [60, 5]);
}
