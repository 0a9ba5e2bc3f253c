//! Moves entries that take nothing along, by link(2) and unlink(2). These calls fail for a directory, even if another
//! kind of entry had the name when it was checked.

use std::ffi::OsStr;
use std::format;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, accessat, fstat, linkat,
    openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::moves::{Movable, Way, trial_name};

/// A name in a directory with an open descriptor: one component, in bytes.
pub type MovingEntry<'a, N> = (BorrowedFd<'a>, N);

/// How often a destination is removed that other processes create again meanwhile.
const ATTEMPTS: usize = 8;

/// Moves an entry other than a directory, like `rename(2)` with no flags or `RENAME_NOREPLACE`. This takes several
/// steps: for a moment others may see both names, or no destination if one is replaced.
///
/// # Errors
/// The kernel's errors, and these. After an error the destination is unchanged, unless other processes changed one of
/// the directories between the steps.
///
/// - `EISDIR` if the source is a directory.
/// - `ELOOP` if the source is a symlink that must not move.
/// - `EXDEV`, upon which programs copy, if no such hard link is possible, or if the destination may not be replaced.
pub fn move_alone<N: Arg + Copy>(
    source: MovingEntry<'_, N>,
    target: MovingEntry<'_, N>,
    flags: RenameFlags,
    way: Way,
) -> Result<(), Errno> {
    let before = look(source)?;
    let mut linked = link(source, target, way.movable);
    let replaces = linked == Err(Errno::EXIST) && flags.is_empty();
    for _ in 0..ATTEMPTS {
        if linked != Err(Errno::EXIST) || !replaces {
            break;
        }
        if !make_way(source, target, way)? {
            return Ok(());
        }
        linked = link(source, target, way.movable);
    }
    linked.map_err(|errno| without_link(source, errno))?;
    // If others put an entry there meanwhile, it is theirs.
    if look(source).is_ok_and(|found| !is_same(&found, &before)) {
        return Ok(());
    }
    unlink(source).inspect_err(|_| {
        if !replaces {
            let _ = unlink(target);
        }
    })
}

/// Moves an entry over an existing one, like `rename(2)`, if neither is a directory. This is one step, which puts no
/// directory in the place of a file.
///
/// # Errors
/// The kernel's errors; `EISDIR` and `ELOOP` as for [`move_alone`].
pub fn replace<N: Arg + Copy>(
    source: MovingEntry<'_, N>,
    target: MovingEntry<'_, N>,
    movable: Movable,
) -> Result<(), Errno> {
    let here = look(source)?;
    if is_directory(&here) || is_directory(&look(target)?) {
        return Err(Errno::ISDIR);
    }
    let is_symlink = FileType::from_raw_mode(here.st_mode) == FileType::Symlink;
    if is_symlink && movable == Movable::NoSymlink {
        return Err(Errno::LOOP);
    }
    renameat(source.0, source.1, target.0, target.1)
}

/// Removes the destination, once the other steps are sure to succeed. Returns whether it was another file than the
/// source.
fn make_way<N: Arg + Copy>(
    source: MovingEntry<'_, N>,
    target: MovingEntry<'_, N>,
    way: Way,
) -> Result<bool, Errno> {
    let here = look(source)?;
    if is_directory(&here) {
        return Err(Errno::ISDIR);
    }
    let there = match look(target) {
        Err(Errno::NOENT) => return Ok(true),
        found => found?,
    };
    if is_same(&here, &there) {
        return Ok(false);
    }
    if is_directory(&there) {
        return Err(Errno::ISDIR);
    }
    if !way.tries {
        return Err(Errno::XDEV);
    }
    demand_removable(source, &here)?;
    try_link(source, target, way.movable)?;
    unlink(target).map(|()| true)
}

/// Checks in advance, as far as possible, that the source can be removed later. A program that copies finds out by
/// itself.
fn demand_removable<N>((directory, _): MovingEntry<'_, N>, file: &Stat) -> Result<(), Errno> {
    let access = Access::WRITE_OK.union(Access::EXEC_OK);
    accessat(directory, c".", access, AtFlags::EACCESS)?;
    let around = fstat(directory)?;
    let is_kept = Mode::from_raw_mode(around.st_mode).contains(Mode::SVTX);
    let user = geteuid().as_raw();
    if is_kept && user != around.st_uid && user != file.st_uid { Err(Errno::XDEV) } else { Ok(()) }
}

/// Creates a hard link beside the destination, and removes it. The kernel may not allow one to this file, or on this
/// file system.
fn try_link<N: Arg + Copy>(
    source: MovingEntry<'_, N>,
    (directory, _): MovingEntry<'_, N>,
    movable: Movable,
) -> Result<(), Errno> {
    let mut random = [0; 16];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let name = trial_name(random);
    let name = OsStr::from_bytes(&name);
    let tried = link(source, (directory, name), movable);
    tried.map_err(|errno| match without_link(source, errno) {
        Errno::EXIST => Errno::XDEV,
        errno => errno,
    })?;
    unlink((directory, name))
}

/// The error to report if the hard link failed. For link(2), `EPERM` stands for directories, for file systems without
/// hard links, and for files of another user (`fs.protected_hardlinks`, `proc_sys_fs(5)`).
fn without_link<N: Arg + Copy>(source: MovingEntry<'_, N>, errno: Errno) -> Errno {
    match errno {
        Errno::PERM if look(source).is_ok_and(|found| is_directory(&found)) => Errno::ISDIR,
        Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP => Errno::XDEV,
        errno => errno,
    }
}

fn link<N: Arg, M: Arg>(
    (from, old): MovingEntry<'_, N>,
    (to, new): MovingEntry<'_, M>,
    movable: Movable,
) -> Result<(), Errno> {
    match movable {
        Movable::NoDirectory => linkat(from, old, to, new, AtFlags::empty()),
        Movable::NoSymlink => link_pinned((from, old), (to, new)),
    }
}

/// As [`link`], for entries other than symlinks. The pinned object gets the new name, even if the old name was replaced
/// meanwhile.
fn link_pinned<N: Arg, M: Arg>(
    (from, old): MovingEntry<'_, N>,
    (to, new): MovingEntry<'_, M>,
) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let pinned = openat(from, old, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&pinned)?.st_mode) {
        FileType::Symlink => return Err(Errno::LOOP),
        FileType::Directory => return Err(Errno::ISDIR),
        _ => {}
    }
    let link = format!("/proc/self/fd/{}", pinned.as_raw_fd());
    linkat(CWD, link, to, new, AtFlags::SYMLINK_FOLLOW)
}

fn unlink<N: Arg>((directory, name): MovingEntry<'_, N>) -> Result<(), Errno> {
    unlinkat(directory, name, AtFlags::empty())
}

fn look<N: Arg>((directory, name): MovingEntry<'_, N>) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

const fn is_same(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

/// The kinds of entries that may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenameKind {
    /// Entries that take nothing along. A directory would be judged differently below its new name, whatever was seen
    /// under the old one.
    Alone(Way),
    /// The same, but only existing entries may be replaced, because no hard link can be made there.
    Over(Movable),
    /// Any entry, with everything in it.
    Whole,
}
