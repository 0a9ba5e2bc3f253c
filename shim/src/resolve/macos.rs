//! Pins an object by its directory. `F_GETPATH` (fcntl(2)) tells the directory's path in the case and normal form of
//! the volume, and through firmlinks. The last component is then examined there, symlink by symlink.
//!
//! No spelling is trusted, even without a symlink on its way. Volumes ignore the case of names, and
//! `/System/Volumes/Data` leads to the same objects as `/`.

use core::ffi::{CStr, c_int};

use jp_confine_engine::image::Image;

use super::{LINK_BUDGET, entry};
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::fd_paths;
use crate::path::Spelling;
use crate::sys::{self, ANONYMOUS, Fd, NAME, Object};

pub(super) const TRUSTS_SPELLING: bool = false;

/// Whether a text of [`locate`] stands for an object without a path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    text == ANONYMOUS
}

/// Stores the canonical path of an open descriptor in `to`.
///
/// # Errors
/// `EBADF`, or `EACCES` if the place is unknown.
pub(crate) fn locate(fd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    fd_paths::of_descriptor(fd, to)
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

/// Stores the canonical path of a pinned object in `to`.
///
/// # Errors
/// As [`locate`].
pub(crate) fn place_of(object: &Object, to: &mut PathBuffer) -> Result<(), Errno> {
    object.place(to)
}

/// Respells a path that leads nowhere by the place where it would lead. If the directory of the last component is
/// missing, only removes each `..`.
pub(crate) fn place_absent(image: &Image<'_>, spelling: &mut Spelling) {
    for _ in 0..LINK_BUDGET {
        let mut next = PathBuffer::new();
        let Ok(Some(entry)) = entry(image, spelling) else { break };
        let link =
            next.fill(|bytes, room| sys::readlinkat(entry.dirfd(), entry.name(), bytes, room));
        if link.is_err() {
            return;
        }
        if spelling.follow(next.as_bytes()).is_err() {
            break;
        }
    }
    spelling.collapse();
}

/// Always allows: descriptors of other processes have no names here, so an object without a path is the program's own.
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

/// Pins the object that `spelling` leads to; with `O_NOFOLLOW` in `flags`, a symlink at the end itself. Stores its
/// canonical path in `path`.
///
/// # Errors
/// The kernel's for a path that leads nowhere; `EACCES` if the place is unknown.
pub(crate) fn pin(
    _image: &Image<'_>,
    spelling: &Spelling,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<Object, Errno> {
    pin_as_spelled(spelling, flags, path)
}

/// As [`pin`].
///
/// # Errors
/// As [`pin`].
pub(crate) fn pin_as_spelled(
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
        let directory = hold(&mut way, split.name_at, |_| Ok(()))?;
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

/// Pins a directory itself. It is the root, `.` or `..`, or a directory whose own path may differ from its parent's
/// path plus its name, as with firmlinks.
fn pin_directory(way: &Spelling, path: &mut PathBuffer) -> Result<Object, Errno> {
    let (dirfd, spelled) = way.as_spelled();
    let flags = sys::HOLD_DIRECTORY | libc::O_NOFOLLOW;
    let directory = sys::openat(dirfd, spelled, flags, 0)?;
    locate(directory.raw(), path)?;
    let mut name = Buffer::new();
    name.push(b".")?;
    Ok(Object { directory, name })
}

/// Pins the directory of the entry whose name begins at `name_at`. Calls `before`, and then respells the entry from
/// there. If the entry exists, it gets the directory's own name for it. It loses a trailing slash.
///
/// # Errors
/// The kernel's, and those of `before`; `EACCES` if the place is unknown.
pub(super) fn hold_directory(
    _image: &Image<'_>,
    spelling: &mut Spelling,
    name_at: usize,
    before: impl FnOnce(&Spelling) -> Result<(), Errno>,
) -> Result<Fd, Errno> {
    hold(spelling, name_at, before)
}

fn hold(
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
    // For a file with several names, the system may tell another one.
    let same = known.eq_ignore_ascii_case(given) || !given.is_ascii();
    spelling.rename(if told.is_ok() && same { known } else { given })?;
    Ok(fd)
}

/// Fails for an entry with a trailing slash that is not a directory. The kernel does not get the slash, because it
/// would follow a symlink there.
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
