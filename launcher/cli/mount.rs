//! Parses `--mount [TOOL:]NAME=PATH[:MODE]` and `--no-mount [NAME]` (spec §8.3, §8.4). No I/O.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// The value of one `--mount`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountOption {
    /// The only tool that may use it, if it is for one tool.
    pub(crate) tool: Option<String>,
    /// Where to create the symlink, as typed: relative to the working directory.
    pub(crate) name: String,
    /// The target of the symlink, as typed: `~` or relative to the working directory.
    pub(crate) path: PathBuf,
    /// `:rw`.
    pub(crate) writable: bool,
}

/// The value of one `--no-mount`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unmount {
    /// Every mount.
    All,
    /// The mount of this name, as typed: relative to the working directory.
    Named(String),
}

/// Why a value is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// There is no `=`.
    NoTarget,
    /// The part before the first `:` is not an identifier.
    NoTool,
    /// There is nothing between `:` and `=`.
    NoName,
    /// The name is not UTF-8, as rules are.
    NotUtf8,
    /// There is nothing after `=`, or only the mode.
    NoPath,
}

impl MountOption {
    /// Reads `word`. Paths may hold any bytes.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, Malformed> {
        let (left, right) = split_once(word.as_bytes(), b'=').ok_or(Malformed::NoTarget)?;
        let left = str::from_utf8(left).map_err(|_| Malformed::NotUtf8)?;
        let (tool, name) = match left.split_once(':') {
            Some((tool, name)) if is_identifier(tool) => (Some(tool.to_owned()), name),
            Some(_) => return Err(Malformed::NoTool),
            None => (None, left),
        };
        let (path, writable) = match (right.strip_suffix(b":rw"), right.strip_suffix(b":ro")) {
            (Some(path), _) => (path, true),
            (None, Some(path)) => (path, false),
            (None, None) => (right, false),
        };
        match (name, path) {
            ("", _) => Err(Malformed::NoName),
            (_, b"") => Err(Malformed::NoPath),
            _ => {
                let path = PathBuf::from(OsString::from_vec(path.to_owned()));
                Ok(Self { tool, name: name.to_owned(), path, writable })
            }
        }
    }
}

impl MountOption {
    /// The value that parses as this mount.
    pub(crate) fn word(&self) -> OsString {
        let tool = self.tool.iter().flat_map(|tool| [tool.as_str(), ":"]);
        let left: String = tool.chain([self.name.as_str(), "="]).collect();
        let mut word = OsString::from(left);
        word.push(&self.path);
        word.push(if self.writable { ":rw" } else { ":ro" });
        word
    }
}

impl Unmount {
    /// Stands for "no name": no argument can hold this character.
    pub(crate) const ALL: &str = "\0";

    /// Reads `word`.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, Malformed> {
        match word.to_str() {
            Some(Self::ALL) => Ok(Self::All),
            Some("") => Err(Malformed::NoName),
            Some(name) => Ok(Self::Named(name.to_owned())),
            None => Err(Malformed::NotUtf8),
        }
    }
}

