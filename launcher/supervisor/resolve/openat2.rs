//! Where a path leads by the flags of openat2(2). The kernel resolves it as asked, from its beginning. It follows no
//! links for that: they are followed one at a time, because some mean the one who asks, as `/proc/self` does.

use std::ffi::CString;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat2, statx,
};
use rustix::io::Errno;

use super::walk::{LINK_BUDGET, check_planted, first, is_end, look_up, stands_for_object, text_of};
use super::{Argument, HELD, HELD_ENTRY, Split, split};
use crate::supervisor::caller::Caller;

const HELD_DIRECTORY: OFlags = HELD.union(OFlags::DIRECTORY);

/// What stays below where a path starts.
const SCOPED: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::IN_ROOT);

/// How a path is to be resolved, and from where.
pub(crate) struct Resolution<'r> {
    caller: &'r Caller<'r>,
    start: OwnedFd,
    flags: ResolveFlags,
}

/// What is at the end of a path by which something may be made.
pub(crate) enum Reached {
    /// A directory that the path names by no entry: `.`, `..`, or where it starts.
    Directory(OwnedFd),
    /// An entry of a directory, there or not.
    Entry {
        /// The directory, held.
        directory: OwnedFd,
        /// The entry's name, with a slash where one was given.
        name: CString,
    },
}

impl<'r> Resolution<'r> {
    /// A resolution of this path, which was given relative to `dirfd`.
    ///
    /// # Errors
    /// `EBADF`, or `EACCES` where it cannot be told what it starts from.
    pub(crate) fn new(
        argument: &'r Argument<'_>,
        dirfd: i32,
        flags: ResolveFlags,
    ) -> Result<Self, Errno> {
        let caller = argument.caller();
        let is_absolute = argument.text().to_bytes().starts_with(b"/");
        let start = if is_absolute && flags.contains(ResolveFlags::IN_ROOT) {
            caller.object_at(dirfd)?
        } else {
            argument.start().try_clone_to_owned().map_err(|_| Errno::MFILE)?
        };
        Ok(Self { caller, start, flags })
    }

    /// Holds what the path leads to; `stops` at a link at the end.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub(crate) fn object(&self, path: &[u8], stops: bool) -> Result<OwnedFd, Errno> {
        let flags = if stops { HELD_ENTRY } else { HELD };
        match self.hold(path, flags) {
            Err(Errno::LOOP) => self.hold(&self.without_links(path, stops)?, flags),
            held => held,
        }
    }

    /// Holds the directory that the end of the path is, or is an entry of; `stops` at a link at the end.
    ///
    /// # Errors
    /// Those of openat2(2).
    pub(crate) fn entry(&self, path: &[u8], stops: bool) -> Result<Reached, Errno> {
        // Behind a slash only directories are followed, and none is made.
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

    /// Has the kernel resolve a path on which no link is.
    fn hold(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = self.flags | ResolveFlags::NO_SYMLINKS;
        openat2(&self.start, terminated(path)?, flags, Mode::empty(), resolve)
    }

    /// The path that leads to the same without links, but for one at the end where it `stops`. What ends it may be
    /// missing.
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

    /// What a link reads that is in the directory `parent`.
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
        Ok(target)
    }

    /// Whether a link leads elsewhere than to where it reads.
    fn is_magic(&self, name: &[u8], directory: &OwnedFd) -> bool {
        let resolve = ResolveFlags::NO_MAGICLINKS;
        let follow = || openat2(directory, name, HELD, Mode::empty(), resolve);
        look_up(self.caller, directory, name, follow).err() == Some(Errno::LOOP)
    }

    /// What the kernel says of such a link. None is followed: it would be one of the supervisor's.
    fn no_magic(&self) -> Errno {
        let asked = self.flags.contains(ResolveFlags::NO_MAGICLINKS);
        if self.flags.intersects(SCOPED) && !asked { Errno::XDEV } else { Errno::LOOP }
    }

    /// Whether a link in the directory `parent` may lead to the root.
    fn check_jump(&self, parent: &[u8], directory: &OwnedFd) -> Result<(), Errno> {
        // It must be that of the caller.
        self.caller.root()?;
        self.caller.confirm()?;
        let root = self.hold(b"/", HELD_DIRECTORY)?;
        let may_cross = !self.flags.contains(ResolveFlags::NO_XDEV);
        let stays = || Ok(self.has_met_root(parent) && mount_of(directory)? == mount_of(&root)?);
        if may_cross || stays()? { Ok(()) } else { Err(Errno::XDEV) }
    }

    /// Whether the kernel knows where the root is by now: else it takes that for another mount (`nd_jump_root` in
    /// fs/namei.c). It looks when a path starts there, is to stay below it, or goes up.
    fn has_met_root(&self, way: &[u8]) -> bool {
        let goes_up = || way.split(|&byte| byte == b'/').any(|component| component == b"..");
        self.flags.intersects(SCOPED) || way.starts_with(b"/") || goes_up()
    }
}

/// The mount that a held object is in.
///
/// # Errors
/// `ELOOP` where the kernel does not tell (before Linux 5.8).
fn mount_of(object: &OwnedFd) -> Result<u64, Errno> {
    let told = statx(object, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
    let is_told = told.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    if is_told { Ok(told.stx_mnt_id) } else { Err(Errno::LOOP) }
}

/// The root, where a path begins with it.
fn beginning(path: &[u8]) -> Vec<u8> {
    path.iter().take(1).copied().filter(|&byte| byte == b'/').collect()
}

fn terminated(path: &[u8]) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::ACCESS)
}
