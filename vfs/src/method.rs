//! Parameters and results of each method (spec §14.3). Paths are workspace-relative. An unknown parameter is an error,
//! because a misspelled one would silently have no effect. Unknown fields of results are ignored.

use serde::{Deserialize, Serialize};

use crate::content::Encoding;

/// Parameters of `fs.read`, `fs.exists`, `fs.list_dir`, `fs.metadata` and `fs.delete`: one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathParams {
    /// The path.
    pub path: String,
}

/// Result of `fs.read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The contents of the file.
    pub content: String,
    /// The encoding of `content`, if the file is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The length of the file in bytes.
    pub size: u64,
}

/// Parameters of `fs.write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteParams {
    /// The path of a file. The host creates it and its directories as needed.
    pub path: String,
    /// The complete new contents.
    pub content: String,
    /// The encoding of `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

/// Result of `fs.exists`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// Whether an object is there.
    pub exists: bool,
}

/// The kind of object at a path, symlinks followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Dir,
}

/// Result of `fs.list_dir`: the readable entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<Entry>,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name, which is the path relative to the directory.
    pub path: String,
    /// The kind of object.
    pub kind: Kind,
}

/// Result of `fs.metadata`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// The kind of object.
    pub kind: Kind,
    /// The length of a file in bytes; 0 for a directory.
    pub size: u64,
}

/// Parameters of `fs.rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameParams {
    /// The path of a file.
    pub from: String,
    /// The new path of the file.
    pub to: String,
}

/// Parameters of `fs.grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepParams {
    /// A regular expression in the syntax of the crate `regex`, matched against single lines.
    pub pattern: String,
    /// The files and directories to search, recursively; everything if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// The file name extensions to search, without the dot; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    /// How many lines to return around each match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
}

/// Result of `fs.grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The files with matches, sorted by path.
    pub matches: Vec<FileMatches>,
}

/// The matches in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMatches {
    /// Its path.
    pub path: String,
    /// Lines that match, and lines around them.
    pub lines: Vec<Line>,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 1.
    pub line_number: u64,
    /// The line without its line end. Bytes that are not UTF-8 are replaced.
    pub content: String,
    /// Whether the line matches. Otherwise it is context.
    pub is_match: bool,
}

/// Parameters of `http.get` and `http.post`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpParams {
    /// An absolute URL, http or https.
    pub url: String,
    /// Request headers. `${NAME}` in a value stands for a variable of the host's environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// The body; only for `http.post`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The encoding of `body`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Result of `http.get` and `http.post`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpReply {
    /// The status code. Any status counts as a result.
    pub status: u16,
    /// The body.
    pub body: String,
    /// The encoding of `body`, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// How many secret values were removed from the body.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

/// Parameters of `process.run`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// The program: a path, or a name to look up in `PATH`.
    pub program: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables of the host's environment that the program should get, as far as the policy allows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub envs: Vec<String>,
}

/// Result of `process.run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The standard output. Bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// The standard error, likewise.
    pub stderr: String,
    /// The exit status, or 128+N if signal N ended the program.
    pub exit_code: i32,
    /// How many secret values were removed from the output.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Result of methods that return nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}
