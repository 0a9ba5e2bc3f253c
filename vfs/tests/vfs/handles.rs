//! Tools that live longer than one call, several at once.

use std::process::Command;
use std::time::Duration;

use jp_confine_vfs::handles::{HandleError, Handles, Status};
use jp_confine_vfs::message::{Contents, Init, State, ToolCall, ToolError};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::session::{Conversation, Ending, Limits, Session};
use serde_json::json;

use crate::both::{POLICY, Place};

/// Long enough on every machine.
const LONG: Duration = Duration::from_secs(20);

/// Reports its state, appends each input to its text, and asks before it stops.
const ADDER: &str = r#"
    state() { printf '{"jsonrpc":"2.0","method":"state","params":%s}\n' "$1"; }
    given() { read -r line; line=${line#*'"input":"'}; line=${line%%'"'*}; }
    read -r init; all=
    while state "{\"type\":\"running\",\"content\":\"$all\"}"; given; [ "$line" != end ]; do all="$all$line"; done
    state '{"type":"waiting","content":"Sure?","question":{"text":"stop?"}}'; given
    state "{\"type\":\"stopped\",\"result\":\"$all, $line\"}"
"#;

fn serve(
    script: &str,
    conversation: &mut dyn Conversation,
    interrupted: &dyn Fn() -> bool,
) -> std::io::Result<Ending> {
    let place = Place::on_disk(POLICY);
    let mut nobody = Nobody;
    let session = Session {
        service: &mut place.service(&mut nobody),
        conversation,
        diagnostics: &mut Vec::new(),
        interrupted,
        // The limit does not apply to a tool that waits for the host.
        limits: Limits { idle: Duration::from_millis(300), grace: Duration::from_millis(100) },
    };
    let init = Init::new(ToolCall::new("tool"));
    session.run(Command::new("bash").args(["-c", script]), &init)
}

fn running(text: &str) -> Status {
    Status::Active(State::Running { content: Contents::text(text) })
}

// conformance: d11-115, d11-118, d11-119, d11-120, d11-121, d11-122, d11-123, d11-124, d11-196, d11-217
#[test]
fn several_tools_go_on_at_once() {
    std::thread::scope(|scope| {
        let mut handles = Handles::new(scope);
        let [one, other] =
            [(); 2].map(|()| handles.spawn(|talk, over| serve(ADDER, talk, over)).to_string());
        assert_ne!(one, other);
        for id in [&one, &other] {
            assert_eq!(handles.wait(id, LONG), Ok(running("")));
        }
        for (id, input) in [(&one, "a"), (&other, "x"), (&one, "b")] {
            handles.apply(id, json!(input)).expect("applied");
            let _ = handles.wait(id, LONG);
        }
        assert_eq!(handles.fetch(&one), Ok(running("ab")));
        // Longer than a tool may be silent, but this one waits for the host.
        std::thread::sleep(Duration::from_millis(400));
        handles.apply(&one, json!("end")).expect("applied");
        let (content, question) = (Contents::text("Sure?"), json!({"text": "stop?"}));
        let waiting = Status::Active(State::Waiting { content, question });
        assert_eq!(handles.wait(&one, LONG), Ok(waiting));
        handles.apply(&one, json!("yes")).expect("answered");
        assert_eq!(handles.wait(&one, LONG), Ok(Status::Stopped(Contents::text("ab, yes"))));
        assert!(matches!(handles.apply(&one, json!("more")), Err(HandleError::Stopped(_))));
        assert_eq!(handles.fetch(&other), Ok(running("x")));
        assert_eq!(handles.abort_all(), 1);
        assert!(matches!(handles.fetch(&other), Err(HandleError::Unknown(_))));
    });
}

// conformance: d11-114, d11-115
// conformance: d11-126
#[test]
fn a_tool_that_runs_takes_data_at_any_time() {
    std::thread::scope(|scope| {
        let mut handles = Handles::new(scope);
        let script = r#"read -r init; read -r one; read -r two
            case "$one$two" in *'"1"'*'"2"'*) content=both;; *) content=$one$two;; esac
            printf '{"jsonrpc":"2.0","method":"result","params":{"content":"%s"}}\n' "$content""#;
        let id = handles.spawn(|talk, over| serve(script, talk, over)).to_string();
        for input in ["1", "2"] {
            handles.apply(&id, json!(input)).expect("applied");
        }
        assert_eq!(handles.wait(&id, LONG), Ok(Status::Stopped(Contents::text("both"))));
    });
}

// conformance: d11-39
#[test]
fn a_failure_keeps_its_causes() {
    std::thread::scope(|scope| {
        let mut handles = Handles::new(scope);
        let said = [
            r#"{"jsonrpc":"2.0","method":"error","params":{"message":"m","trace":["t"],"transient":true}}"#,
            r#"{"jsonrpc":"2.0","method":"state","params":{"type":"stopped","result":{"message":"m","trace":["t"],"transient":true}}}"#,
        ];
        for said in said {
            let script = format!("read -r init; echo '{said}'");
            let id = handles.spawn(move |talk, over| serve(&script, talk, over)).to_string();
            let mut error = ToolError::new("m");
            (error.trace, error.transient) = (vec!["t".to_owned()], true);
            assert_eq!(handles.wait(&id, LONG), Ok(Status::Failed(error)));
        }
    });
}

#[test]
fn a_tool_that_is_silent_can_be_aborted() {
    std::thread::scope(|scope| {
        let mut handles = Handles::new(scope);
        let script = "read -r init; trap '' TERM; sleep 100";
        let id = handles.spawn(|talk, over| serve(script, talk, over)).to_string();
        assert_eq!(handles.abort(&id), Ok(()));
        assert_eq!(handles.abort(&id), Err(HandleError::Unknown(id)));
        let silent = handles.spawn(|talk, over| serve("sleep 100", talk, over)).to_string();
        let ended = handles.wait(&silent, LONG);
        let is_long = |error: &ToolError| error.message.contains("too long");
        assert!(matches!(&ended, Ok(Status::Failed(error)) if is_long(error)), "{ended:?}");
    });
}
