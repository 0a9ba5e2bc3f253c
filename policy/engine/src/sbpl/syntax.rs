//! The syntax of profiles: rules, filters, strings and expressions.

use std::borrow::ToOwned as _;
use std::fmt::Write as _;
use std::format;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::string::String;
use std::vec;
use std::vec::Vec;

use crate::capability::Capabilities;

/// The operations that a capability allows, and those that are denied without it. Metadata is free outside hidden
/// areas, so no rule takes it away.
const OPERATIONS: [(Capabilities, &str, &str); 3] = [
    (Capabilities::READ, "file-read*", "file-read-data file-read-xattr"),
    (Capabilities::WRITE, "file-write*", "file-write*"),
    (
        Capabilities::EXECUTE,
        "process-exec* file-map-executable",
        "process-exec* file-map-executable",
    ),
];

/// The text of rules.
#[derive(Default)]
pub(super) struct Rules {
    pub(super) text: String,
}

impl Rules {
    /// A line for readers.
    pub(super) fn comment(&mut self, words: &str) {
        let words = words.replace(char::is_control, "?");
        let _ = writeln!(self.text, "; {words}");
    }

    /// Allows `caps` where a filter matches.
    pub(super) fn allow(&mut self, caps: Capabilities, filters: &[Filter]) {
        let granted = OPERATIONS.iter().filter(|(of, ..)| caps.intersects(*of));
        let operations: Vec<&str> = granted.map(|(_, allowed, _)| *allowed).collect();
        self.print("allow", &operations, filters);
    }

    /// Denies `caps` where a filter matches. Changes are denied only if none is left.
    pub(super) fn deny(&mut self, caps: Capabilities, filters: &[Filter]) {
        let missing = OPERATIONS.iter().filter(|(of, ..)| caps.contains(*of));
        let operations: Vec<&str> = missing.map(|(_, _, denied)| *denied).collect();
        self.print("deny", &operations, filters);
    }

    /// Writes a rule. Without operations or filters there is nothing to say: a rule without filters would match
    /// everything.
    pub(super) fn print(&mut self, verb: &str, operations: &[&str], filters: &[Filter]) {
        let operations = operations.join(" ");
        match filters {
            _ if operations.is_empty() => {}
            [] => {}
            [Filter(one)] => {
                let _ = writeln!(self.text, "({verb} {operations} {one})");
            }
            many => {
                let _ = write!(self.text, "({verb} {operations}");
                for Filter(one) in many {
                    let _ = write!(self.text, "\n  {one}");
                }
                self.text.push_str(")\n");
            }
        }
    }
}

/// What a rule is about.
#[derive(Clone, Debug)]
pub(super) struct Filter(String);

impl Filter {
    /// This path and everything below.
    pub(super) fn subpath(path: &Path) -> Self {
        Self(format!("(subpath {})", quoted(path.as_os_str().as_bytes())))
    }

    /// This path alone.
    pub(super) fn literal(path: &Path) -> Self {
        Self(format!("(literal {})", quoted(path.as_os_str().as_bytes())))
    }

    /// The paths that an expression matches.
    pub(super) fn regex(expression: &[u8]) -> Self {
        Self(format!("(regex {})", quoted(expression)))
    }

    /// What all of these match.
    pub(super) fn all(filters: impl IntoIterator<Item = Self>) -> Self {
        let mut filters: Vec<String> = filters.into_iter().map(|Self(text)| text).collect();
        match filters.len() {
            1 => Self(filters.remove(0)),
            _ => Self(format!("(require-all {})", filters.join(" "))),
        }
    }

    /// What none of these matches. `None` without any.
    pub(super) fn none(filters: Vec<Self>) -> Option<Self> {
        let filters: Vec<String> = filters.into_iter().map(|Self(text)| text).collect();
        match filters.as_slice() {
            [] => None,
            [one] => Some(Self(format!("(require-not {one})"))),
            many => Some(Self(format!("(require-not (require-any {}))", many.join(" ")))),
        }
    }

    /// The same filters for paths at or below a directory.
    pub(super) fn within(directory: Option<&Path>, filters: Vec<Self>) -> Vec<Self> {
        let Some(directory) = directory.filter(|it| *it != Path::new("/")) else { return filters };
        filters.into_iter().map(|one| Self::all(vec![Self::subpath(directory), one])).collect()
    }
}

/// A string: bytes that are no printable text are written as numbers.
fn quoted(bytes: &[u8]) -> String {
    let mut out = "\"".to_owned();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ if character.is_ascii_control() => {
                    let _ = write!(out, "\\x{:02x}", u32::from(character));
                }
                _ => out.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// The beginning of an expression of paths below a directory.
pub(super) fn anchored(directory: &Path) -> Vec<u8> {
    let directory = directory.as_os_str().as_bytes();
    [b"^", &*literal(directory.strip_suffix(b"/").unwrap_or(directory))].concat()
}

/// The expression of a text.
pub(super) fn literal(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in text {
        if br".[]{}()*+?^$|\".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}
