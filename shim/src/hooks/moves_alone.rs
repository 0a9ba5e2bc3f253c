//! Moving what takes nothing along: by link(2) and unlink(2), which the kernel refuses for a directory whatever stood
//! under a name when it was judged.

use core::ffi::{CStr, c_int, c_uint};

use jp_confine_policy::moves::Movable;

use crate::errno::Errno;
use crate::sys;

/// No error of the system's: it is a directory. To report that from here takes stack.
pub(super) const STAYS: Errno = Errno(0);

/// No error of these calls: it is a symlink, and must not go either.
pub(super) const LENDS: Errno = Errno::ELOOP;

/// The two names of a move, in directories that are held.
pub(super) struct Names<'a> {
    pub(super) old: (c_int, &'a CStr),
    pub(super) new: (c_int, &'a CStr),
}

/// As rename(2) with flags of [`sys::rename`], of what is no directory: not in one step, so that other threads may see
/// both names for a moment, or no destination where one is replaced.
///
/// # Errors
/// [`STAYS`], [`LENDS`]; else the kernel's, `EXDEV` where it makes no such link, upon which programs copy.
#[cold]
#[inline(never)]
pub(super) fn move_alone(names: &Names<'_>, flags: c_uint, movable: Movable) -> Result<(), Errno> {
    let Names { old: (old_dir, old), new: (new_dir, new) } = *names;
    // A whiteout takes the place of what goes in one step only.
    if flags & !sys::RENAME_NOREPLACE != 0 {
        return Err(STAYS);
    }
    if new.to_bytes().ends_with(b"/") {
        return Err(sys::find(old_dir, old).err().unwrap_or(Errno::ENOTDIR));
    }
    let link = match movable {
        Movable::NoDirectory => sys::link_entry,
        Movable::NoSymlink => sys::link_plain,
    };
    let mut linked = link(names.old, names.new);
    let replaces = linked == Err(Errno::EEXIST) && flags == 0;
    if replaces {
        if !make_way(names)? {
            return Ok(());
        }
        linked = link(names.old, names.new);
    }
    linked.map_err(|errno| without_link(names, errno))?;
    sys::unlinkat(old_dir, old, 0).map_err(|errno| {
        if !replaces {
            let _ = sys::unlinkat(new_dir, new, 0);
        }
        if sys::is_directory(old_dir, old) { STAYS } else { errno }
    })
}

/// Removes what is at the destination; whether that is another file than the one that is to go there.
fn make_way(names: &Names<'_>) -> Result<bool, Errno> {
    let Names { old: (old_dir, old), new: (new_dir, new) } = *names;
    if sys::is_directory(old_dir, old) {
        return Err(STAYS);
    }
    let here = sys::identity(&sys::look(old_dir, old)?);
    let there = match sys::look(new_dir, new) {
        Err(Errno::ENOENT) => return Ok(true),
        found => sys::identity(&found?),
    };
    if here == there {
        return Ok(false);
    }
    if sys::is_directory(new_dir, new) {
        return Err(Errno::EISDIR);
    }
    // No link leads from one file system to another: nothing is removed for it.
    let ([device, _], [other, _]) = (here, there);
    if device != other {
        return Err(Errno::EXDEV);
    }
    sys::unlinkat(new_dir, new, 0).map(|()| true)
}

/// What it comes to that there is no link.
fn without_link(names: &Names<'_>, errno: Errno) -> Errno {
    let (dir, name) = names.old;
    match errno {
        Errno::EPERM if sys::is_directory(dir, name) => STAYS,
        Errno::EPERM | Errno::EMLINK | Errno::ENOTSUP => Errno::EXDEV,
        errno => errno,
    }
}
