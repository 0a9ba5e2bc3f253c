//! The client for tools in Rust, against a service at the other end of a pipe; and the example.

use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::thread::{self, JoinHandle};

use jp_confine_vfs::Code;
use jp_confine_vfs::message::{self, Contents, Incoming, Init, State, ToolCall};
use jp_confine_vfs::method::{GrepParams, Kind, RunParams};
use jp_confine_vfs::person::Nobody;
use jp_confine_vfs::sdk::{Client, Error};
use jp_confine_vfs::service::Patient;
use serde_json::{Value, json};

use crate::both::{POLICY, Place};
use crate::edit_example::edit;

type Host = Client<BufReader<PipeReader>, PipeWriter>;

/// A client, and what its tool said last. Questions are answered with `answer`.
fn connect(call: ToolCall, answer: Option<&'static str>) -> (Host, JoinHandle<Incoming>) {
    let (from_tool, to_host) = std::io::pipe().expect("a pipe");
    let (from_host, mut to_tool) = std::io::pipe().expect("a pipe");
    let host = thread::spawn(move || {
        let place = Place::in_memory(POLICY);
        let mut nobody = Nobody;
        let mut service = place.service(&mut nobody);
        let init = Init { tool: call, protocol_version: "0.1.0".to_owned() };
        to_tool.write_all(&message::notification("init", &init)).expect("written");
        for line in BufReader::new(from_tool).lines() {
            let reply = match message::parse(line.expect("a line").as_bytes()).expect("a message") {
                Incoming::Request(request) => {
                    let result = service.answer(&request, &mut Patient);
                    let waiting = json!({"request_id": request.id, "reason": "awaiting"});
                    let pending = message::notification("pending", &waiting);
                    let result = result.as_deref();
                    [pending, message::reply(Some(&request.id), result)].concat()
                }
                Incoming::State(State::Waiting { .. }) => match answer {
                    Some(answer) => message::notification("apply", &json!({"input": answer})),
                    None => message::notification("cancel", &json!({})),
                },
                last => return last,
            };
            to_tool.write_all(&reply).expect("written");
        }
        Incoming::Other
    });
    (Client::new(BufReader::new(from_host), to_host).expect("a host"), host)
}

#[test]
fn every_method_has_its_function() {
    let call = ToolCall { name: "t".to_owned(), arguments: json!({"a": 1}), ..ToolCall::default() };
    let (mut host, end) = connect(call, None);
    assert_eq!((host.tool().name.as_str(), &host.tool().arguments["a"]), ("t", &json!(1)));
    assert_eq!(host.read("rw/kept/file").expect("text"), "kept");
    assert!(matches!(host.read("rw/bytes"), Err(Error::NotText(_))));
    assert_eq!(host.read_bytes("rw/bytes").expect("bytes"), b"\xff\xfe");
    host.write("rw/new", b"\xff").expect("written");
    assert_eq!(host.metadata("rw/new").map(|it| (it.kind, it.size)).expect("it"), (Kind::File, 1));
    host.rename("rw/new", "rw/newer").expect("renamed");
    assert!(host.exists("rw/newer").expect("known") && !host.exists("rw/new").expect("known"));
    host.delete("rw/newer").expect("deleted");
    assert_eq!(host.list_dir("rw/sub").expect("listed")[0].path, "c.txt");
    let found = host.grep(&GrepParams { pattern: "^fn".to_owned(), ..GrepParams::default() });
    assert_eq!(found.expect("found")[0].lines[0].content, "fn spring() {}");
    let refused = host.run(&RunParams { program: "true".to_owned(), ..RunParams::default() });
    assert_eq!(refused.expect_err("refused").code(), Some(Code::UnknownMethod));
    let refused = host.read("none/secret.txt").expect_err("refused");
    assert_eq!(refused.code(), Some(Code::Denied));
    assert!(refused.to_string().contains("does not grant it"), "{refused}");
    host.result("done").expect("told");
    let last = end.join().expect("a host");
    assert!(matches!(last, Incoming::Result(contents) if contents == Contents::text("done")));
}

/// What the example says last, called to change `spring` in a file.
fn edited(path: &str, answers: Value, answer: Option<&'static str>) -> String {
    let changes = "@@ -1,2 +1,2 @@\n-spring\n+SPRING\n summer\n";
    let arguments = json!({"path": path, "patch": changes});
    let call = ToolCall { name: "edit".to_owned(), arguments, answers, ..ToolCall::default() };
    let (host, end) = connect(call, answer);
    edit(host).expect("a host");
    match end.join().expect("a host") {
        Incoming::Result(contents) => contents.to_text(),
        Incoming::Error(error) => error.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_example_asks_before_it_overwrites() {
    assert_eq!(edited("rw/seasons", json!({}), Some("y")), "Modified rw/seasons");
    assert_eq!(edited("rw/seasons", json!({}), Some("n")), "rw/seasons was left as it is");
    assert_eq!(edited("rw/seasons", json!({}), None), "rw/seasons was left as it is");
    assert_eq!(edited("rw/seasons", json!({"overwrite": true}), None), "Modified rw/seasons");
    assert!(edited("a.txt", json!({"overwrite": true}), None).starts_with("cannot update a.txt"));
    assert!(edited("rw/b.rs", json!({}), Some("y")).contains("hunk"));
}
