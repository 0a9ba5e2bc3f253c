//! Opens the files that the launcher itself reads and writes: configuration, logs, stores and outputs.
//!
//! The launcher is not confined, and a program of an earlier run may have left a symlink or a FIFO where a file is
//! expected (`docs/decisions/0042-files-of-the-launcher.md`). So opening a path never waits, and the launcher writes
//! to names in a pinned directory.

pub(crate) mod place;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::io::Errno;

pub(crate) use self::place::{Unsafe, WritePlace};

/// Longest file that the launcher reads from its own directories, in bytes.
pub(crate) const LONGEST: u64 = 64 << 20;

/// A length that few files exceed, in bytes. They are read at once.
const USUAL: usize = 4096;

/// The permissions of a lock file.
pub(crate) const LOCK_MODE: Mode = Mode::from_raw_mode(0o200);

/// Flags of an open that never waits and never makes a terminal the controlling one.
const AT_ONCE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Reads the regular file at `path`, of at most `longest` bytes. Symlinks are followed: the caller must know that no
/// run could have created them.
///
/// # Errors
/// Those of `open(2)` and `read(2)`. Also if it is not a regular file, or is longer.
pub(crate) fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    read_all(open_file(path)?, longest)
}

/// Like [`read`], of a file in one of jp-confine's own directories, which is never a symlink.
///
/// # Errors
/// Those of [`read`], and `ELOOP` for a symlink.
pub(crate) fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    read_all(open_own(path)?, LONGEST)
}

/// Reads `file`, of at most `longest` bytes.
///
/// # Errors
/// Those of `read(2)`. Also if the file is longer.
pub(crate) fn read_all(file: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::with_capacity(USUAL);
    file.take(longest.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > longest {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(content)
}

/// Opens the regular file at `path` for reading. Symlinks are followed.
///
/// # Errors
/// Those of `open(2)`. Also if it is not a regular file.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    regular(open(path, OFlags::RDONLY | AT_ONCE, Mode::empty())?)
}

/// Like [`open_file`], but a symlink at the end is an error.
///
/// # Errors
/// Those of [`open_file`], and `ELOOP` for a symlink.
pub(crate) fn open_own(path: &Path) -> io::Result<File> {
    regular(open(path, OFlags::RDONLY | OFlags::NOFOLLOW | AT_ONCE, Mode::empty())?)
}

/// Opens the lock file at `path`, in one of jp-confine's own directories. If `make` is set, it is created.
/// Its owner may only write it, so a program that may read the directory cannot open it and hold the lock.
/// Root's programs still can.
///
/// # Errors
/// Those of [`open_own`].
pub(crate) fn open_lock(path: &Path, make: bool) -> io::Result<File> {
    let create = if make { OFlags::CREATE } else { OFlags::empty() };
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | AT_ONCE | create;
    regular(open(path, flags, LOCK_MODE)?)
}

/// Opens a descriptor that this process was given, by its `path`, such as a shell's pipe `/dev/fd/63`. Reading from
/// it may wait.
///
/// # Errors
/// Those of `open(2)`.
pub(crate) fn open_given(path: &Path) -> io::Result<File> {
    Ok(open(path, OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// The descriptor of this process that `path` names as it is typed.
pub(crate) fn given(path: &Path) -> Option<i32> {
    let name = match path.as_os_str().as_bytes() {
        b"/dev/stdin" => return Some(0),
        b"/dev/stdout" => return Some(1),
        b"/dev/stderr" => return Some(2),
        path => path.strip_prefix(b"/dev/fd/").or_else(|| path.strip_prefix(b"/proc/self/fd/"))?,
    };
    number(name)
}

/// The descriptor with this number in decimal digits.
pub(crate) fn number(digits: &[u8]) -> Option<i32> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// `file`, if it is a regular file.
fn regular(file: OwnedFd) -> io::Result<File> {
    match kind(&fstat(&file)?) {
        FileType::RegularFile => Ok(file.into()),
        other => Err(unfit(other)),
    }
}

fn kind(status: &Stat) -> FileType {
    FileType::from_raw_mode(status.st_mode)
}

/// Why a file of this kind is not used.
fn unfit(kind: FileType) -> io::Error {
    match kind {
        FileType::Directory => Errno::ISDIR.into(),
        FileType::Symlink => Errno::LOOP.into(),
        FileType::Fifo => io::Error::other("it is a pipe"),
        _ => io::Error::other("it is no regular file"),
    }
}

/// Whether the file at this canonical path is a character device of the system.
fn is_system_device(path: &Path, kind: FileType) -> bool {
    kind == FileType::CharacterDevice && path.starts_with("/dev")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::mknodat;

    use super::*;

    #[test]
    fn descriptors_are_known_by_how_they_are_typed() {
        for (path, number) in [
            ("/dev/stdin", Some(0)),
            ("/dev/stderr", Some(2)),
            ("/dev/fd/63", Some(63)),
            ("/proc/self/fd/4", Some(4)),
            ("/dev/fd/", None),
            ("/dev/fd/+1", None),
            ("/dev/fd/1/x", None),
            ("/proc/self/fd/99999999999", None),
            ("dev/stdin", None),
        ] {
            assert_eq!(given(Path::new(path)), number, "{path}");
        }
    }

    #[test]
    fn only_files_are_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), "text").expect("written");
        symlink("file", path("link")).expect("linked");
        mknodat(rustix::fs::CWD, path("pipe"), FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        symlink("pipe", path("to-pipe")).expect("linked");
        assert_eq!(read(&path("link"), 4).expect("read"), b"text");
        assert_eq!(read(&path("file"), 3).expect_err("long").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read_own(&path("file")).expect("read"), b"text");
        assert!(read_own(&path("link")).is_err());
        for name in ["pipe", "to-pipe", ".", "none"] {
            assert!(read(&path(name), 4).is_err(), "{name}");
            assert!(read_own(&path(name)).is_err(), "{name}");
            assert!(open_lock(&path(name), false).is_err(), "{name}");
        }
        assert!(read(Path::new("/dev/zero"), 4).is_err());
    }
}
