//! Writes the files that lead Git to a repository elsewhere. The supervisor writes the line that Git would, whatever
//! the program writes. So no run can choose the repository. Used by `open`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::decide::Request;
use jp_confine_engine::{Capabilities, git_links};
use rustix::fs::{FileType, MemfdFlags, OFlags, fstat, memfd_create, openat};
use rustix::io::Errno;

use super::open::OpenArguments;
use crate::record::usage::UseKind;
use crate::supervisor::resolve::location::{self, ObjectLocation};
use crate::supervisor::resolve::object::{Object, PinnedEntry};
use crate::supervisor::task::Task;

/// Creates such a file, and gives the program a file in memory to write to. `None` if it is no such file, or a person
/// decides.
///
/// # Errors
/// The kernel's errors, and `EEXIST` if the file exists by now.
pub(super) fn create(
    task: &Task<'_>,
    entry: &PinnedEntry,
    how: OpenArguments,
) -> Result<Option<OwnedFd>, Errno> {
    let Some(text) = text(task, &entry.request(), how, Capabilities::CREATE) else {
        return Ok(None);
    };
    task.prepare_to_make()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = openat(&entry.directory, &entry.name, flags, how.mode())?;
    let written = File::from(made).write_all(&text);
    written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    task.learn(UseKind::Made, &entry.path, how.need_to_make());
    in_memory().map(Some)
}

/// Opens such a file for a program that rewrites it. `None` if the file does not already have that text.
///
/// # Errors
/// The kernel's.
pub(super) fn rewrite(
    task: &Task<'_>,
    object: &Object,
    request: &Request<'_>,
    how: OpenArguments,
) -> Result<Option<OwnedFd>, Errno> {
    if object.kind() != FileType::RegularFile || !how.has(libc::O_TRUNC) {
        return Ok(None);
    }
    let Some(text) = text(task, request, how, Capabilities::UPDATE) else { return Ok(None) };
    let file = task.caller.proc().reopen(object.file.as_fd(), OFlags::RDONLY | OFlags::CLOEXEC)?;
    let mut bytes = Vec::new();
    let read = File::from(file).take(text.len() as u64 + 1).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes == text => {
            task.learn(UseKind::Used, request.path, how.need_on_existing());
            in_memory().map(Some)
        }
        _ => Ok(None),
    }
}

/// The text that the file must have, if only the list of auto-run files denies the write.
fn text(
    task: &Task<'_>,
    request: &Request<'_>,
    how: OpenArguments,
    need: Capabilities,
) -> Option<Vec<u8>> {
    let only_writes =
        how.flags() & (libc::O_ACCMODE | libc::O_PATH | libc::O_APPEND) == libc::O_WRONLY;
    if !only_writes || !git_links::is_kept_by_list_alone(task.image(), request, need) {
        return None;
    }
    let cwd = task.caller.working_directory().ok()?;
    let Ok(ObjectLocation::Named(cwd)) =
        location::of(&task.caller, cwd.as_fd(), &fstat(&cwd).ok()?)
    else {
        return None;
    };
    git_links::text(task.image(), request.path, Path::new(OsStr::from_bytes(&cwd)))
}

/// A file for the program to write to, which nobody reads.
fn in_memory() -> Result<OwnedFd, Errno> {
    memfd_create("jp-confine written", MemfdFlags::CLOEXEC)
}
