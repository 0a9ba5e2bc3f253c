//! `serve`: the answers of `check`, `authorize`, `explain` and `batch` as lines of JSON-RPC (spec §9.5, §15, §18).

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli_status::product;
use crate::run::wait;
use crate::schema;
use crate::scratch::Scratch;

/// `.` may be read, `work` written; `work/asked` takes a prompt, and `work/kept` may not be touched.
const POLICY: &str = "
[[access.fs]]
path = '.'
read = true

[[access.fs]]
path = 'work'
read = true
write = true

[file_policy]
prompt_paths = ['<workspace>/work/asked*']
deny_paths = ['<workspace>/work/kept']
";

fn workspace() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("ws/jp-confine.toml", POLICY);
    for name in ["asked", "kept", "plain", "dir/file"] {
        scratch.write(&format!("ws/work/{name}"), "");
    }
    symlink(scratch.out(), scratch.path("ws/link")).expect("a link");
    scratch
}

/// A server, and the pipes to it.
struct Server {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Server {
    fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let mut command = product(scratch, &[&["serve"], options].concat()).command();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
        let requests = child.stdin.take().expect("a pipe");
        let replies = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, requests, replies }
    }

    fn send(&mut self, line: &str) {
        self.requests.write_all(format!("{line}\n").as_bytes()).expect("a server that reads");
    }

    /// The next reply, which fits its schema.
    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("a reply");
        let reply = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        schema::checked("serve-reply.v1", &reply);
        reply
    }

    /// The reply to a request, which fits its schema if it is `right`.
    fn ask(&mut self, method: &str, params: &Value, right: bool) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        if right {
            schema::checked("serve-request.v1", &request);
        }
        self.send(&request.to_string());
        self.reply()
    }

    /// The result of a request that succeeds.
    fn result(&mut self, method: &str, params: &Value) -> Value {
        let mut reply = self.ask(method, params, true);
        assert!(reply.get("error").is_none(), "{reply}");
        reply["result"].take()
    }

    /// Ends the input, and returns the exit status.
    fn end(self) -> i32 {
        let Self { mut child, requests, .. } = self;
        drop(requests);
        wait(&mut child, Duration::from_secs(60), "serve").code().expect("a status")
    }
}

/// What a command prints with `--json`.
fn printed(scratch: &Scratch, line: &str) -> Value {
    let words: Vec<&str> = line.split_whitespace().collect();
    serde_json::from_str(&product(scratch, &words).run().stdout).expect("JSON")
}

#[test]
fn answers_are_those_of_the_commands() {
    let scratch = workspace();
    let mut server = Server::start(&scratch, &[]);
    let paths = ["work/plain", "work/kept", "work/asked", "../x", "link/secret", "new", "/etc"];
    for capability in ["read", "create", "update", "delete", "execute"] {
        let params = json!({"capability": capability, "paths": paths});
        let line = format!("check --json {capability} {}", paths.join(" "));
        assert_eq!(server.result("check", &params), printed(&scratch, &line), "{capability}");
    }
    for path in paths {
        let explained = printed(&scratch, &format!("explain --json {path}"));
        assert_eq!(server.result("explain", &json!({"path": path})), explained, "{path}");
    }
    for access in ["read", "write"] {
        for path in ["ws/work/new", "ws/work/kept", "ws/link/secret", "out/secret", "ws/work/x/"] {
            let path = scratch.path(path);
            let line = format!("authorize --json --source t {access} {}", path.display());
            let params = json!({"access": access, "path": path, "source": "t"});
            let answer = server.result("authorize", &params);
            assert_eq!(answer, printed(&scratch, &line)[0], "{access} {path:?}");
        }
    }
    assert_eq!(server.end(), 0);
}

#[test]
fn the_policy_of_a_tool_and_further_folders_count() {
    let scratch = workspace();
    let policy = "[[tools.edit.access.fs]]\npath = 'dir'\nwrite = true\n";
    scratch.write("ws/jp-confine.toml", policy);
    let mut server = Server::start(&scratch, &["--tool", "edit"]);
    let check = json!({"capability": "create", "paths": ["dir/a", "b", "/etc/passwd"]});
    let checked = server.result("check", &check);
    let verdicts: Vec<&Value> = (0..3).map(|at| &checked[at]["verdict"]).collect();
    assert_eq!(json!(verdicts), json!(["allow", "deny", "deny"]));
    let write = |name: &str| json!({"access": "write", "path": scratch.path(name)});
    assert_eq!(server.result("authorize", &write("ws/dir/a"))["ok"], json!(true));
    let refusal = server.result("authorize", &write("ws/b"));
    assert!(refusal["message"].as_str().expect("words").starts_with("edit: "), "{refusal}");
    let mut server = Server::start(&scratch, &["--root", scratch.out().to_str().expect("UTF-8")]);
    for (name, ok) in [("out/target", true), ("tmp/x", false)] {
        assert_eq!(server.result("authorize", &write(name))["ok"], json!(ok), "{name}");
    }
}

