//! Moving what takes nothing along: by link(2) and unlink(2), which the kernel refuses for a directory whatever stood
//! under a name when it was judged.

use rustix::fs::{AtFlags, RenameFlags, Stat, linkat, statat, unlinkat};
use rustix::io::Errno;

use super::entries::{exists, is_directory};
use crate::supervisor::found::Entry;

/// As rename(2) with these flags, of what is no directory: not in one step, so that others may see both names for a
/// moment, or no destination where one is replaced. `refuse` says that a directory must stay.
///
/// # Errors
/// The kernel's; `EXDEV` where it makes no such link, upon which programs copy.
pub(super) fn move_alone(
    source: &Entry,
    target: &Entry,
    flags: RenameFlags,
    refuse: impl Fn() -> Errno,
) -> Result<(), Errno> {
    // A whiteout takes the place of what goes in one step only.
    if !RenameFlags::NOREPLACE.contains(flags) {
        return Err(refuse());
    }
    if target.slash {
        return Err(if exists(source) { Errno::NOTDIR } else { Errno::NOENT });
    }
    let mut linked = link(source, target);
    let replaces = linked == Err(Errno::EXIST) && flags.is_empty();
    if replaces {
        if !make_way(source, target, &refuse)? {
            return Ok(());
        }
        linked = link(source, target);
    }
    linked.map_err(|errno| without_link(source, errno, &refuse))?;
    unlink(source).map_err(|errno| {
        if !replaces {
            let _ = unlink(target);
        }
        if is_directory(source) { refuse() } else { errno }
    })
}

/// Removes what is at the destination; whether that is another file than the one that is to go there.
fn make_way(source: &Entry, target: &Entry, refuse: &impl Fn() -> Errno) -> Result<bool, Errno> {
    if is_directory(source) {
        return Err(refuse());
    }
    let here = look(source)?;
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

/// What it comes to that there is no link.
fn without_link(source: &Entry, errno: Errno, refuse: &impl Fn() -> Errno) -> Errno {
    match errno {
        Errno::PERM if is_directory(source) => refuse(),
        Errno::PERM | Errno::MLINK | Errno::OPNOTSUPP => Errno::XDEV,
        errno => errno,
    }
}

fn link(source: &Entry, target: &Entry) -> Result<(), Errno> {
    let flags = AtFlags::empty();
    linkat(&source.directory, &source.name, &target.directory, &target.name, flags)
}

fn unlink(entry: &Entry) -> Result<(), Errno> {
    unlinkat(&entry.directory, &entry.name, AtFlags::empty())
}

fn look(entry: &Entry) -> Result<Stat, Errno> {
    statat(&entry.directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
}
