//! The methods: what each is given and what it returns (spec §14.3). Paths are workspace-relative.
//! Unknown parameters are an error: one that is misspelled would be left out. Unknown fields of results are ignored.

use serde::{Deserialize, Serialize};

use crate::content::Encoding;

/// `fs.read`, `fs.exists`, `fs.list_dir`, `fs.metadata`, `fs.delete`: one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathParams {
    /// The path.
    pub path: String,
}

/// What `fs.read` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// What is in the file.
    pub content: String,
    /// How `content` is to be read, where the file is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// The length of the file in bytes.
    pub size: u64,
}

/// What `fs.write` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteParams {
    /// The path of a file, which is created with the directories it needs.
    pub path: String,
    /// All that is to be in it.
    pub content: String,
    /// How `content` is to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
}

/// What `fs.exists` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// Whether something is there.
    pub exists: bool,
}

/// What stands at a path, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Dir,
}

/// What `fs.list_dir` returns: what may be read, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// In the order of their names.
    pub entries: Vec<Entry>,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Relative to the directory: its name.
    pub path: String,
    /// What it is.
    pub kind: Kind,
}

/// What `fs.metadata` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// What it is.
    pub kind: Kind,
    /// Of a file its length in bytes, of a directory 0.
    pub size: u64,
}

/// What `fs.rename` is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenameParams {
    /// The path of a file.
    pub from: String,
    /// The path it is to have.
    pub to: String,
}

/// What `fs.grep` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrepParams {
    /// A regular expression in the syntax of the crate `regex`, for single lines.
    pub pattern: String,
    /// Where to look, directories with all below them; absent: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// What file names end in, after the last dot; absent: anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<Vec<String>>,
    /// How many lines to return around each match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
}

/// What `fs.grep` returns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The files with matches, in the order of their paths.
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
    /// The line without its end; what is not UTF-8 is replaced.
    pub content: String,
    /// Whether it matches, or is only near.
    pub is_match: bool,
}

/// What `http.get` and `http.post` are given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpParams {
    /// An absolute URL, http or https.
    pub url: String,
    /// Headers of the request; `${NAME}` in a value stands for a variable of the host's environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
    /// The body, of `http.post` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// How `body` is to be read.
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

/// What `http.get` and `http.post` return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpReply {
    /// The status code, whatever it says.
    pub status: u16,
    /// The body.
    pub body: String,
    /// How `body` is to be read, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Encoding>,
    /// How many secret values were left out of the body.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

/// What `process.run` is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunParams {
    /// The program: a name to be found in `PATH`, or a path.
    pub program: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Names of variables that it is to have of the host's environment, as far as the policy lets it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub envs: Vec<String>,
}

/// What `process.run` returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What it wrote; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Likewise.
    pub stderr: String,
    /// Its exit status; 128+N if signal N ended it.
    pub exit_code: i32,
    /// How many secret values were left out of what it wrote.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What methods without a result return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}
