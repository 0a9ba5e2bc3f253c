//! Finds the canonical paths of directory descriptors and the working directory. Used by `path` and `resolve`.

use core::ffi::c_int;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::path_cache::CachedPath;
use crate::{sys, working_directory};

/// The kernel's mark on the path of a removed object (proc(5)).
#[cfg(target_os = "linux")]
pub(crate) const REMOVED: &[u8] = b" (deleted)";

/// The name of a descriptor in the filesystem.
#[cfg(target_os = "linux")]
pub(crate) struct DescriptorLink {
    text: [u8; 32],
}

#[cfg(target_os = "linux")]
impl DescriptorLink {
    pub(crate) fn new(fd: c_int) -> Self {
        let mut digits = [0_u8; 12];
        let mut first = digits.len();
        let mut value = fd.unsigned_abs();
        loop {
            first = first.saturating_sub(1);
            let digit = u8::try_from(value % 10).unwrap_or(0);
            if let Some(slot) = digits.get_mut(first) {
                *slot = b'0'.saturating_add(digit);
            }
            value /= 10;
            if value == 0 {
                break;
            }
        }
        let number = digits.get(first..).unwrap_or(&[]);
        let mut text = [0_u8; 32];
        for (to, &from) in text.iter_mut().zip(sys::DESCRIPTORS.iter().chain(number)) {
            *to = from;
        }
        Self { text }
    }

    pub(crate) fn as_c_str(&self) -> &core::ffi::CStr {
        core::ffi::CStr::from_bytes_until_nul(&self.text).unwrap_or(c"")
    }
}

/// Stores the canonical path of `dirfd` in `to`; for `AT_FDCWD`, that of the working directory.
///
/// # Errors
/// `EBADF` for a closed descriptor, `ENOTDIR` for one that is not a directory, `EACCES` for one without a path, and
/// `ENAMETOOLONG`.
pub(crate) fn of_directory(dirfd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    if dirfd == libc::AT_FDCWD {
        return working_directory::read(to);
    }
    let stat = sys::fstat(dirfd)?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return Err(Errno::ENOTDIR);
    }
    let remembered = slot(&stat).ok_or(Errno::EACCES)?;
    remembered.read(sys::identity(&stat), to, |to| of_descriptor(dirfd, to))?;
    if to.as_bytes().first() == Some(&b'/') { Ok(()) } else { Err(Errno::EACCES) }
}

/// Remembers for [`of_directory`] that the directory open on `dirfd` was at `path` in the generation `since`
/// ([`path_cache::now`](crate::path_cache::now)).
#[cfg(target_os = "linux")]
pub(crate) fn remember(dirfd: c_int, path: &[u8], since: u64) {
    let Ok(stat) = sys::fstat(dirfd) else { return };
    if let Some(place) = slot(&stat) {
        place.keep(sys::identity(&stat), path, since);
    }
}

/// Like [`of_directory`], ignoring remembered paths.
///
/// # Errors
/// As [`of_directory`].
#[cfg(target_os = "linux")]
pub(crate) fn ask<const N: usize>(dirfd: c_int, to: &mut Buffer<N>) -> Result<(), Errno> {
    if dirfd == libc::AT_FDCWD { working_directory::ask(to) } else { of_descriptor(dirfd, to) }
}

const SLOTS: usize = 32;

/// Paths of directories that descriptors were open on.
static DIRECTORIES: [CachedPath; SLOTS] = [const { CachedPath::new() }; SLOTS];

/// The slot for a directory. A directory has one path, whichever descriptor leads to it.
fn slot(stat: &libc::stat) -> Option<&'static CachedPath> {
    DIRECTORIES.get(usize::try_from(stat.st_ino).unwrap_or(0) % SLOTS)
}

/// Stores the path of a descriptor's object in `to`. For an object without a path, the text satisfies
/// [`is_anonymous`](crate::resolve::is_anonymous).
///
/// # Errors
/// `EBADF` for a closed descriptor; `EACCES` if the system does not tell the path.
pub(crate) fn of_descriptor<const N: usize>(fd: c_int, to: &mut Buffer<N>) -> Result<(), Errno> {
    if fd < 0 {
        return Err(Errno::EBADF);
    }
    to.fill(|bytes, room| sys::path_of(fd, bytes, room))
}
