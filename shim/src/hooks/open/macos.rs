//! Opens files relative to their pinned directory. The policy judges the directory's canonical path plus the entry's
//! own name, and no symlink is followed there.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::decide::OpenVerdict;
use jp_confine_engine::image::Image;

use super::{Failure, How, attempt, create, judge_missing};
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::Subject;
use crate::{resolve, sys};

/// The flags that prevent following a symlink at the end of the path.
pub(super) const STOPS_AT_LINK: c_int = libc::O_NOFOLLOW | libc::O_NOFOLLOW_ANY | libc::O_SYMLINK;

/// Keeps all flags, because the kernel knows their meaning.
pub(super) const fn known(flags: c_int) -> c_int {
    flags
}

/// Opens a name. Fails with `ELOOP` if a symlink is on the way. With `O_SYMLINK`, opens a symlink at the end itself.
pub(super) fn open_without_links(dirfd: c_int, path: &CStr, how: How) -> Result<sys::Fd, Errno> {
    let flags = if how.has(libc::O_SYMLINK) {
        how.flags & !(libc::O_NOFOLLOW | libc::O_NOFOLLOW_ANY)
    } else {
        how.flags & !libc::O_NOFOLLOW | libc::O_NOFOLLOW_ANY
    };
    sys::openat(dirfd, path, flags, how.mode)
}

/// Only the library judges opens on macOS.
pub(super) fn open_as_held(
    _image: &Image<'_>,
    _dirfd: c_int,
    _path: *const c_char,
    _how: How,
    judged: impl FnOnce() -> Result<c_int, Errno>,
) -> Result<c_int, Errno> {
    judged()
}

/// Like [`open_at`](super::open_at), for a path that has been read.
///
/// # Errors
/// As [`open_at`](super::open_at).
pub(crate) fn open_spelled(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
) -> Result<c_int, Errno> {
    let outcome = if must_be_directory(spelling) {
        open_directory(image, call, spelling, how)
    } else if how.has(libc::O_NOFOLLOW_ANY) && has_links(spelling) {
        Err(Failure::Nowhere(Errno::ELOOP))
    } else {
        match create(image, call, spelling, how, Errno::EISDIR) {
            // A symlink led to a directory.
            Err(Failure::Nowhere(Errno::EISDIR | Errno::ENOTDIR))
                if must_be_directory(spelling) =>
            {
                open_directory(image, call, spelling, how)
            }
            settled => settled,
        }
    };
    outcome.map_err(|failure| match failure {
        Failure::Settled(errno) => errno,
        Failure::Nowhere(errno) => judge_missing(image, call, spelling, how, errno),
    })
}

/// Whether the path ends in `.`, `..`, or a slash.
fn must_be_directory(spelling: &Spelling) -> bool {
    spelling.wants_directory() || !spelling.split().ordinary
}

/// Whether a symlink is on the way to the entry.
fn has_links(spelling: &mut Spelling) -> bool {
    let (dirfd, start, end) = (spelling.dirfd(), spelling.tail(), spelling.split().name_at);
    let flags = sys::HOLD_DIRECTORY | libc::O_NOFOLLOW_ANY;
    let held = spelling.text_mut().with_part(start, end, |directory| {
        let directory = if directory.is_empty() { c"." } else { directory };
        sys::openat(dirfd, directory, flags, 0)
    });
    held.is_err_and(|errno| errno == Errno::ELOOP)
}

/// Opens `.`, `..` or the root, or a path with a trailing slash. Symlinks before the slash are followed.
fn open_directory(
    image: &Image<'_>,
    call: &CStr,
    spelling: &Spelling,
    how: How,
) -> Result<c_int, Failure> {
    let mut path = PathBuffer::new();
    let held = resolve::pin(image, spelling, 0, &mut path).map_err(Failure::Nowhere)?;
    let subject = Subject::new(call, path.as_bytes());
    let existing = how.without(libc::O_CREAT);
    existing.apply_verdict(image, &subject.request(), subject).map_err(Failure::Settled)?;
    let opened =
        attempt(image, OpenVerdict::Allow, subject, held.directory.raw(), held.name.c_str(0), how)
            .map_err(Failure::Settled)?;
    super::in_place_of(held.directory, &sys::Fd::adopt(opened), how).map_err(Failure::Settled)
}
