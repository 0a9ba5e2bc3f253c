//! Resolves a path with the flags of openat2(2). The kernel resolves it from its start, but follows no links. The
//! supervisor follows them one by one, because some mean the process that looks, as `/proc/self` does.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat2, statx,
};
use rustix::io::Errno;

use super::walk::{LINK_BUDGET, check_planted, first, is_end, look_up, stands_for_object, text_of};
use super::{Argument, HELD, HELD_DIRECTORY, HELD_ENTRY, Split, as_it_stands, split};
use crate::supervisor::caller::Caller;
use crate::supervisor::views::Way;

/// The flags that keep the path below its start.
const SCOPED: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::IN_ROOT);

/// How to resolve a path, and from where.
pub(crate) struct HowToResolve<'r> {
    caller: &'r Caller<'r>,
    start: OwnedFd,
    path: Vec<u8>,
    flags: ResolveFlags,
}

/// The target of a path that may be created.
pub(crate) enum Reached {
    /// A directory that the path names by no entry: `.`, `..`, or its start.
    Directory(OwnedFd),
    /// An entry of a directory, which may be missing.
    Entry {
        /// The pinned directory.
        directory: OwnedFd,
        /// The entry's name, with a slash if one was given.
        name: CString,
    },
}

impl<'r> HowToResolve<'r> {
    /// A resolution of this path, given relative to `dirfd`.
    ///
    /// # Errors
    /// `EBADF`, or `EACCES` if its start is unknown.
    pub(crate) fn new(
        argument: &'r Argument<'_>,
        dirfd: i32,
        flags: ResolveFlags,
    ) -> Result<Self, Errno> {
        let caller = argument.caller();
        let path = argument.text().to_bytes();
        let start = if path.starts_with(b"/") && flags.contains(ResolveFlags::IN_ROOT) {
            caller.object_at(dirfd)?
        } else {
            argument.start().try_clone_to_owned().map_err(|_| Errno::MFILE)?
        };
        let (start, path) = if flags.intersects(SCOPED) {
            (in_view(caller, start)?, path.to_vec())
        } else {
            let path = through_views(caller, &start, path.to_vec())?;
            (start, path)
        };
        Ok(Self { caller, start, path, flags })
    }

