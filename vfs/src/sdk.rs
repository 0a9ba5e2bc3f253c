//! A client for tools in Rust. It sends a request and waits for the answer.
//!
//! ```no_run
//! use jp_confine_vfs::sdk;
//!
//! let mut host = sdk::connect()?;
//! let text = host.read("src/main.rs")?;
//! host.write("src/main.rs", text.replace("spring", "summer"))?;
//! host.result("Modified src/main.rs")?;
//! # Ok::<(), sdk::Error>(())
//! ```

mod attentive;
mod error;

use std::io::{self, BufRead, BufReader, Stdin, Stdout, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::Content;
use crate::fault::Fault;
use crate::message::{self, Contents, Init, State, ToolCall, ToolError};
use crate::method::{
    Ended, Entry, Exists, File, FileMatches, Found, GrepParams, HttpParams, HttpReply, Listing,
    Metadata, Nothing, PathParams, RenameParams, RunParams, WriteParams,
};

pub use attentive::Attentive;
pub use error::{Error, ErrorKind};

/// The host on the standard streams.
///
/// ```no_run
/// use jp_confine_vfs::sdk::{self, Host};
///
/// let host: Host = sdk::connect()?;
/// # Ok::<(), sdk::Error>(())
/// ```
pub type Host = Client<BufReader<Attentive<Stdin>>, Stdout>;

/// Waits for the host to send the call that the tool serves. From then on nothing else may use standard input and
/// output.
///
/// # Errors
/// Where there is no host, or it speaks another protocol.
pub fn connect() -> Result<Host, Error> {
    Client::new(BufReader::new(Attentive::new(io::stdin())), io::stdout())
}

/// A connection to the host over any reader and writer.
///
/// A path is relative to the root of the workspace. One that is not UTF-8 is an error, [`ErrorKind::BadParams`].
///
/// ```
/// use jp_confine_vfs::message::{Init, ToolCall, notification};
/// use jp_confine_vfs::sdk::Client;
///
/// let mut lines = notification("init", &Init::new(ToolCall::new("edit")));
/// lines.extend(br#"{"jsonrpc": "2.0", "id": 1, "result": {"exists": true}}"#);
/// let mut host = Client::new(lines.as_slice(), std::io::sink())?;
/// assert!(host.exists("src/main.rs")?);
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug)]
pub struct Client<R, W> {
    from_host: R,
    to_host: W,
    init: Init,
    last_id: u64,
    is_cancelled: bool,
}

/// A message from the host.
#[derive(Deserialize)]
struct Incoming {
    id: Option<u64>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Value>,
    error: Option<Fault>,
}

impl<R: BufRead, W: Write> Client<R, W> {
    /// Creates a client and waits for the host's first message.
    ///
    /// # Errors
    /// As [`connect`].
    pub fn new(from_host: R, to_host: W) -> Result<Self, Error> {
        let tool = ToolCall::default();
        let init = Init { tool, protocol_version: String::new() };
        let mut client = Self { from_host, to_host, init, last_id: 0, is_cancelled: false };
        let first = client.receive()?;
        if first.method.as_deref() != Some("init") {
            return Err(Error::new(ErrorKind::Protocol, "the host did not begin with `init`"));
        }
        client.init = parse(first.params)?;
        Ok(client)
    }

    /// The call that the tool serves.
    #[must_use]
    pub const fn tool(&self) -> &ToolCall {
        &self.init.tool
    }

    /// The version of the host's protocol.
    #[must_use]
    pub fn protocol_version(&self) -> &str {
        &self.init.protocol_version
    }

    /// Whether the host has cancelled the call, as far as the client has read. Then the tool should end soon.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Reads a file as UTF-8.
    ///
    /// # Errors
    /// [`ErrorKind::NotText`] if it is not; otherwise as [`Self::ask`].
    pub fn read(&mut self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = path.as_ref();
        let not_text =
            |_| Error::new(ErrorKind::NotText, format!("{} is not UTF-8", path.display()));
        String::from_utf8(self.read_bytes(path)?).map_err(not_text)
    }