#[test]
fn links_may_leave_only_if_the_request_says_so() {
    let scratch = workspace();
    let mut server = Server::start(&scratch, &[]);
    let mut ask = |more: Value| {
        let mut params = json!({"access": "read", "path": scratch.path("ws/link/secret")});
        params.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("one"));
        server.ask("authorize", &params, false)
    };
    let allowed = ask(json!({"allow_symlinks_outside_workspace": true}));
    assert_eq!(allowed["result"]["resolved_path"], json!(scratch.out().join("secret")));
    for more in [json!({}), json!({"allow_symlinks_outside_workspace": false})] {
        assert_eq!(ask(more)["result"]["reason"], json!("symlink_escapes_workspace"));
    }
    assert_eq!(ask(json!({"allow_symlinks_outside_workspace": "yes"}))["error"]["code"], -32602);
}

/// The verdict on operations, written `KIND PATH [MOVE_TO]`, those on each, and the message.
fn batch(server: &mut Server, operations: &[&str]) -> (Value, Vec<Value>, String) {
    let operation = |words: &&str| {
        let words: Vec<&str> = words.split(' ').collect();
        let mut operation = json!({"operation": words[0], "path": words[1]});
        if let Some(to) = words.get(2) {
            operation["move_to"] = json!(to);
        }
        operation
    };
    let operations: Vec<Value> = operations.iter().map(operation).collect();
    let judged = server.result("batch", &json!({"operations": operations}));
    let each = judged["operations"].as_array().expect("verdicts");
    assert_eq!(each.len(), operations.len());
    let verdicts = each.iter().map(|one| one["verdict"].clone()).collect();
    (judged["verdict"].clone(), verdicts, judged["message"].as_str().unwrap_or("").to_owned())
}

// conformance: tiers-54
#[test]
fn a_batch_is_decided_as_one_command() {
    let scratch = workspace();
    scratch.write("ws/work/asked too", "");
    let mut server = Server::start(&scratch, &[]);
    let mut row = |operations: &[&str], verdict: &str, each: &[&str]| {
        let (whole, verdicts, message) = batch(&mut server, operations);
        assert_eq!((&whole, &json!(verdicts)), (&json!(verdict), &json!(each)), "{operations:?}");
        assert_eq!(message.is_empty(), verdict == "allow", "{message}");
        message
    };
    row(&["read work/plain", "write work/new", "delete work/plain"], "allow", &["allow"; 3]);
    // One denial denies all, and only it is in the message.
    let message = row(
        &["read work/asked", "write plain", "read work/plain"],
        "deny",
        &["prompt", "deny", "allow"],
    );
    assert!(message.starts_with("cannot update plain: "), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    // One prompt is for all, with each path as given and as resolved.
    let message = row(
        &["write ./work//asked", "read work/plain", "read work/asked"],
        "prompt",
        &["prompt", "allow", "prompt"],
    );
    let place = scratch.path("ws/work/asked");
    let [first, second] = message.lines().collect::<Vec<_>>()[..] else { panic!("{message}") };
    assert!(first.starts_with(&format!("update ./work//asked ({}): ", place.display())), "{first}");
    assert!(second.starts_with("read work/asked ("), "{second}");
    // A move is one unit of its ends.
    row(&["move work/plain work/other"], "allow", &["allow"]);
    row(&["update work/plain work/other"], "allow", &["allow"]);
    row(&["move work/plain work/asked"], "prompt", &["prompt"]);
    row(&["move work/plain elsewhere"], "deny", &["deny"]);
    row(&["update jp-confine.toml work/other"], "deny", &["deny"]);
    row(&["read work/plain", "move work/kept work/other"], "deny", &["allow", "deny"]);
    assert_eq!(batch(&mut server, &[]).0, json!("deny"));
}

/// A move of a directory is judged with what is in it, as rename(2) of a program is.
#[test]
fn a_move_must_not_free_what_is_withheld() {
    let scratch = workspace();
    let policy = POLICY.replace("work/kept", "work/dir/file");
    scratch.write("ws/jp-confine.toml", &policy);
    let mut server = Server::start(&scratch, &[]);
    let (verdict, _, message) = batch(&mut server, &["move work/dir work/free"]);
    assert_eq!(verdict, json!("deny"));
    assert!(message.starts_with("cannot move work/dir to work/free: "), "{message}");
    assert_eq!(batch(&mut server, &["move work/plain work/free"]).0, json!("allow"));
}

#[test]
fn a_line_that_is_no_request_leaves_the_session_usable() {
    let scratch = workspace();
    let mut server = Server::start(&scratch, &[]);
    let check = r#""jsonrpc":"2.0","method":"check","params":{"capability":"read","paths":["a"]}"#;
    for (line, code, id) in [
        ("x".to_owned(), -32600, json!(null)),
        ("[]".to_owned(), -32600, json!(null)),
        (format!("[{{{check},\"id\":1}}]"), -32600, json!(null)),
        (format!("{{{check}}}"), -32600, json!(null)),
        (r#"{"id":"a","method":"check"}"#.to_owned(), -32600, json!("a")),
        (r#"{"jsonrpc":"2.0","id":2,"method":"chekc"}"#.to_owned(), -32601, json!(2)),
        (r#"{"jsonrpc":"2.0","id":2,"method":"result","params":{}}"#.to_owned(), -32601, json!(2)),
        (r#"{"jsonrpc":"2.0","id":3,"method":"check"}"#.to_owned(), -32602, json!(3)),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"check","params":["read",["a"]]}"#.to_owned(),
            -32602,
            json!(3),
        ),
        (
            format!("{{{},\"id\":3}}", check.replace("\"paths\"", "\"path\":1,\"paths\"")),
            -32602,
            json!(3),
        ),
        (format!("{{{},\"id\":3}}", check.replace("read", "write")), -32602, json!(3)),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"reload","params":{"x":1}}"#.to_owned(),
            -32602,
            json!(3),
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"explain","params":{"path":""}}"#.to_owned(),
            -32602,
            json!(3),
        ),
    ] {
        server.send(&line);
        let reply = server.reply();
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &id), "{line}: {reply}");
    }
    for operation in ["move a", "read a b"] {
        let mut words = operation.split(' ');
        let mut one = json!({"operation": words.next(), "path": words.next()});
        if let Some(to) = words.next() {
            one["move_to"] = json!(to);
        }
        let reply = server.ask("batch", &json!({"operations": [one]}), false);
        assert_eq!(reply["error"]["code"], -32602, "{operation}");
    }
    // A line beyond the limit is answered once, and skipped.
    server.send(&"x".repeat((61 << 20) + 1));
    assert_eq!(server.reply()["error"]["code"], -32600);
    server.send("");
    server.send(&format!("{{{check},\"id\":9}}"));
    assert_eq!(server.reply()["result"][0]["verdict"], json!("allow"));
    assert_eq!(server.end(), 0);
}

