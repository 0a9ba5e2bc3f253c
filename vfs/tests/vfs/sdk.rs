//! The client for tools in Rust, against a service at the other end of a pipe, and the example `edit`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::thread;

use jp_confine_vfs::incoming::{self, Incoming};
use jp_confine_vfs::message::{self, Block, Contents, Init, State, ToolCall};
use jp_confine_vfs::method::{GrepParams, Kind, RunParams};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::sdk::{Client, Error, ErrorKind};
use jp_confine_vfs::service::Patient;
use serde_json::{Value, json};

use crate::both::{POLICY, Place};
use crate::edit_example::edit;

type Host = Client<BufReader<PipeReader>, PipeWriter>;

/// The outcome of one call of a tool.
#[derive(Debug, PartialEq)]
struct Told {
    /// The lines of tool and host, in order.
    lines: Vec<String>,
    /// The files of the project afterwards.
    tree: BTreeMap<String, Value>,
}

impl Told {
    /// The tool's last message.
    fn last(&self) -> Incoming {
        let last = self.lines.last().map(String::as_bytes).unwrap_or_default();
        incoming::parse(last).expect("a message")
    }
}

/// Serves `place` to the client at the other ends of the pipes, until its last message. Answers questions with
/// `answer`.
fn host(
    place: &Place,
    call: ToolCall,
    answer: Option<&str>,
    from_tool: PipeReader,
    mut to_tool: PipeWriter,
) -> Told {
    let mut nobody = Nobody;
    let mut service = place.service(&mut nobody);
    let mut lines = Vec::new();
    let mut reply = message::notification("init", &Init::new(call));
    let mut from_tool = BufReader::new(from_tool).lines();
    loop {
        lines.push(String::from_utf8(reply.clone()).expect("UTF-8"));
        to_tool.write_all(&reply).expect("written");
        let Some(line) = from_tool.next() else { break };
        lines.push(line.expect("a line"));
        let said = lines.last().map(String::as_bytes).unwrap_or_default();
        reply = match incoming::parse(said).expect("a message") {
            Incoming::Request(request) => {
                let result = service.answer(&request, &mut Patient);
                let waiting = json!({"request_id": request.id, "reason": "awaiting"});
                let pending = message::notification("pending", &waiting);
                let result = result.as_deref();
                [pending, incoming::reply(Some(&request.id), result)].concat()
            }
            Incoming::State(State::Waiting { .. }) => match answer {
                Some(answer) => message::notification("apply", &json!({"input": answer})),
                None => message::notification("cancel", &json!({})),
            },
            _ => break,
        };
    }
    Told { lines, tree: place.tree() }
}

/// Calls `tool` with the project on disk and in memory. Both outcomes must be equal; returns one of them.
fn call(call: &ToolCall, answer: Option<&'static str>, tool: impl Fn(Host)) -> Told {
    let [on_disk, in_memory] = [Place::on_disk, Place::in_memory].map(|place| {
        let (from_tool, to_host) = std::io::pipe().expect("a pipe");
        let (from_host, to_tool) = std::io::pipe().expect("a pipe");
        let call = call.clone();
        let host = thread::spawn(move || host(&place(POLICY), call, answer, from_tool, to_tool));
        tool(Client::new(BufReader::new(from_host), to_host).expect("a host"));
        host.join().expect("a host")
    });
    assert_eq!(on_disk, in_memory);
    on_disk
}

// conformance: d11-2, d11-10, d11-175, d11-176, d11-177, d11-178, d11-179, d11-180, d11-208, d11-215
#[test]
fn every_method_has_its_function() {
    let mut with_arguments = ToolCall::new("t");
    with_arguments.arguments = json!({"a": 1});
    let told = call(&with_arguments, None, ask);
    assert!(
        matches!(told.last(), Incoming::Result(contents) if contents == Contents::text("done"))
    );
    assert_eq!(told.tree["rw/kept/file"], json!({"content": "kept", "size": 4}));
    assert_eq!(told.tree.get("rw/new"), None);
}