    /// Reads a file as bytes.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn read_bytes(&mut self, path: impl AsRef<Path>) -> Result<Vec<u8>, Error> {
        let File { content, encoding, .. } = self.ask("fs.read", &at(path)?)?;
        Ok(Content { text: content, encoding }.into_bytes()?)
    }

    /// Replaces all contents of a file, which is created if it does not exist.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn write(
        &mut self,
        path: impl AsRef<Path>,
        contents: impl Into<Vec<u8>>,
    ) -> Result<(), Error> {
        let Content { text, encoding } = Content::of(contents.into());
        let params = WriteParams { path: path_text(path)?, content: text, encoding };
        let Nothing {} = self.ask("fs.write", &params)?;
        Ok(())
    }

    /// Whether an object exists at a path.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn exists(&mut self, path: impl AsRef<Path>) -> Result<bool, Error> {
        Ok(self.ask::<Exists>("fs.exists", &at(path)?)?.exists)
    }

    /// Lists the readable entries of a directory.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn list_dir(&mut self, path: impl AsRef<Path>) -> Result<Vec<Entry>, Error> {
        Ok(self.ask::<Listing>("fs.list_dir", &at(path)?)?.entries)
    }

    /// The kind and size of the object at a path.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn metadata(&mut self, path: impl AsRef<Path>) -> Result<Metadata, Error> {
        self.ask("fs.metadata", &at(path)?)
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn delete(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let Nothing {} = self.ask("fs.delete", &at(path)?)?;
        Ok(())
    }

    /// Renames a file, replacing any file at the new path.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn rename(&mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), Error> {
        let params = RenameParams { from: path_text(from)?, to: path_text(to)? };
        let Nothing {} = self.ask("fs.rename", &params)?;
        Ok(())
    }

    /// Searches files; [`GrepParams`] says which fields are optional.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn grep(&mut self, params: &GrepParams) -> Result<Vec<FileMatches>, Error> {
        Ok(self.ask::<Found>("fs.grep", params)?.matches)
    }

    /// Fetches a URL.
    ///
    /// # Errors
    /// As [`Self::ask`]. Any response of the server counts as a reply.
    pub fn http_get(&mut self, params: &HttpParams) -> Result<HttpReply, Error> {
        self.ask("http.get", params)
    }

    /// Posts to a URL.
    ///
    /// # Errors
    /// As [`Self::ask`]. Any response of the server counts as a reply.
    pub fn http_post(&mut self, params: &HttpParams) -> Result<HttpReply, Error> {
        self.ask("http.post", params)
    }

    /// Runs a program in the workspace until it ends.
    ///
    /// # Errors
    /// As [`Self::ask`]. A status other than 0 is not an error.
    pub fn run(&mut self, params: &RunParams) -> Result<Ended, Error> {
        self.ask("process.run", params)
    }

    /// Calls any method.
    ///
    /// # Errors
    /// The host answers with an error, is gone, or is not understood. [`Error::kind`] says which.
    pub fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<T, Error> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&message::request(id, method, params))?;
        loop {
            let Incoming { id: of, result, error, .. } = self.receive()?;
            if of != Some(id) {
                continue;
            }
            return match (result, error) {
                (_, Some(fault)) => Err(fault.into()),
                (Some(result), None) => parse(result),
                (None, None) => Err(Error::new(ErrorKind::Protocol, "a reply without a result")),
            };
        }
    }

    /// Ends the tool's work with a result.
    ///
    /// # Errors
    /// Where the host is gone.
    pub fn result(mut self, contents: impl Into<Contents>) -> Result<(), Error> {
        let params = serde_json::json!({ "content": contents.into() });
        self.send(&message::notification("result", &params))
    }

    /// Ends the tool's work with an error.
    ///
    /// # Errors
    /// Where the host is gone.
    pub fn error(mut self, error: &ToolError) -> Result<(), Error> {
        self.send(&message::notification("error", error))
    }

    /// Reports the tool's state and waits for input to go on with. Returns `None` if the tool should end, as after
    /// [`State::Stopped`].
    ///
    /// # Errors
    /// Where the host is not understood.
    pub fn state(&mut self, state: &State) -> Result<Option<Value>, Error> {
        self.send(&message::notification("state", state))?;
        if matches!(state, State::Stopped { .. }) {
            return Ok(None);
        }
        loop {
            match self.receive() {
                Ok(Incoming { method: Some(method), mut params, .. }) if method == "apply" => {
                    return Ok(Some(params["input"].take()));
                }
                Ok(_) if self.is_cancelled => return Ok(None),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Gone => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn send(&mut self, line: &[u8]) -> Result<(), Error> {
        self.to_host.write_all(line)?;
        Ok(self.to_host.flush()?)
    }

    /// Reads the host's next message. Remembers that the call was cancelled.
    fn receive(&mut self) -> Result<Incoming, Error> {
        let mut line = String::new();
        while line.trim().is_empty() {
            line.clear();
            if self.from_host.read_line(&mut line)? == 0 {
                return Err(Error::new(ErrorKind::Gone, "the host is gone"));
            }
        }
        let incoming: Incoming = serde_json::from_str(&line)?;
        self.is_cancelled |= incoming.method.as_deref() == Some("cancel");
        Ok(incoming)
    }
}

fn at(path: impl AsRef<Path>) -> Result<PathParams, Error> {
    Ok(PathParams { path: path_text(path)? })
}

/// A path as the protocol has it.
fn path_text(path: impl AsRef<Path>) -> Result<String, Error> {
    let path = path.as_ref();
    let not_text = || {
        let shown = path.as_os_str().as_encoded_bytes().escape_ascii();
        Error::new(ErrorKind::BadParams, format!("the path {shown} is not UTF-8"))
    };
    path.to_str().map(ToOwned::to_owned).ok_or_else(not_text)
}

fn parse<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    Ok(serde_json::from_value(value)?)
}
