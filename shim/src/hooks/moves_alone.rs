//! Moves an object that must not be a directory, with link(2) and unlink(2). The kernel refuses both for a directory,
//! even if the name was something else when it was judged.

use core::ffi::{CStr, c_int, c_uint};

use jp_confine_engine::moves::{Movable, TRIAL, Way, trial_name};

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::sys::{self, process};

/// Marks a directory. Not an error of the system: reporting from here would take stack.
pub(super) const STAYS: Errno = Errno(0);

/// Marks a symlink, which must not move either. These calls never return this error themselves.
pub(super) const LENDS: Errno = Errno::ELOOP;

/// The two names of a move, in pinned directories.
pub(super) struct Names<'a> {
    pub(super) old: (c_int, &'a CStr),
    pub(super) new: (c_int, &'a CStr),
}

/// How often to remove a destination that others recreate meanwhile.
const ATTEMPTS: usize = 8;

/// Like rename(2) with flags of [`sys::rename`], except for directories. This takes several steps, so other threads may
/// briefly see both names, or no destination while one is being replaced.
///
/// # Errors
/// [`STAYS`], [`LENDS`], or the kernel's. `EXDEV`, after which programs copy, if the kernel cannot create such a link,
/// or if the destination may not be replaced. Checks before a replacement should keep the destination on an error.
#[cold]
#[inline(never)]
pub(super) fn move_alone(names: &Names<'_>, flags: c_uint, way: Way) -> Result<(), Errno> {
    let Names { old: (old_dir, old), new: (new_dir, new) } = *names;
    // Only a single step can put a whiteout in the place of the source.
    if flags & !sys::RENAME_NOREPLACE != 0 {
        return Err(STAYS);
    }
    if new.to_bytes().ends_with(b"/") {
        return Err(sys::find(old_dir, old).err().unwrap_or(Errno::ENOTDIR));
    }
    let before = sys::identity(&sys::look(old_dir, old)?);
    let mut linked = link(names.old, names.new, way.movable);
    let replaces = linked == Err(Errno::EEXIST) && flags == 0;
    for _ in 0..ATTEMPTS {
        if linked != Err(Errno::EEXIST) || !replaces {
            break;
        }
        if !make_way(names, way)? {
            return Ok(());
        }
        linked = link(names.old, names.new, way.movable);
    }
    linked.map_err(|errno| without_link(names, errno))?;
    // If others put something there meanwhile, it is theirs.
    if sys::look(old_dir, old).is_ok_and(|found| sys::identity(&found) != before) {
        return Ok(());
    }
    sys::unlinkat(old_dir, old, 0).map_err(|errno| {
        if !replaces {
            let _ = sys::unlinkat(new_dir, new, 0);
        }
        if sys::is_directory(old_dir, old) { STAYS } else { errno }
    })
}

fn link(from: (c_int, &CStr), to: (c_int, &CStr), movable: Movable) -> Result<(), Errno> {
    match movable {
        Movable::NoDirectory => sys::link_entry(from, to),
        Movable::NoSymlink => sys::link_plain(from, to),
    }
}

/// Removes the destination once the rest is sure to succeed. Returns false if it is the same file as the source.
fn make_way(names: &Names<'_>, way: Way) -> Result<bool, Errno> {
    let Names { old: (old_dir, old), new: (new_dir, new) } = *names;
    if sys::is_directory(old_dir, old) {
        return Err(STAYS);
    }
    let here = sys::look(old_dir, old)?;
    let there = match sys::look(new_dir, new) {
        Err(Errno::ENOENT) => return Ok(true),
        found => found?,
    };
    if sys::identity(&here) == sys::identity(&there) {
        return Ok(false);
    }
    if sys::is_directory(new_dir, new) {
        return Err(Errno::EISDIR);
    }
    if !way.tries {
        return Err(Errno::EXDEV);
    }
    demand_removable(old_dir, &here)?;
    try_link(names, way.movable)?;
    sys::unlinkat(new_dir, new, 0).map(|()| true)
}

/// Whether an entry of this directory can be removed later, as far as that can be known.
///
/// # Errors
/// The kernel's; `EXDEV` if a sticky directory may keep it. A copy then shows.
#[inline(never)]
fn demand_removable(directory: c_int, entry: &libc::stat) -> Result<(), Errno> {
    sys::faccessat(directory, c".".as_ptr(), libc::W_OK | libc::X_OK, 0)?;
    let around = sys::look(directory, c".")?;
    let user = process::effective_user()?;
    let is_sticky = around.st_mode & libc::S_ISVTX != 0;
    let is_ours = user == around.st_uid || user == entry.st_uid;
    if is_sticky && !is_ours { Err(Errno::EXDEV) } else { Ok(()) }
}

/// Creates a trial link beside the destination and removes it. The kernel may deny links to this file, or on this
/// filesystem.
#[inline(never)]
fn try_link(names: &Names<'_>, movable: Movable) -> Result<(), Errno> {
    let directory = names.new.0;
    let mut random = [0; 16];
    sys::random(&mut random)?;
    let mut name = Buffer::<{ TRIAL + 1 }>::new();
    name.push(&trial_name(random))?;
    let tried = link(names.old, (directory, name.c_str(0)), movable);
    tried.map_err(|errno| match without_link(names, errno) {
        Errno::EEXIST => Errno::EXDEV,
        errno => errno,
    })?;
    sys::unlinkat(directory, name.c_str(0), 0)
}

/// The error for a move whose link failed.
fn without_link(names: &Names<'_>, errno: Errno) -> Errno {
    let (dir, name) = names.old;
    match errno {
        Errno::EPERM if sys::is_directory(dir, name) => STAYS,
        Errno::EPERM | Errno::EMLINK | Errno::ENOTSUP => Errno::EXDEV,
        errno => errno,
    }
}
