//! Parses where events go, the value of `--events`. Used by `cli` and by the event log.

use std::ffi::{OsStr, OsString};
use std::fmt::{self, Display, Formatter};
use std::os::fd::RawFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use crate::files;
use crate::text::quote;

const SOCKET: &[u8] = b"unix:";
const DESCRIPTOR: &[u8] = b"fd:";

/// Where events go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EventTarget {
    /// A file, as it was typed.
    File(PathBuf),
    /// A descriptor that the caller opened: `fd:N`, or a path such as `/dev/stderr`.
    Descriptor(RawFd),
    /// A Unix socket on which a collector listens, as it was typed: `unix:PATH`.
    Socket(PathBuf),
}

impl EventTarget {
    /// The target that a person typed.
    ///
    /// # Errors
    /// `unix:` without a path, and `fd:` without a number.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, &'static str> {
        let bytes = word.as_bytes();
        if let Some(path) = bytes.strip_prefix(SOCKET) {
            let socket = Self::Socket(OsStr::from_bytes(path).into());
            return if path.is_empty() { Err("unix: names no socket") } else { Ok(socket) };
        }
        if let Some(number) = bytes.strip_prefix(DESCRIPTOR) {
            return files::number(number).map(Self::Descriptor).ok_or("fd: takes a number");
        }
        let path = Path::new(word);
        Ok(files::given(path).map_or_else(|| Self::File(path.to_owned()), Self::Descriptor))
    }

    /// The word for the same target in another command, with its path as `absolute` makes it.
    pub(crate) fn word(&self, absolute: impl FnOnce(&Path) -> PathBuf) -> OsString {
        match self {
            Self::File(path) => absolute(path).into(),
            Self::Descriptor(number) => format!("fd:{number}").into(),
            Self::Socket(path) => {
                let path = absolute(path);
                OsString::from_vec([SOCKET, path.as_os_str().as_bytes()].concat())
            }
        }
    }
}

impl Display for EventTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(&quote::place(path)),
            Self::Descriptor(number) => write!(f, "fd:{number}"),
            Self::Socket(path) => write!(f, "unix:{}", quote::place(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_apart_by_how_they_are_typed() {
        for (typed, target) in [
            ("unix:/run/a", Ok(EventTarget::Socket("/run/a".into()))),
            ("unix:a:b", Ok(EventTarget::Socket("a:b".into()))),
            ("unix:", Err("unix: names no socket")),
            ("fd:3", Ok(EventTarget::Descriptor(3))),
            ("/dev/stderr", Ok(EventTarget::Descriptor(2))),
            ("/dev/fd/63", Ok(EventTarget::Descriptor(63))),
            ("fd:", Err("fd: takes a number")),
            ("fd:-1", Err("fd: takes a number")),
            ("./fd:3", Ok(EventTarget::File("./fd:3".into()))),
            ("unix", Ok(EventTarget::File("unix".into()))),
        ] {
            assert_eq!(EventTarget::parse(OsStr::new(typed)), target, "{typed}");
        }
    }

    #[test]
    fn another_command_gets_the_same_target() {
        for typed in ["unix:a", "fd:3", "a"] {
            let target = EventTarget::parse(OsStr::new(typed)).expect("right");
            let word = target.word(|path| Path::new("/w").join(path));
            let again = EventTarget::parse(&word).expect("right");
            assert_eq!(again.to_string(), typed.replace('a', "/w/a"));
        }
    }
}
