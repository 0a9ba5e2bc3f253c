//! Parameters and results of each method (spec §14.3). Paths are workspace-relative. An unknown parameter is an error,
//! because a misspelled one would silently have no effect. Unknown fields of results are ignored.

use serde::{Deserialize, Serialize};

use crate::content::Encoding;

/// Parameters of `fs.read`, `fs.exists`, `fs.list_dir`, `fs.metadata` and `fs.delete`: one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathParams {
    /// The path.
    pub(crate) path: String,
}

/// Result of `fs.read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct File {
    /// The contents of the file.
    pub(crate) content: String,
    /// The encoding of `content`, if the file is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<Encoding>,
    /// The length of the file in bytes.
    pub(crate) size: u64,
}

/// Parameters of `fs.write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteParams {
    /// The path of a file. The host creates it and its directories as needed.
    pub(crate) path: String,
    /// The complete new contents.
    pub(crate) content: String,
    /// The encoding of `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encoding: Option<Encoding>,
}

/// Result of `fs.exists`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exists {
    /// Whether an object is there.
    pub(crate) exists: bool,
}

/// The kind of object at a path, symlinks followed.
///
/// ```no_run
/// use jp_confine_vfs::method::Kind;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let is_dir = host.metadata("src")?.kind == Kind::Dir;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Dir,
}

/// Result of `fs.list_dir`: the readable entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listing {
    /// Sorted by name.
    pub(crate) entries: Vec<Entry>,
}

/// An entry of a directory.
///
/// ```no_run
/// use jp_confine_vfs::method::Entry;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// for Entry { path, kind, .. } in host.list_dir("src")? {
///     eprintln!("{path}: {kind:?}");
/// }
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The name, which is the path relative to the directory.
    pub path: String,
    /// The kind of object.
    pub kind: Kind,
}

/// Result of `fs.metadata`.
///
/// ```no_run
/// use jp_confine_vfs::method::Metadata;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let Metadata { size, .. } = host.metadata("Cargo.toml")?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metadata {
    /// The kind of object.
    pub kind: Kind,
    /// The length of a file in bytes; 0 for a directory.
    pub size: u64,
}

/// Parameters of `fs.rename`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenameParams {
    /// The path of a file.
    pub(crate) from: String,
    /// The new path of the file.
    pub(crate) to: String,
}

/// Parameters of `fs.grep`.
///
/// ```no_run
/// use jp_confine_vfs::method::GrepParams;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let mut params = GrepParams::new("fn main");
/// params.extensions = Some(vec!["rs".to_owned()]);
/// let found = host.grep(&params)?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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

impl GrepParams {
    /// A search of everything, for the lines alone that match.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), paths: None, extensions: None, context: None }
    }
}

/// Result of `fs.grep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// The files with matches, sorted by path.
    pub(crate) matches: Vec<FileMatches>,
}

/// The matches in a file.
///
/// ```no_run
/// use jp_confine_vfs::method::{FileMatches, GrepParams};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// for FileMatches { path, lines, .. } in host.grep(&GrepParams::new("spring"))? {
///     eprintln!("{path}: {} lines", lines.len());
/// }
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileMatches {
    /// Its path.
    pub path: String,
    /// Lines that match, and lines around them.
    pub lines: Vec<Line>,
}

/// A line of a file.
///
/// ```no_run
/// use jp_confine_vfs::method::{GrepParams, Line};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let found = host.grep(&GrepParams::new("spring"))?;
/// for Line { line_number, content, .. } in found.iter().flat_map(|file| &file.lines) {
///     eprintln!("{line_number}: {content}");
/// }
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Line {
    /// Its number, from 1.
    pub line_number: u64,
    /// The line without its line end. Bytes that are not UTF-8 are replaced.
    pub content: String,
    /// Whether the line matches. Otherwise it is context.
    pub is_match: bool,
}

/// Parameters of `http.get` and `http.post`.
///
/// ```no_run
/// use jp_confine_vfs::method::{Header, HttpParams};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let mut params = HttpParams::new("https://example.com/notes");
/// params.headers.push(Header::new("Authorization", "Bearer ${TOKEN}"));
/// params.body = Some("spring".to_owned());
/// host.http_post(&params)?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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

impl HttpParams {
    /// A request without headers of its own, and without a body.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), body: None, encoding: None }
    }
}

/// A header.
///
/// ```
/// use jp_confine_vfs::method::Header;
///
/// assert_eq!(Header::new("Accept", "text/html").name, "Accept");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl Header {
    /// The header `name: value`.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// Result of `http.get` and `http.post`.
///
/// ```no_run
/// use jp_confine_vfs::method::{HttpParams, HttpReply};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let HttpReply { status, body, .. } = host.http_get(&HttpParams::new("https://example.com"))?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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
///
/// ```no_run
/// use jp_confine_vfs::method::RunParams;
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let mut params = RunParams::new("cargo");
/// params.args.push("check".to_owned());
/// host.run(&params)?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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

impl RunParams {
    /// The program without arguments, with the environment that every program gets.
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), args: Vec::new(), envs: Vec::new() }
    }
}

/// Result of `process.run`.
///
/// ```no_run
/// use jp_confine_vfs::method::{Ended, RunParams};
///
/// let mut host = jp_confine_vfs::sdk::connect()?;
/// let Ended { exit_code, stdout, .. } = host.run(&RunParams::new("true"))?;
/// # Ok::<(), jp_confine_vfs::sdk::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
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
pub(crate) struct Nothing {}
