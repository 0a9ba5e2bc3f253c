//! Views as written: `--view FROM=TO[:ro|rw]`, and `view = { "FROM" = "TO" }` in a profile (spec §12.2). No I/O.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A directory that a run sees in another's place, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenView {
    /// The path that programs name.
    pub(crate) from: PathBuf,
    /// The directory that they get.
    pub(crate) to: PathBuf,
    /// Not `:ro`.
    pub(crate) writable: bool,
}

/// Why a view is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MalformedView {
    /// There is no `=`.
    Target,
    /// There is nothing before `=`.
    From,
    /// There is nothing after `=`, or only the mode.
    To,
}

impl WrittenView {
    /// Reads `FROM=TO[:ro|rw]`. FROM ends at the first `=`.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, MalformedView> {
        let bytes = word.as_bytes();
        let end = bytes.iter().position(|&byte| byte == b'=').ok_or(MalformedView::Target)?;
        let (from, to) = bytes.split_at(end);
        Self::of(from, to.get(1..).unwrap_or_default())
    }

    /// The view of these two parts. The second one may end in a mode.
    pub(crate) fn of(from: &[u8], to: &[u8]) -> Result<Self, MalformedView> {
        let read_only = to.strip_suffix(b":ro");
        let to = read_only.or_else(|| to.strip_suffix(b":rw")).unwrap_or(to);
        match (from, to) {
            (b"", _) => Err(MalformedView::From),
            (_, b"") => Err(MalformedView::To),
            _ => {
                let [from, to] = [from, to].map(|part| OsString::from_vec(part.to_owned()).into());
                Ok(Self { from, to, writable: read_only.is_none() })
            }
        }
    }

    /// The value that parses as this view, unless FROM has a `=`.
    pub(crate) fn word(&self) -> OsString {
        let mode = if self.writable { ":rw" } else { ":ro" };
        [self.from.as_os_str(), "=".as_ref(), self.to.as_os_str(), mode.as_ref()]
            .into_iter()
            .collect()
    }

    /// The view with both paths replaced.
    pub(crate) fn with<E>(&self, path: impl Fn(&Path) -> Result<PathBuf, E>) -> Result<Self, E> {
        Ok(Self { from: path(&self.from)?, to: path(&self.to)?, writable: self.writable })
    }
}

/// For people, as it is typed.
impl std::fmt::Display for WrittenView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = if self.writable { "" } else { ":ro" };
        write!(f, "{}={}{mode}", self.from.display(), self.to.display())
    }
}

impl std::fmt::Display for MalformedView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Target => "no `=`: expected FROM=TO",
            Self::From => "FROM is empty",
            Self::To => "TO is empty",
        })
    }
}

impl std::error::Error for MalformedView {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_grammar() {
        let read = |word: &str| match WrittenView::parse(OsStr::new(word)) {
            Ok(view) => view.word().into_string().expect("UTF-8"),
            Err(error) => format!("{error:?}"),
        };
        for (word, meaning) in [
            ("~/a=b", "~/a=b:rw"),
            ("/a=/b:ro", "/a=/b:ro"),
            ("/a=/b:rw", "/a=/b:rw"),
            ("/a=/b:rx", "/a=/b:rx:rw"),
            // The first `=` ends FROM.
            ("/a=/b=c", "/a=/b=c:rw"),
            ("", "Target"),
            ("/a", "Target"),
            ("=/b", "From"),
            ("/a=", "To"),
            ("/a=:ro", "To"),
        ] {
            assert_eq!(read(word), meaning, "{word}");
        }
    }
}
