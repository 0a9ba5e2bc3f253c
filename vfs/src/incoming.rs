//! Parses the lines of a tool, and writes the replies to them (spec §14.1). Used by `session` and `service`.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::fault::{Code, Fault};
use crate::message::{Contents, JSON_RPC, State, ToolError, to_line};

/// The id of a request: a number or a string, kept as it was written.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct Id(Box<RawValue>);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let written = Box::<RawValue>::deserialize(from)?;
        match written.get().as_bytes() {
            [b'"' | b'-' | b'0'..=b'9', ..] => Ok(Self(written)),
            _ => Err(D::Error::custom("an `id` is a number or a string")),
        }
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for Id {}

/// A request from a tool.
#[derive(Debug)]
pub struct Request {
    /// The id that the reply will carry.
    pub id: Id,
    /// `capability.operation`.
    pub method: String,
    /// An object; its form depends on the method.
    pub params: Box<RawValue>,
}

impl Request {
    /// A request that did not come in a line, so that no reply needs its id.
    pub fn new(method: impl Into<String>, params: Box<RawValue>) -> Self {
        Self { id: Id(Box::default()), method: method.into(), params }
    }
}

/// A message from a tool.
#[derive(Debug)]
pub enum Incoming {
    /// A request.
    Request(Request),
    /// `result`: the tool is done.
    Result(Contents),
    /// `error`: the tool failed.
    Error(ToolError),
    /// `state`: the tool goes on, waits for an answer, or has stopped.
    State(State),
    /// `cancel`: the tool no longer wants the reply it waits for.
    Cancel,
    /// A notification of another protocol.
    Other,
}

/// A line that is not a message.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The id of the request that the tool may take the reply for.
    pub id: Option<Id>,
    /// The error.
    pub fault: Fault,
}

/// The longest line, in bytes, from a side whose files have at most `limit` bytes: a byte of a file can take six
/// characters, and the rest of the line needs room too.
#[must_use]
pub fn longest_line(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX).saturating_mul(6).saturating_add(1 << 20)
}

/// A line of JSON-RPC, before its method is known. Without an `id` it is a notification.
#[derive(Debug)]
pub struct Call<'a> {
    /// The id that the reply will carry.
    pub id: Option<Id>,
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// The parameters, if there are any.
    pub params: Option<&'a RawValue>,
}

/// Parses a line of JSON-RPC, without its line end.
///
/// # Errors
/// [`Malformed`]: the line is not JSON, or not one call.
pub fn call(line: &[u8]) -> Result<Call<'_>, Malformed> {
    // serde would accept a list as an object whose field names are left out.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(malformed(None, "not a message: no object".to_owned()));
    }
    let line: Line<'_> = serde_json::from_slice(line)
        .map_err(|error| malformed(id_of(line), format!("not a message: {error}")))?;
    if line.jsonrpc.as_deref() != Some(JSON_RPC) {
        return Err(malformed(line.id, format!("a message has `\"jsonrpc\": \"{JSON_RPC}\"`")));
    }
    match line.method {
        Some(method) => Ok(Call { id: line.id, method, params: line.params }),
        None => Err(malformed(line.id, "a message has a `method`".to_owned())),
    }
}

/// Parses a line of a tool's output, without its line end.
///
/// # Errors
/// [`Malformed`]: the line is not JSON, or not a message of this protocol.
pub fn parse(line: &[u8]) -> Result<Incoming, Malformed> {
    let call = call(line)?;
    let method = call.method;
    let params = call.params.map_or("{}", RawValue::get);
    if matches!(&*method, "result" | "error" | "state") && params.starts_with('[') {
        return Err(malformed(call.id, format!("the parameters of `{method}` are no object")));
    }
    let wrong = |error| malformed(None, format!("the parameters of `{method}`: {error}"));
    Ok(match (&*method, call.id) {
        ("result", _) => {
            Incoming::Result(serde_json::from_str::<Final>(params).map_err(wrong)?.content)
        }
        ("error", _) => Incoming::Error(serde_json::from_str(params).map_err(wrong)?),
        ("state", _) => Incoming::State(serde_json::from_str(params).map_err(wrong)?),
        ("cancel", _) => Incoming::Cancel,
        (_, Some(id)) => {
            let params = call.params.map(ToOwned::to_owned).unwrap_or_default();
            Incoming::Request(Request { id, method: method.into_owned(), params })
        }
        (name, None) if name.contains('.') => {
            return Err(malformed(None, format!("the request `{name}` has no `id`")));
        }
        _ => Incoming::Other,
    })
}

fn malformed(id: Option<Id>, why: String) -> Malformed {
    Malformed { id, fault: Fault::new(Code::Malformed, why) }
}

