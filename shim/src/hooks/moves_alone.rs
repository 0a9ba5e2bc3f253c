//! Moves a file, never a directory, by link(2) and unlink(2). The kernel denies these for a directory, even if one has
//! taken the place of the file since the check.

use core::ffi::{CStr, c_int, c_uint};

use jp_confine_policy::moves::{Movable, TRIAL, Way, trial_name};

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::sys::{self, process};

/// Not a system error: the source is a directory. Reporting it from here would take stack.
pub(super) const STAYS: Errno = Errno(0);

/// Not an error of these calls: the source is a symlink, which must not be moved either.
pub(super) const LENDS: Errno = Errno::ELOOP;

/// The two names of a move, in pinned directories.
pub(super) struct Names<'a> {
    pub(super) old: (c_int, &'a CStr),
    pub(super) new: (c_int, &'a CStr),
}

/// How often to delete a destination that other processes create again meanwhile.
const ATTEMPTS: usize = 8;

/// As rename(2) with the flags of [`sys::rename`], for anything but a directory. It takes several steps. Other threads
/// may for a moment see both names, or no destination while it is replaced.
///
/// # Errors
/// [`STAYS`], [`LENDS`], or the kernel's. `EXDEV`, upon which programs copy, if the kernel cannot make such a link or
/// the destination may not be replaced. After an error the destination is unchanged.
#[cold]
#[inline(never)]
pub(super) fn move_alone(names: &Names<'_>, flags: c_uint, way: Way) -> Result<(), Errno> {
    let Names { old: (old_dir, old), new: (new_dir, new) } = *names;
    // A whiteout can only replace the source in a single step.
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
    // An object that another process put there meanwhile stays.
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

/// Deletes the destination once the rest is sure to succeed. Returns whether it was another file than the source.
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

/// Checks whether an entry of this directory can be deleted later, as far as that is known now.
///
/// # Errors
/// The kernel's. `EXDEV` if a sticky directory may prevent it: a program that copies finds out.
#[inline(never)]
fn demand_removable(directory: c_int, entry: &libc::stat) -> Result<(), Errno> {
    sys::faccessat(directory, c".".as_ptr(), libc::W_OK | libc::X_OK, 0)?;
    let around = sys::look(directory, c".")?;
    let user = process::effective_user()?;
    let is_sticky = around.st_mode & libc::S_ISVTX != 0;
    let is_ours = user == around.st_uid || user == entry.st_uid;
    if is_sticky && !is_ours { Err(Errno::EXDEV) } else { Ok(()) }
}

/// Makes a hard link beside the destination and deletes it again. The kernel may allow none for this file or file
/// system.
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

/// The error of the move if no hard link can be made.
fn without_link(names: &Names<'_>, errno: Errno) -> Errno {
    let (dir, name) = names.old;
    match errno {
        Errno::EPERM if sys::is_directory(dir, name) => STAYS,
        Errno::EPERM | Errno::EMLINK | Errno::ENOTSUP => Errno::EXDEV,
        errno => errno,
    }
}