// conformance: d11-101, d11-176, d11-201
/// A newer host has fields and messages that this client does not know.
#[test]
fn a_client_reads_what_a_newer_host_says() {
    let lines = [
        json!({"jsonrpc": "2.0", "method": "init", "params": {
            "tool": {"name": "t", "arguments": {}, "answers": {}, "options": {}, "more": 1},
            "protocol_version": "0.2.0", "more": 1}}),
        json!({"jsonrpc": "2.0", "method": "progress", "params": {"more": 1}}),
        json!({"jsonrpc": "2.0", "id": 1, "more": 1, "result": {"exists": true, "more": 1}}),
    ];
    let lines = lines.map(|line| format!("{line}\n")).concat();
    let mut host = Client::new(lines.as_bytes(), std::io::sink()).expect("a host");
    assert_eq!((host.tool().name.as_str(), host.protocol_version()), ("t", "0.2.0"));
    assert!(host.exists("a").expect("an answer"));
}

/// The kind of the error of a request that fails.
#[track_caller]
fn kind_of<T: Debug>(answer: Result<T, Error>) -> ErrorKind {
    answer.expect_err("an error").kind()
}

/// A tool that uses each method.
fn ask(mut host: Host) {
    assert_eq!((host.tool().name.as_str(), &host.tool().arguments["a"]), ("t", &json!(1)));
    assert_eq!(host.read("rw/kept/file").expect("text"), "kept");
    assert_eq!(kind_of(host.read("rw/bytes")), ErrorKind::NotText);
    assert_eq!(host.read_bytes("rw/bytes").expect("bytes"), b"\xff\xfe");
    host.write("rw/new", b"\xff").expect("written");
    assert_eq!(host.metadata("rw/new").map(|it| (it.kind, it.size)).expect("it"), (Kind::File, 1));
    host.rename("rw/new", "rw/newer").expect("renamed");
    assert!(host.exists("rw/newer").expect("known") && !host.exists("rw/new").expect("known"));
    host.delete("rw/newer").expect("deleted");
    assert_eq!(host.list_dir("rw/sub").expect("listed")[0].path, "c.txt");
    let found = host.grep(&GrepParams::new("^fn"));
    assert_eq!(found.expect("found")[0].lines[0].content, "fn spring() {}");
    assert_eq!(kind_of(host.run(&RunParams::new("true"))), ErrorKind::UnknownMethod);
    assert_eq!(kind_of(host.read("rw/gone")), ErrorKind::NotFound);
    let not_text = OsStr::from_bytes(b"rw/\xff");
    assert_eq!(kind_of(host.read(not_text)), ErrorKind::BadParams);
    assert_eq!(kind_of(host.rename("rw/kept/file", not_text)), ErrorKind::BadParams);
    let refused = host.read("none/secret.txt").expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert!(refused.to_string().contains("does not grant it"), "{refused}");
    host.result(vec![Block::text("done")]).expect("told");
}

/// Calls the example to change `spring` in a file. Returns its last message and the file's contents.
fn edited(path: &str, answers: Value, answer: Option<&'static str>) -> (String, Value) {
    let changes = "@@ -1,2 +1,2 @@\n-spring\n+SPRING\n summer\n";
    let arguments = json!({"path": path, "patch": changes});
    let mut edit_call = ToolCall::new("edit");
    (edit_call.arguments, edit_call.answers) = (arguments, answers);
    let mut told = call(&edit_call, answer, |host| edit(host).expect("a host"));
    let said = match told.last() {
        Incoming::Result(contents) => contents.to_text(),
        Incoming::Error(error) => error.message,
        other => panic!("{other:?}"),
    };
    (said, told.tree.remove(path).unwrap_or_default()["content"].take())
}

// conformance: d11-120, d11-145
#[test]
fn the_example_asks_before_it_overwrites() {
    let (before, after) = (json!("spring\nsummer\n"), json!("SPRING\nsummer\n"));
    let modified = ("Modified rw/seasons".to_owned(), after);
    let left = ("rw/seasons was left as it is".to_owned(), before);
    assert_eq!(edited("rw/seasons", json!({}), Some("y")), modified);
    assert_eq!(edited("rw/seasons", json!({}), Some("n")), left);
    assert_eq!(edited("rw/seasons", json!({}), None), left);
    assert_eq!(edited("rw/seasons", json!({"overwrite": true}), None), modified);
    for (path, said) in [
        ("a.txt", "cannot update a.txt"),
        ("rw/b.rs", "error applying hunk"),
        ("rw/bytes", "not UTF-8"),
        ("rw/gone", "does not exist"),
        ("rw/sub", "is a directory"),
        ("none/secret.txt", "cannot read none/secret.txt"),
    ] {
        let (told, _) = edited(path, json!({"overwrite": true}), Some("y"));
        assert!(told.contains(said), "{path}: {told}");
    }
}
