//! Finds the canonical paths of descriptors and of the working directory.

use core::ffi::c_int;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::remembered::Remembered;
use crate::{sys, working_directory};

/// The kernel's mark on the path of a deleted file (proc(5)).
#[cfg(target_os = "linux")]
pub(crate) const REMOVED: &[u8] = b" (deleted)";

/// The path of a descriptor in `/proc`.
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

/// Puts the canonical path of `dirfd` into `to`. `AT_FDCWD` means the working directory.
///
/// # Errors
/// `EBADF` for a descriptor that is not open, `EACCES` for one without a path, and `ENAMETOOLONG`.
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

/// Remembers for [`of_directory`] that the directory of `dirfd` was at `path` in the generation `since`
/// ([`remembered::now`](crate::remembered::now)).
#[cfg(target_os = "linux")]
pub(crate) fn remember(dirfd: c_int, path: &[u8], since: u64) {
    let Ok(stat) = sys::fstat(dirfd) else { return };
    if let Some(place) = slot(&stat) {
        place.keep(sys::identity(&stat), path, since);
    }
}

/// As [`of_directory`], but always asks the kernel.
///
/// # Errors
/// As for [`of_directory`].
#[cfg(target_os = "linux")]
pub(crate) fn ask<const N: usize>(dirfd: c_int, to: &mut Buffer<N>) -> Result<(), Errno> {
    if dirfd == libc::AT_FDCWD { working_directory::ask(to) } else { of_descriptor(dirfd, to) }
}

const SLOTS: usize = 32;

/// The paths of directories that were open on descriptors.
static DIRECTORIES: [Remembered; SLOTS] = [const { Remembered::new() }; SLOTS];

/// The slot of a directory. A directory has one path, whichever descriptor leads to it.
fn slot(stat: &libc::stat) -> Option<&'static Remembered> {
    DIRECTORIES.get(usize::try_from(stat.st_ino).unwrap_or(0) % SLOTS)
}

/// Puts the path of a descriptor's object into `to`. For an object without a path, the text
/// [`is_anonymous`](crate::resolve::is_anonymous).
///
/// # Errors
/// `EBADF` for a descriptor that is not open. `EACCES` if the system does not return the path.
pub(crate) fn of_descriptor<const N: usize>(fd: c_int, to: &mut Buffer<N>) -> Result<(), Errno> {
    if fd < 0 {
        return Err(Errno::EBADF);
    }
    to.fill(|bytes, room| sys::path_of(fd, bytes, room))
}
