//! Moving what takes nothing along: by link(2) and unlink(2), which the kernel refuses for a directory whatever stood
//! under a name when it was looked at.

use std::format;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat, linkat, openat, statat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::moves::Movable;

/// A name in a directory that is held: one component, in bytes.
pub type Entry<'a, N> = (BorrowedFd<'a>, N);

/// As `rename(2)` with no flags or `RENAME_NOREPLACE`, of what is no directory: not in one step, so that others may see
/// both names for a moment, or no destination where one is replaced.
///
/// # Errors
/// The kernel's; `EISDIR` where a directory would go, `ELOOP` where a symlink would that must not, and `EXDEV` where no
/// such link is made, upon which programs copy.
pub fn move_alone<N: Arg + Copy>(
    source: Entry<'_, N>,
    target: Entry<'_, N>,
    flags: RenameFlags,
    movable: Movable,
) -> Result<(), Errno> {
    let link = |source, target| match movable {
        Movable::NoDirectory => link(source, target),
        Movable::NoSymlink => link_pinned(source, target),
    };
    let mut linked = link(source, target);
    let replaces = linked == Err(Errno::EXIST) && flags.is_empty();
    if replaces {
        if !make_way(source, target)? {
            return Ok(());
        }
        linked = link(source, target);
    }
    linked.map_err(|errno| without_link(source, errno))?;
    unlink(source).inspect_err(|_| {
        if !replaces {
            let _ = unlink(target);
        }
    })
}

/// Removes what is at the destination; whether that is another file than the one that is to go there.
fn make_way<N: Arg + Copy>(source: Entry<'_, N>, target: Entry<'_, N>) -> Result<bool, Errno> {
    let here = look(source)?;
    if is_directory(&here) {
        return Err(Errno::ISDIR);
    }
    let there = match look(target) {
        Err(Errno::NOENT) => return Ok(true),
        found => found?,
    };
    if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino) {
        return Ok(false);
    }
    // No link leads from one file system to another: nothing is removed for it.
    if here.st_dev != there.st_dev {
        return Err(Errno::XDEV);
    }
    unlink(target).map(|()| true)
}

/// What it comes to that there is no link: link(2) says `EPERM` of directories, of file systems without links and of
/// files of somebody else's (`fs.protected_hardlinks`, `proc_sys_fs(5)`).
fn without_link<N: Arg + Copy>(source: Entry<'_, N>, errno: Errno) -> Errno {
    match errno {
        Errno::PERM if look(source).is_ok_and(|found| is_directory(&found)) => Errno::ISDIR,
        Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP => Errno::XDEV,
        errno => errno,
    }
}

fn link<N: Arg>((from, old): Entry<'_, N>, (to, new): Entry<'_, N>) -> Result<(), Errno> {
    linkat(from, old, to, new, AtFlags::empty())
}

/// As [`link`], of what is no symlink, whatever stands under the name by then: the object gets the name.
fn link_pinned<N: Arg>((from, old): Entry<'_, N>, (to, new): Entry<'_, N>) -> Result<(), Errno> {
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

fn unlink<N: Arg>((directory, name): Entry<'_, N>) -> Result<(), Errno> {
    unlinkat(directory, name, AtFlags::empty())
}

fn look<N: Arg>((directory, name): Entry<'_, N>) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}
