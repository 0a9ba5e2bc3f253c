//! Moving what takes nothing along: by link(2) and unlink(2), which the kernel refuses for a directory whatever stood
//! under a name when it was looked at.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, Stat, linkat, statat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// A name in a directory that is held: one component, in bytes.
pub type Entry<'a, N> = (BorrowedFd<'a>, N);

/// As `rename(2)` with no flags or `RENAME_NOREPLACE`, of what is no directory: not in one step, so that others may see
/// both names for a moment, or no destination where one is replaced.
///
/// # Errors
/// The kernel's; `EISDIR` where a directory would go, and `EXDEV` where no such link is made, upon which programs copy.
pub fn move_alone<N: Arg + Copy>(
    source: Entry<'_, N>,
    target: Entry<'_, N>,
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

fn unlink<N: Arg>((directory, name): Entry<'_, N>) -> Result<(), Errno> {
    unlinkat(directory, name, AtFlags::empty())
}

fn look<N: Arg>((directory, name): Entry<'_, N>) -> Result<Stat, Errno> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}
