//! The messages of tools and hosts: lines of one JSON-RPC 2.0 object each (spec §14.1, §14.2). Both sides use them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The version of the protocol, which `init` carries.
pub const PROTOCOL_VERSION: &str = "0.1.0";

pub(crate) const JSON_RPC: &str = "2.0";

/// Part of a tool's result.
///
/// ```
/// use jp_confine_vfs::message::{Block, Contents};
///
/// let about = serde_json::from_str(r#"{"uri": "file:src/main.rs"}"#)?;
/// let contents = Contents(vec![Block::text("Modified"), Block::Resource(about)]);
/// assert_eq!(contents.to_text(), "Modified");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Block {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// A resource that the text refers to.
    Resource(Map<String, Value>),
    /// A question for a person.
    Question(Map<String, Value>),
    /// A block of a later protocol, as it was written.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl Block {
    /// Text for the reader.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A tool's result. A plain string stands for one block of text.
///
/// ```
/// use jp_confine_vfs::message::Contents;
///
/// assert_eq!(Contents::from("Modified"), Contents::text("Modified"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Contents(pub Vec<Block>);

impl Contents {
    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Block::text(text)])
    }

    /// The text of all text blocks, each on lines of its own. Unknown blocks are shown as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        let text = |block: &Block| match block {
            Block::Text { text } => Some(text.clone()),
            Block::Resource(_) | Block::Question(_) => None,
            Block::Other(_) => serde_json::to_string(block).ok(),
        };
        self.0.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }
}

impl From<&str> for Contents {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Contents {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Vec<Block>> for Contents {
    fn from(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Blocks(Vec<Block>),
            Nothing(()),
        }
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => Self::text(text),
            Form::Blocks(blocks) => Self(blocks),
            Form::Nothing(()) => Self::default(),
        })
    }
}

/// Why a tool failed.
///
/// ```no_run
/// use jp_confine_vfs::message::ToolError;
///
/// let host = jp_confine_vfs::sdk::connect()?;
/// let mut error = ToolError::new("the server does not answer");
/// error.transient = true;
/// host.error(&error)?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ToolError {
    /// The description.
    pub message: String,
    /// The causes, nearest first.
    #[serde(default)]
    pub trace: Vec<String>,
    /// Whether another attempt may succeed.
    #[serde(default)]
    pub transient: bool,
}

impl ToolError {
    /// A failure without causes. Another attempt fails, too.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), trace: Vec::new(), transient: false }
    }
}

/// The state of a tool that lives longer than one call (RFD 009).
///
/// ```no_run
/// use jp_confine_vfs::message::{Contents, State};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let question = serde_json::json!({"id": "overwrite", "text": "Overwrite it?"});
/// let answer = host.state(&State::Waiting { content: Contents::default(), question })?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// It accepts more input.
    Running {
        /// The output so far.
        #[serde(default)]
        content: Contents,
    },
    /// It waits for the answer to one question.
    Waiting {
        /// The output so far.
        #[serde(default)]
        content: Contents,
        /// Exactly one question: an object or a text.
        #[serde(deserialize_with = "one_question")]
        question: Value,
    },
    /// It is done.
    Stopped {
        /// The result, or why it failed.
        #[serde(default = "nothing", with = "outcome")]
        result: Result<Contents, ToolError>,
    },
}

#[expect(clippy::unnecessary_wraps, reason = "the default of a field of this type")]
fn nothing() -> Result<Contents, ToolError> {
    Ok(Contents::default())
}

/// A result as contents, or a failure as an object with a `message`. Rust's own form, `{"Err": …}`, is understood, too.
mod outcome {
    use super::{Contents, Deserialize, Deserializer, Serialize as _, ToolError};
    use serde::Serializer;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Failed(ToolError),
        Tagged(Result<Contents, ToolError>),
        Done(Contents),
    }

    pub(super) fn serialize<S: Serializer>(
        result: &Result<Contents, ToolError>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match result {
            Ok(contents) => contents.serialize(out),
            Err(error) => error.serialize(out),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Result<Contents, ToolError>, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Failed(error) => Err(error),
            Form::Tagged(result) => result,
            Form::Done(contents) => Ok(contents),
        })
    }
}

fn one_question<'de, D: Deserializer<'de>>(from: D) -> Result<Value, D::Error> {
    match Value::deserialize(from)? {
        question @ (Value::Object(_) | Value::String(_)) => Ok(question),
        other => Err(D::Error::custom(format!("`{other}` is not one question"))),
    }
}

/// The first message to a tool.
///
/// ```
/// use jp_confine_vfs::message::{Init, PROTOCOL_VERSION, ToolCall};
///
/// assert_eq!(Init::new(ToolCall::new("edit")).protocol_version, PROTOCOL_VERSION);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Init {
    /// The call that the tool serves.
    pub tool: ToolCall,
    /// [`PROTOCOL_VERSION`].
    pub protocol_version: String,
}

impl Init {
    /// The first message of this version of the protocol.
    #[must_use]
    pub fn new(tool: ToolCall) -> Self {
        Self { tool, protocol_version: PROTOCOL_VERSION.to_owned() }
    }
}

/// A call of a tool.
///
/// ```
/// use jp_confine_vfs::message::ToolCall;
///
/// let mut call = ToolCall::new("edit");
/// call.arguments = serde_json::json!({"path": "src/main.rs"});
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub arguments: Value,
    /// The answers to earlier questions.
    #[serde(default)]
    pub answers: Value,
    /// The configuration.
    #[serde(default)]
    pub options: Value,
}

impl ToolCall {
    /// A call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// The line of a request.
pub(crate) fn request(id: u64, method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'a str,
        id: u64,
        method: &'a str,
        params: &'a P,
    }
    to_line(&Request { jsonrpc: JSON_RPC, id, method, params })
}

/// The line of a notification.
#[must_use]
pub fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Notification<'a, P> {
        jsonrpc: &'a str,
        method: &'a str,
        params: &'a P,
    }
    to_line(&Notification { jsonrpc: JSON_RPC, method, params })
}

/// The line that cancels a call. It has no parameters.
pub(crate) fn cancel() -> Vec<u8> {
    #[derive(Serialize)]
    struct Cancel<'a> {
        jsonrpc: &'a str,
        method: &'a str,
    }
    to_line(&Cancel { jsonrpc: JSON_RPC, method: "cancel" })
}

pub(crate) fn to_line(message: &impl Serialize) -> Vec<u8> {
    // Serialization cannot fail: the types here have string keys, and none of their parts can fail.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    // conformance: d11-110
    #[test]
    fn a_cancellation_has_no_parameters() {
        assert_eq!(super::cancel(), b"{\"jsonrpc\":\"2.0\",\"method\":\"cancel\"}\n");
    }
}
