//! A server that stands in for the model of a coding agent: it asks for one shell command, and then ends the turn. It
//! speaks the protocols of Anthropic, `OpenAI` and Google.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// The last words of the model.
pub(crate) const LAST_WORDS: &str = "That was all.";

/// The names that agents give the tool that runs commands.
const SHELLS: [&str; 5] = ["Bash", "bash", "exec_command", "run_shell_command", "shell"];

/// A running server.
pub(crate) struct ModelServer {
    port: u16,
    results: Arc<Mutex<String>>,
}

impl ModelServer {
    /// One whose model wants to run `command`.
    pub(crate) fn start(command: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let results = Arc::default();
        let (shared, command) = (Arc::clone(&results), command.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, command) = (Arc::clone(&shared), command.clone());
                // A client may close the connection at any time.
                thread::spawn(move || serve(&stream, &command, &shared).unwrap_or_default());
            }
        });
        Self { port, results }
    }

    /// Its host and port.
    pub(crate) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.host())
    }

    /// What agents said about the command.
    pub(crate) fn results(&self) -> String {
        self.results.lock().expect("the results").clone()
    }
}

fn serve(stream: &TcpStream, command: &str, results: &Mutex<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let body: Value = serde_json::from_slice(&body(&mut reader)?).unwrap_or_default();
    let result = ["messages", "input", "contents"].iter().find_map(|key| result_in(&body[*key]));
    if let Some(result) = &result {
        results.lock().expect("the results").push_str(&result.to_string());
    }
    let tool = tools(&body).into_iter().find(|name| SHELLS.contains(&name.as_str()));
    let call = tool.filter(|_| result.is_none());
    let (kind, text) = answer(&target, &body, call.as_deref(), command);
    let length = text.len();
    let head = "HTTP/1.1 200 OK\r\nconnection: close";
    let mut stream = stream;
    write!(stream, "{head}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{text}")
}

/// The body of a request, whole or in chunks.
fn body(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut length = Some(0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        match line.split_once(": ") {
            _ if line.is_empty() => break,
            Some(("content-length", count)) => length = count.parse().ok(),
            Some(("transfer-encoding", "chunked")) => length = None,
            _ => {}
        }
    }
    let mut bytes = Vec::new();
    loop {
        let mut chunk = vec![0; length.unwrap_or_default()];
        if length.is_none() {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let count = usize::from_str_radix(line.trim(), 16).unwrap_or_default();
            chunk = vec![0; count + 2];
        }
        reader.read_exact(&mut chunk)?;
        let is_last = length.is_some() || chunk.len() == 2;
        chunk.truncate(chunk.len() - if length.is_none() { 2 } else { 0 });
        bytes.append(&mut chunk);
        if is_last {
            return Ok(bytes);
        }
    }
}

/// The message with the result of a command.
fn result_in(messages: &Value) -> Option<&Value> {
    let signs =
        ["\"tool_result\"", "\"role\":\"tool\"", "function_call_output", "functionResponse"];
    let is_result = |message: &&Value| {
        let text = message.to_string();
        signs.iter().any(|sign| text.contains(sign))
    };
    messages.as_array()?.iter().rev().find(is_result)
}

/// The names of the tools that the agent offers.
fn tools(body: &Value) -> Vec<String> {
    let groups = body["tools"].as_array().into_iter().flatten();
    let declared = |tool: &Value| {
        let inner = tool["functionDeclarations"].as_array().cloned().unwrap_or_default();
        let own = [tool["name"].clone(), tool["function"]["name"].clone()];
        own.into_iter().chain(inner.iter().map(|inner| inner["name"].clone())).collect::<Vec<_>>()
    };
    groups.flat_map(declared).filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

/// The content type and the text of the answer, with a `call` of that tool, or with the last words.
fn answer(target: &str, body: &Value, call: Option<&str>, command: &str) -> (&'static str, String) {
    let input = json!({ "command": command, "cmd": command, "description": "a command" });
    let events = match target.split('?').next().unwrap_or_default() {
        path if path.ends_with("/v1/messages") => anthropic(call, &input),
        path if path.ends_with("/chat/completions") => chat(call, &input),
        path if path.ends_with("/responses") => responses(call, &input),
        path if path.contains("enerateContent") => vec![("", google(call, &input))],
        _ => return ("application/json", "{}".to_owned()),
    };
    let is_stream = body["stream"] == true || target.contains("streamGenerate");
    if !is_stream {
        let last = events.last().map(|(_, event)| event.to_string());
        return ("application/json", last.unwrap_or_default());
    }
    let text = |(name, event): &(&str, Value)| match *name {
        "" => format!("data: {event}\n\n"),
        name => format!("event: {name}\ndata: {event}\n\n"),
    };
    let end = if target.contains("/chat/completions") { "data: [DONE]\n\n" } else { "" };
    ("text/event-stream", events.iter().map(text).collect::<String>() + end)
}

fn anthropic(call: Option<&str>, input: &Value) -> Vec<(&'static str, Value)> {
    let (block, delta, stop) = match call {
        Some(name) => (
            json!({ "type": "tool_use", "id": "toolu_1", "name": name, "input": {} }),
            json!({ "type": "input_json_delta", "partial_json": json!({
                "command": input["command"], "description": "a command" }).to_string() }),
            "tool_use",
        ),
        None => (
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": LAST_WORDS }),
            "end_turn",
        ),
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    let names = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    names.into_iter().zip(events).collect()
}

fn chat(call: Option<&str>, input: &Value) -> Vec<(&'static str, Value)> {
    let (delta, stop) = match call {
        Some(name) => {
            let function = json!({ "name": name, "arguments": input.to_string() });
            let call =
                json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
            (json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls")
        }
        None => (json!({ "role": "assistant", "content": LAST_WORDS }), "stop"),
    };
    let chunk = |delta: &Value, stop: Option<&str>| {
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "message": delta, "finish_reason": stop }] })
    };
    vec![("", chunk(&delta, None)), ("", chunk(&json!({}), Some(stop)))]
}

fn responses(call: Option<&str>, input: &Value) -> Vec<(&'static str, Value)> {
    let item = match call {
        Some(name) => json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name,
            "arguments": input.to_string(), "status": "completed",
        }),
        None => json!({
            "type": "message", "id": "m_1", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": LAST_WORDS, "annotations": [] }],
        }),
    };
    let response = json!({
        "id": "r_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "output": [item],
        "usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 },
    });
    vec![
        ("response.created", json!({ "type": "response.created", "response": { "id": "r_1" } })),
        (
            "response.output_item.done",
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        ),
        ("response.completed", json!({ "type": "response.completed", "response": response })),
    ]
}

fn google(call: Option<&str>, input: &Value) -> Value {
    let part = match call {
        Some(name) => json!({ "functionCall": { "name": name, "args": {
            "command": input["command"], "description": "a command" } } }),
        None => json!({ "text": LAST_WORDS }),
    };
    json!({
        "candidates": [{
            "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
    })
}
