//! Moving what takes nothing along: by link(2) and unlink(2), which the kernel refuses for a directory whatever stood
//! under a name when it was looked at.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, linkat, statat, unlinkat};
use rustix::io::Errno;

/// A name in a directory that is held.
type Entry<'a> = (OwnedFd, &'a Path);

/// As rename(2) with no flags or `RENAME_NOREPLACE`, of what is no directory.
///
/// # Errors
/// The kernel's; `EXDEV` where it makes no such link.
pub(super) fn move_alone(
    source: &Entry<'_>,
    target: &Entry<'_>,
    flags: RenameFlags,
) -> Result<(), Errno> {
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
fn make_way(source: &Entry<'_>, target: &Entry<'_>) -> Result<bool, Errno> {
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
fn without_link(source: &Entry<'_>, errno: Errno) -> Errno {
    match errno {
        Errno::PERM if look(source).is_ok_and(|found| is_directory(&found)) => Errno::ISDIR,
        Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP => Errno::XDEV,
        errno => errno,
    }
}

fn link((from, old): &Entry<'_>, (to, new): &Entry<'_>) -> Result<(), Errno> {
    linkat(from, *old, to, *new, AtFlags::empty())
}

fn unlink((directory, name): &Entry<'_>) -> Result<(), Errno> {
    unlinkat(directory, *name, AtFlags::empty())
}

fn look((directory, name): &Entry<'_>) -> Result<Stat, Errno> {
    statat(directory, *name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}
