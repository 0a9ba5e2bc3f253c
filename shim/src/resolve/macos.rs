//! Pins objects by their directory. `F_GETPATH` (fcntl(2)) returns its path, in the volume's case and normal form and
//! with firmlinks. The last component is then resolved there, symlink by symlink.
//!
//! No spelling is trusted, even without symlinks. Volumes ignore the case of names, and `/System/Volumes/Data` leads to
//! objects that `/` shows, too.

use core::ffi::{CStr, c_int};

use jp_confine_policy::image::Image;

use super::LINK_BUDGET;
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::path::Spelling;
use crate::places;
use crate::sys::{self, ANONYMOUS, Fd, NAME, Object};

pub(super) const TRUSTS_SPELLING: bool = false;

/// Whether a text of [`locate`] stands for an object without a path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    text == ANONYMOUS
}

/// Puts the canonical path of an open descriptor into `to`.
///
/// # Errors
/// `EBADF`, or `EACCES` if the object's path is unknown.
pub(crate) fn locate(fd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    places::of_descriptor(fd, to)
}

/// Opens the pinned object.
///
/// # Errors
/// As open(2).
pub(crate) fn open_held(
    object: &Object,
    _status: &libc::stat,
    _spelling: &Spelling,
    flags: c_int,
) -> Result<Fd, Errno> {
    sys::reopen(object, flags)
}

/// Puts the canonical path of a pinned object into `to`.
///
/// # Errors
/// As [`locate`].
pub(crate) fn place_of(object: &Object, to: &mut PathBuffer) -> Result<(), Errno> {
    object.place(to)
}

/// Removes the `..` from a path that does not exist. The policy is asked about the path as spelled.
pub(crate) fn place_absent(_image: &Image<'_>, spelling: &mut Spelling) -> bool {
    spelling.collapse();
    false
}

/// Always succeeds. On macOS the descriptors of other processes have no names, so an object without a path is the
/// program's own.
///
/// # Errors
/// None occur.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it may be refused")]
pub(crate) const fn require_own(
    _image: &Image<'_>,
    _call: &CStr,
    _spelling: &mut Spelling,
) -> Result<(), Errno> {
    Ok(())
}

/// Pins the object that `spelling` leads to. With `O_NOFOLLOW` in `flags`, pins a symlink at the end itself. Writes the
/// canonical path to `path`.
///
/// # Errors
/// The kernel's, if the path does not exist. `EACCES` if the object's path is unknown.
pub(crate) fn pin(
    spelling: &Spelling,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<Object, Errno> {
    let follow = flags & libc::O_NOFOLLOW == 0;
    let mut way = Spelling::new();
    way.copy(spelling)?;
    for _ in 0..LINK_BUDGET {
        let split = way.split();
        if !split.ordinary {
            return pin_directory(&way, path);
        }
        let slash = way.wants_directory();
        let directory = hold_directory(&mut way, split.name_at, |_| Ok(()))?;
        let name_at = way.split().name_at;
        let mut name = Buffer::<NAME>::new();
        name.push(way.lexical().get(name_at..).unwrap_or(&[]))?;
        let stat = sys::look(directory.raw(), name.c_str(0))?;
        let kind = stat.st_mode & libc::S_IFMT;
        if kind == libc::S_IFLNK && (follow || slash) {
            path.fill(|bytes, room| sys::readlinkat(directory.raw(), name.c_str(0), bytes, room))?;
            way.follow(path.as_bytes())?;
            if slash {
                way.end_in_slash()?;
            }
            continue;
        }
        if kind == libc::S_IFDIR
            && let Ok(object) = pin_directory(&way, path)
        {
            return Ok(object);
        }
        if slash && kind != libc::S_IFDIR {
            return Err(Errno::ENOTDIR);
        }
        path.clear();
        path.push(way.lexical())?;
        return Ok(Object { directory, name });
    }
    Err(Errno::ELOOP)
}

/// Pins a directory itself: the root, `.` or `..`, or one whose path may differ from its parent's path and its name, as
/// with firmlinks.
fn pin_directory(way: &Spelling, path: &mut PathBuffer) -> Result<Object, Errno> {
    let (dirfd, spelled) = way.as_spelled();
    let flags = sys::HOLD_DIRECTORY | libc::O_NOFOLLOW;
    let directory = sys::openat(dirfd, spelled, flags, 0)?;
    locate(directory.raw(), path)?;
    let mut name = Buffer::new();
    name.push(b".")?;
    Ok(Object { directory, name })
}

/// Pins the directory of the entry whose name begins at `name_at`, and calls `before` first. Respells the entry from
/// there, without a trailing slash. If the entry exists, uses the name that the directory has for it.
///
/// # Errors
/// The kernel's, and those of `before`. `EACCES` if the directory's path is unknown.
pub(super) fn hold_directory(
    spelling: &mut Spelling,
    name_at: usize,
    before: impl FnOnce(&Spelling) -> Result<(), Errno>,
) -> Result<Fd, Errno> {
    before(spelling)?;
    let (dirfd, start) = (spelling.dirfd(), spelling.tail());
    let fd = spelling.text_mut().with_part(start, name_at, |directory| {
        let directory = if directory.is_empty() { c"." } else { directory };
        sys::openat(dirfd, directory, sys::HOLD_DIRECTORY, 0)
    })?;
    spelling.respell_directory(|path| locate(fd.raw(), path))?;
    let mut name = Buffer::<NAME>::new();
    name.push(spelling.lexical().get(spelling.split().name_at..).unwrap_or(&[]))?;
    let mut known = Buffer::<NAME>::new();
    let told = sys::true_name(fd.raw(), name.c_str(0), &mut known);
    let (given, known) = (name.as_bytes(), known.as_bytes());
    // A file with several names may be returned under another one.
    let same = known.eq_ignore_ascii_case(given) || !given.is_ascii();
    spelling.rename(if told.is_ok() && same { known } else { given })?;
    Ok(fd)
}

/// Rejects an entry with a trailing slash that is not a directory. The kernel would follow a symlink there, so it does
/// not get to see the slash.
///
/// # Errors
/// `ENOTDIR`.
pub(super) fn require_directory(directory: &Fd, spelling: &Spelling) -> Result<(), Errno> {
    if !spelling.wants_directory() {
        return Ok(());
    }
    let name_at = spelling.split().name_at;
    match sys::look(directory.raw(), spelling.text().c_str(name_at)) {
        Ok(stat) if stat.st_mode & libc::S_IFMT != libc::S_IFDIR => Err(Errno::ENOTDIR),
        _ => Ok(()),
    }
}