/// The id in a line that is otherwise not a message.
fn id_of(line: &[u8]) -> Option<Id> {
    #[derive(Deserialize)]
    struct Named {
        id: Id,
    }
    serde_json::from_slice::<Named>(line).ok().map(|named| named.id)
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    id: Option<Id>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Final {
    #[serde(default)]
    content: Contents,
}

/// The line that answers a request; `id` is `None` if it could not be read.
#[must_use]
pub fn reply(id: Option<&Id>, answer: Result<&RawValue, &Fault>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Reply<'a> {
        jsonrpc: &'a str,
        id: Option<&'a Id>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a Fault>,
    }
    to_line(&Reply { jsonrpc: JSON_RPC, id, result: answer.ok(), error: answer.err() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn malformed(line: &str, id: Option<Id>) {
        let error = parse(line.as_bytes()).expect_err(line);
        assert_eq!((error.id, error.fault.code), (id, Code::Malformed), "{line}");
    }

    // conformance: d11-23, d11-27, d11-28, d11-29, d11-158, d11-189, d11-211
    #[test]
    fn what_is_no_message_is_answered_with_the_id_it_has() {
        let seven: Option<Id> = serde_json::from_str("7").expect("an id");
        for line in ["", "x", "[]", "7", "null", "{", "{}", r#"{"jsonrpc":"2.0"}"#, "\u{0}"] {
            malformed(line, None);
        }
        malformed(r#"{"id":7,"method":"fs.read"}"#, seven.clone());
        malformed(r#"{"jsonrpc":"1.0","id":7,"method":"fs.read"}"#, seven.clone());
        malformed(r#"{"jsonrpc":"2.0","id":7}"#, seven.clone());
        malformed(r#"["2.0",7,"fs.read",{"path":"a"}]"#, None);
        malformed(r#"{"jsonrpc":"2.0","method":"result","params":[{"text":"a"}]}"#, None);
        malformed(r#"{"jsonrpc":"2.0","id":7,"method":7}"#, seven);
        malformed(r#"{"jsonrpc":"2.0","method":"fs.read","params":{}}"#, None);
        malformed(r#"{"jsonrpc":"2.0","id":null,"method":"fs.read"}"#, None);
        malformed(r#"{"jsonrpc":"2.0","id":{},"method":"fs.read"}"#, None);
        malformed(r#"[{"jsonrpc":"2.0","id":7,"method":"fs.read"}]"#, None);
        malformed(r#"{"jsonrpc":"2.0","method":"result","params":{"content":7}}"#, None);
        for more in ["", r#","question":null"#, r#","question":["a","b"]"#] {
            let state = format!(r#"{{"type":"waiting"{more}}}"#);
            malformed(&format!(r#"{{"jsonrpc":"2.0","method":"state","params":{state}}}"#), None);
        }
    }

    // conformance: d11-22, d11-29, d11-31
    #[test]
    fn ids_are_numbers_or_strings_and_come_back_as_they_are() {
        let exact = ["1", "-1", "1.50", "1e400", "-0", "123456789012345678901234567890"];
        for id in exact.into_iter().chain([r#""a""#, r#""\u0061\ud800""#, r#""""#]) {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"fs.read","more":[1]}}"#);
            let Ok(Incoming::Request(request)) = parse(line.as_bytes()) else { panic!("{id}") };
            let line = reply(Some(&request.id), Err(&Fault::cancelled()));
            let line = String::from_utf8(line).expect("UTF-8");
            assert!(
                line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)),
                "{line}"
            );
        }
    }

    // conformance: d11-34, d11-35, d11-37
    // conformance: d11-36
    #[test]
    fn a_result_is_blocks_or_one_string() {
        let parsed = |content: &str| {
            let line = format!(
                r#"{{"jsonrpc":"2.0","method":"result","params":{{"content":{content}}}}}"#
            );
            let Ok(Incoming::Result(contents)) = parse(line.as_bytes()) else {
                panic!("{content}")
            };
            contents
        };
        let blocks = r#"[{"type":"text","text":"a"},{"type":"resource","uri":"x"},{"type":"text","text":"b"}]"#;
        assert_eq!(parsed(blocks).to_text(), "a\nb");
        assert_eq!(parsed(r#""a""#), parsed(r#"[{"type":"text","text":"a"}]"#));
        assert_eq!(parsed("null"), Contents::default());
        let later = r#"[{"type":"image","data":"eA=="},{"type":"text","text":"b"}]"#;
        assert_eq!(parsed(later).to_text(), "{\"data\":\"eA==\",\"type\":\"image\"}\nb");
        let line = br#"{"jsonrpc":"2.0","method":"result"}"#;
        let Ok(Incoming::Result(contents)) = super::parse(line) else { panic!("no result") };
        assert_eq!(contents.to_text(), "");
    }

    // conformance: d11-125
    #[test]
    fn a_stopped_tool_has_a_result_or_an_error() {
        let parsed = |state: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"state","params":{state}}}"#);
            let Ok(Incoming::State(state)) = super::parse(line.as_bytes()) else {
                panic!("{state}")
            };
            state
        };
        let error = ToolError { trace: vec!["a".to_owned()], ..ToolError::new("no") };
        let failed = State::Stopped { result: Err(error) };
        for (text, expected) in [
            (r#"{"type":"stopped","result":"x"}"#, State::Stopped { result: Ok("x".into()) }),
            (
                r#"{"type":"stopped","result":{"Ok":"x"}}"#,
                State::Stopped { result: Ok("x".into()) },
            ),
            (
                r#"{"type":"stopped","result":null}"#,
                State::Stopped { result: Ok(Contents::default()) },
            ),
            (r#"{"type":"stopped","result":{"message":"no","trace":["a"]}}"#, failed.clone()),
            (r#"{"type":"stopped","result":{"Err":{"message":"no","trace":["a"]}}}"#, failed),
            (
                r#"{"type":"running","content":null}"#,
                State::Running { content: Contents::default() },
            ),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        let stopped = State::Stopped { result: Ok("x".into()) };
        let text = serde_json::to_string(&stopped).expect("JSON");
        assert_eq!(parsed(&text), stopped);
    }

    #[test]
    fn messages_of_other_protocols_are_let_pass() {
        let line = br#"{"jsonrpc":"2.0","method":"progress","params":[1]}"#;
        assert!(matches!(parse(line), Ok(Incoming::Other)));
    }
}