/// The reply to the last request comes although its line has no end.
#[test]
fn many_requests_may_wait_for_their_replies() {
    let scratch = workspace();
    let request = |id: usize| {
        let params = json!({"capability": "read", "paths": ["work/plain"]});
        json!({"jsonrpc": "2.0", "id": id, "method": "check", "params": params}).to_string()
    };
    let lines: Vec<String> = (0..2000).map(request).collect();
    let run = product(&scratch, &["serve"]).input(lines.join("\n").as_bytes()).run();
    run.assert_ok();
    let replies: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids: Vec<Value> = replies.iter().map(|reply| reply["id"].clone()).collect();
    assert_eq!(ids, (0..2000).map(|id| json!(id)).collect::<Vec<_>>());
}

#[test]
fn the_policy_is_loaded_again_on_request() {
    let scratch = workspace();
    let mut server = Server::start(&scratch, &[]);
    let params = json!({"capability": "update", "paths": ["work/plain"]});
    let authorize = json!({"access": "write", "path": scratch.path("ws/work/plain")});
    let mut answers = |reload: bool| {
        let reloaded = reload.then(|| server.ask("reload", &json!({}), true));
        let checked = server.ask("check", &params, true);
        let authorized = server.ask("authorize", &authorize, true);
        (reloaded, checked, authorized)
    };
    let (_, checked, authorized) = answers(false);
    assert_eq!(checked["result"][0]["verdict"], json!("allow"));
    assert_eq!(authorized["result"]["ok"], json!(true));
    scratch.write("ws/jp-confine.toml", "[[access.fs]]\npath = '.'\nread = true\n");
    assert_eq!(answers(false).1["result"][0]["verdict"], json!("allow"), "without a reload");
    let (reloaded, checked, authorized) = answers(true);
    assert_eq!(reloaded.expect("a reply")["result"], json!({}));
    assert_eq!(checked["result"][0]["verdict"], json!("deny"));
    assert_eq!(authorized["result"]["ok"], json!(false));
    // Nothing is answered by a policy that somebody has replaced, until the new one can be loaded.
    scratch.write("ws/jp-confine.toml", "[acess]\n");
    let (reloaded, checked, authorized) = answers(true);
    for reply in [reloaded.expect("a reply"), checked, authorized] {
        assert_eq!(reply["error"]["code"], -32603);
        assert!(reply["error"]["message"].as_str().expect("words").contains("acess"), "{reply}");
    }
    fs::remove_file(scratch.path("ws/jp-confine.toml")).expect("a file");
    assert_eq!(answers(true).1["result"][0]["verdict"], json!("allow"));
    assert_eq!(server.end(), 0);
}

/// A path is resolved for each request.
#[test]
fn what_a_path_leads_to_is_looked_up_each_time() {
    let scratch = workspace();
    let mut server = Server::start(&scratch, &[]);
    let params = json!({"capability": "read", "paths": ["moving"]});
    for (target, verdict) in [("work/plain", "allow"), ("../out/secret", "deny")] {
        let link = scratch.path("ws/moving");
        let _ = fs::remove_file(&link);
        symlink(target, link).expect("a link");
        assert_eq!(server.result("check", &params)[0]["verdict"], json!(verdict), "{target}");
    }
}

#[test]
fn a_wrong_policy_keeps_it_from_starting() {
    let scratch = workspace();
    scratch.write("ws/jp-confine.toml", "[acess]\n");
    product(&scratch, &["serve"]).run().assert_code(125).assert_stderr("acess");
}