/// Like `str::split_once`, for bytes.
fn split_once(bytes: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == separator)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// `[a-z_][a-z0-9_]*`
fn is_identifier(tool: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit();
    tool.bytes().all(plain) && tool.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoTarget => "no `=`: expected NAME=PATH",
            Self::NoTool => "a tool's name is lower-case letters, digits and `_`",
            Self::NoName => "NAME is empty",
            Self::NotUtf8 => "NAME is not UTF-8",
            Self::NoPath => "PATH is empty",
        })
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tool|name|path|mode`, or the error.
    fn read(word: &[u8]) -> String {
        match MountOption::parse(OsStr::from_bytes(word)) {
            Ok(MountOption { tool, name, path, writable }) => format!(
                "{}|{name}|{}|{}",
                tool.unwrap_or_default(),
                path.to_string_lossy(),
                if writable { "rw" } else { "ro" }
            ),
            Err(error) => format!("{error:?}"),
        }
    }

    // conformance: d43-120, d43-121, d43-122, d43-123, d43-125, d43-126, d43-127, d43-128, d43-129, d43-130, d43-131
    // conformance: d43-133, d43-253
    #[test]
    fn the_whole_grammar() {
        for (word, meaning) in [
            ("fork=/p", "|fork|/p|ro"),
            ("fork=/p:ro", "|fork|/p|ro"),
            ("fork=/p:rw", "|fork|/p|rw"),
            ("fmt:fork=/p", "fmt|fork|/p|ro"),
            ("fmt:fork=/p:ro", "fmt|fork|/p|ro"),
            ("fmt:fork=/p:rw", "fmt|fork|/p|rw"),
            // The first `=` separates. Any other belongs to the path.
            ("fork=/a=b", "|fork|/a=b|ro"),
            ("t:a=b:c=/p:rw", "t|a|b:c=/p|rw"),
            // Only one mode is read, at the end. The rest is path.
            ("fork=/p:ro:rw", "|fork|/p:ro|rw"),
            ("t:fork=/p:ro:rw", "t|fork|/p:ro|rw"),
            ("fork=/p:rw:ro", "|fork|/p:rw|ro"),
            ("fork=/p:rx", "|fork|/p:rx|ro"),
            ("fork=/p:RW", "|fork|/p:RW|ro"),
            ("fork=/p:", "|fork|/p:|ro"),
            ("fork=/p:rw/", "|fork|/p:rw/|ro"),
            ("fork=rw", "|fork|rw|ro"),
            (r"fork=C:\x:ro", r"|fork|C:\x|ro"),
            (r"t:fork=C:\code\x:rw", r"t|fork|C:\code\x|rw"),
            ("fork=~/x", "|fork|~/x|ro"),
            ("fork=~/code/forks/x:ro", "|fork|~/code/forks/x|ro"),
            ("fs_modify_file:fork=~/code/forks/x:rw", "fs_modify_file|fork|~/code/forks/x|rw"),
            (r"fs_read_file:fork=C:\code\forks\x:ro", r"fs_read_file|fork|C:\code\forks\x|ro"),
            ("a/b=../x", "|a/b|../x|ro"),
            // The first `:` ends the tool.
            ("t:a:b=/p", "t|a:b|/p|ro"),
            ("_t9:fork=/p", "_t9|fork|/p|ro"),
            ("T:fork=/p", "NoTool"),
            ("9t:fork=/p", "NoTool"),
            ("a-b:fork=/p", "NoTool"),
            ("a b:fork=/p", "NoTool"),
            (":fork=/p", "NoTool"),
            // Empty parts.
            ("", "NoTarget"),
            ("fork", "NoTarget"),
            ("fmt:fork", "NoTarget"),
            ("=/p", "NoName"),
            ("=", "NoName"),
            ("fmt:=/p", "NoName"),
            ("fork=", "NoPath"),
            ("fork=:ro", "NoPath"),
            ("fork=:rw", "NoPath"),
            ("t:fork=:rw", "NoPath"),
            ("fork= ", "|fork| |ro"),
        ] {
            assert_eq!(read(word.as_bytes()), meaning, "{word}");
        }
        assert_eq!(read(b"f\xff=/p"), "NotUtf8");
        assert_eq!(MountOption::parse(OsStr::from_bytes(b"f=/\xff")).expect("a path").name, "f");
    }

    #[test]
    fn no_mount() {
        let read = |word: &[u8]| Unmount::parse(OsStr::from_bytes(word));
        assert_eq!(read(b"\0"), Ok(Unmount::All));
        assert_eq!(read(b"a/b"), Ok(Unmount::Named("a/b".to_owned())));
        assert_eq!(read(b""), Err(Malformed::NoName));
        assert_eq!(read(b"\xff"), Err(Malformed::NotUtf8));
    }
}