    /// Pins the target of the path. With `stops`, does not follow a link at the end.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub(crate) fn object(&self, stops: bool) -> Result<OwnedFd, Errno> {
        let path = &self.path;
        let flags = if stops { HELD_ENTRY } else { HELD };
        match self.hold(path, flags) {
            Err(Errno::LOOP) => self.hold(&self.without_links(path, stops)?, flags),
            held => held,
        }
    }

    /// Pins the directory that the path names, or that contains its last entry. With `stops`, does not follow a link at
    /// the end.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub(crate) fn entry(&self, stops: bool) -> Result<Reached, Errno> {
        let path = &self.path;
        // If a slash follows, only links to directories are followed, and nothing is created.
        let stops = stops || path.ends_with(b"/");
        let path = self.without_links(path, stops)?;
        let Split { parent, name, slash } = split(&path);
        if matches!(name, b"" | b"." | b"..") {
            return self.hold(&path, HELD_DIRECTORY).map(Reached::Directory);
        }
        let directory = self.hold(if parent.is_empty() { b"." } else { parent }, HELD_DIRECTORY)?;
        let name = terminated(&[name, if slash { b"/" } else { b"" }].concat())?;
        Ok(Reached::Entry { directory, name })
    }

    /// Makes the kernel resolve a path without links.
    fn hold(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = self.flags | ResolveFlags::NO_SYMLINKS;
        openat2(&self.start, terminated(path)?, flags, Mode::empty(), resolve)
    }

    /// An equivalent path without links, except for one at the end if it `stops`. The last component may be missing.
    fn without_links(&self, path: &[u8], stops: bool) -> Result<Vec<u8>, Errno> {
        let mut done = beginning(path);
        let mut rest = path.to_vec();
        let mut links = LINK_BUDGET;
        while let Some((next, after)) = first(&rest) {
            let reached = [&done, next].concat();
            let found = match self.hold(&reached, HELD_ENTRY) {
                Err(Errno::NOENT) if is_end(after) => break,
                found => found?,
            };
            let is_link = FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::Symlink;
            if is_link && !(stops && is_end(after)) {
                links = links.checked_sub(1).ok_or(Errno::LOOP)?;
                let target = self.target(&done, next, &found, is_end(after))?;
                if target.starts_with(b"/") {
                    done = beginning(&target);
                }
                rest = [&target, after].concat();
            } else {
                rest = after.to_vec();
                done = reached;
                if !rest.is_empty() {
                    done.push(b'/');
                }
            }
        }
        Ok([done, rest].concat())
    }

    /// The text of a link in the directory `parent`.
    fn target(
        &self,
        parent: &[u8],
        name: &[u8],
        link: &OwnedFd,
        last: bool,
    ) -> Result<Vec<u8>, Errno> {
        if self.flags.contains(ResolveFlags::NO_SYMLINKS) {
            return Err(Errno::LOOP);
        }
        let directory = self.hold(if parent.is_empty() { b"." } else { parent }, HELD_DIRECTORY)?;
        if last {
            check_planted(self.caller, link, &directory)?;
        }
        if stands_for_object(link, &directory)? && self.is_magic(name, &directory) {
            return Err(self.no_magic());
        }
        let target = text_of(self.caller, link, name)?;
        if target.starts_with(b"/") {
            self.check_jump(parent, &directory)?;
        }
        if target.starts_with(b"//") || self.flags.intersects(SCOPED) {
            return Ok(target);
        }
        through_views(self.caller, &directory, target)
    }

    /// Whether a link's target is not the path in its text.
    fn is_magic(&self, name: &[u8], directory: &OwnedFd) -> bool {
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let follow = || openat2(directory, name, HELD, Mode::empty(), resolve);
        look_up(self.caller, directory, name, follow).err() == Some(Errno::LOOP)
    }

    /// The kernel's errno for such a link. None is followed, because it would mean the supervisor's process.
    fn no_magic(&self) -> Errno {
        let asked = self.flags.contains(ResolveFlags::NO_MAGICLINKS);
        if self.flags.intersects(SCOPED) && !asked { Errno::XDEV } else { Errno::LOOP }
    }

    /// Whether a link in the directory `parent` may lead to the root.
    fn check_jump(&self, parent: &[u8], directory: &OwnedFd) -> Result<(), Errno> {
        // The root must be the caller's.
        self.caller.root()?;
        self.caller.confirm()?;
        let root = self.hold(b"/", HELD_DIRECTORY)?;
        let may_cross = !self.flags.contains(ResolveFlags::NO_XDEV);
        let stays = || Ok(self.has_met_root(parent) && mount_of(directory)? == mount_of(&root)?);
        if may_cross || stays()? { Ok(()) } else { Err(Errno::XDEV) }
    }

    /// Whether the kernel has looked up the root by now. Otherwise it treats the root as another mount (`nd_jump_root`
    /// in fs/namei.c). It looks when a path starts there, must stay below it, or goes up.
    fn has_met_root(&self, way: &[u8]) -> bool {
        let goes_up = || way.split(|&byte| byte == b'/').any(|component| component == b"..");
        self.flags.intersects(SCOPED) || way.starts_with(b"/") || goes_up()
    }
}

/// The path that one leads to from a directory, through the views. It stays if a link could be on the way to `..`.
fn through_views(caller: &Caller<'_>, start: &OwnedFd, path: Vec<u8>) -> Result<Vec<u8>, Errno> {
    let Way::To(path) = caller.way(start, |views, start| views.way(start, &path)) else {
        return Ok(path);
    };
    // The root must be the caller's.
    caller.root()?;
    caller.confirm()?;
    Ok(path)
}

/// The directory that the caller sees at the place of this one.
fn in_view(caller: &Caller<'_>, directory: OwnedFd) -> Result<OwnedFd, Errno> {
    match caller.way(&directory, |views, path| views.way(path, b".")) {
        Way::To(path) => as_it_stands(caller, &path, HELD_DIRECTORY),
        Way::Plain | Way::Along(_) => Ok(directory),
    }
}

/// The mount that contains a pinned object.
///
/// # Errors
/// `ELOOP` if the kernel cannot tell (before Linux 5.8).
fn mount_of(object: &OwnedFd) -> Result<u64, Errno> {
    let told = statx(object, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    let is_told = told.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    if is_told { Ok(told.stx_mnt_id) } else { Err(Errno::LOOP) }
}

/// The root, if a path begins with it.
fn beginning(path: &[u8]) -> Vec<u8> {
    path.iter().take(1).copied().filter(|&byte| byte == b'/').collect()
}

fn terminated(path: &[u8]) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::ACCESS)
}
