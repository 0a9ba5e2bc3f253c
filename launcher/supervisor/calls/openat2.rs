//! openat2(2): its resolve flags change what a path means, so that the kernel must say where it
//! leads before the policy can judge.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, readlinkat};
use rustix::io::Errno;

use super::open::{How, learn_absent, open_argument, open_held};
use crate::supervisor::found::Object;
use crate::supervisor::resolve::{Argument, Split, split};
use crate::supervisor::room;
use crate::supervisor::task::Task;
use crate::supervisor::walk::LINK_BUDGET;
use crate::sys::notification::Answer;

/// The size of `struct open_how` as it is known here, and the largest that the kernel takes.
const KNOWN_SIZE: usize = 24;
const LARGEST: usize = 4096;

/// The flags of open(2) that openat2(2) takes beside those that mean something here.
const WITHOUT_MEANING: i32 = libc::O_LARGEFILE | 0o100_000;

/// `RESOLVE_CACHED`.
const CACHED: u64 = ResolveFlags::CACHED.bits();

/// `RESOLVE_NO_XDEV` to `RESOLVE_CACHED`.
const KNOWN_RESOLVE: u64 = 0x3f;

/// openat2(2).
pub(crate) fn open(
    task: &Task<'_>,
    dirfd: i32,
    path: u64,
    how: u64,
    size: u64,
) -> Result<Answer, Errno> {
    let (how, resolve) = read(task, how, size)?;
    how.check()?;
    if how.has(libc::O_PATH) {
        // Such a descriptor cannot be handed over, and who makes the call by itself may have other
        // flags in its memory by then. The older calls can do it.
        return Err(Errno::NOSYS);
    }
    let argument = task.argument(dirfd, path)?;
    // With RESOLVE_IN_ROOT even an absolute path starts at the descriptor.
    let directory = if resolve == 0 || dirfd == libc::AT_FDCWD {
        None
    } else {
        Some(task.caller.object(dirfd)?)
    };
    if how.changes() {
        room::expect(&task.caller)?;
    }
    let _acting = task.begin()?;
    if resolve == 0 {
        return open_argument(task, &argument, how);
    }
    let resolve = ResolveFlags::from_bits_retain(resolve);
    Resolved { task, argument: &argument, directory, how, resolve }.open()
}

/// Reads `struct open_how`, whose fields are 64-bit words.
fn read(task: &Task<'_>, address: u64, size: u64) -> Result<(How, u64), Errno> {
    let size = usize::try_from(size).map_err(|_| Errno::TOOBIG)?;
    if size < KNOWN_SIZE {
        return Err(Errno::INVAL);
    }
    if size > LARGEST {
        return Err(Errno::TOOBIG);
    }
    let bytes = task.caller.bytes(address, size)?;
    let (known, later) = bytes.split_at_checked(KNOWN_SIZE).ok_or(Errno::INVAL)?;
    // What comes later asks for something unknown here, unless it is zero.
    if later.iter().any(|&byte| byte != 0) {
        return Err(Errno::TOOBIG);
    }
    let (words, _) = known.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |&word| u64::from_ne_bytes(word));
    let flags = i32::try_from(word(0)).map_err(|_| Errno::INVAL)?;
    let mode = u32::try_from(word(1)).map_err(|_| Errno::INVAL)?;
    let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let how = How::new(flags, mode);
    // Unlike open(2) it refuses what it does not know, and a mode that means nothing.
    let unknown = how.flags() != flags & !WITHOUT_MEANING || word(2) & !KNOWN_RESOLVE != 0;
    if unknown || mode & !0o7777 != 0 || (!creates && mode != 0) {
        return Err(Errno::INVAL);
    }
    // What is not in memory yet cannot be made or emptied from there.
    if word(2) & CACHED != 0 && how.changes() {
        return Err(Errno::AGAIN);
    }
    Ok((how, word(2)))
}

/// An open with resolve flags.
struct Resolved<'r, 'a> {
    task: &'r Task<'a>,
    argument: &'r Argument<'a>,
    directory: Option<OwnedFd>,
    how: How,
    resolve: ResolveFlags,
}

impl Resolved<'_, '_> {
    /// Lets the kernel resolve the path as asked, and opens what it found, mediated.
    fn open(self) -> Result<Answer, Errno> {
        let opened = if self.how.has(libc::O_CREAT) {
            self.open_or_make()
        } else {
            self.hold(self.argument.text(), self.stop()).and_then(|found| self.open_found(found))
        };
        opened.inspect_err(|errno| learn_absent(self.task, self.argument, self.how, *errno))
    }

    /// Links that stand for objects would be the supervisor's.
    fn hold(&self, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
        let resolve = self.resolve | ResolveFlags::NO_MAGICLINKS;
        match &self.directory {
            Some(directory) => openat2(directory, path, flags, Mode::empty(), resolve),
            None if path.to_bytes().starts_with(b"/") && !self.is_in_working_directory() => {
                openat2(self.argument.start(), path, flags, Mode::empty(), resolve)
            }
            None => {
                let here = self.task.caller.working_directory()?;
                openat2(here, path, flags, Mode::empty(), resolve)
            }
        }
    }

    /// Whether an absolute path does not mean the root either.
    fn is_in_working_directory(&self) -> bool {
        self.resolve.intersects(ResolveFlags::IN_ROOT | ResolveFlags::BENEATH)
    }

    /// Opens an object that is held.
    fn open_found(&self, found: OwnedFd) -> Result<Answer, Errno> {
        let object = Object::reached(self.argument.caller(), found)?;
        open_held(self.task, self.argument, &object, self.how)
    }

    /// Opens or creates the last component of the path in its directory. A link there is followed by hand, by a
    /// path that the kernel is to resolve as asked from its beginning.
    fn open_or_make(&self) -> Result<Answer, Errno> {
        let mut text = self.argument.text().to_bytes().to_vec();
        for _ in 0..LINK_BUDGET {
            let Split { parent, name, slash } = split(&text);
            if matches!(name, b"" | b"." | b"..") {
                let found = self.hold(&terminated(&text)?, OFlags::DIRECTORY)?;
                return if self.how.exclusive() {
                    Err(Errno::EXIST)
                } else {
                    self.open_found(found)
                };
            }
            let parent = if parent.is_empty() { &b"."[..] } else { parent };
            let directory = self.hold(&terminated(parent)?, OFlags::DIRECTORY)?;
            if slash {
                return self.open_entry(directory, &[name, b"/"].concat());
            }
            match self.hold(&terminated(&text)?, self.stop()) {
                Ok(_) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            match readlinkat(&directory, name, Vec::new()) {
                Ok(target) if !self.how.stops_at_link() => {
                    text = self.beyond(parent, target.to_bytes())?;
                }
                _ => return self.open_entry(directory, name),
            }
        }
        Err(Errno::LOOP)
    }

    /// The path by which a link leads on that is in the directory `parent`.
    ///
    /// # Errors
    /// `ELOOP` where only the kernel could tell whether that leaves the mount.
    fn beyond(&self, parent: &[u8], target: &[u8]) -> Result<Vec<u8>, Errno> {
        if !target.starts_with(b"/") {
            return Ok([parent, b"/", target].concat());
        }
        if self.resolve.contains(ResolveFlags::NO_XDEV) {
            return Err(Errno::LOOP);
        }
        // It means the root, which must be that of the caller.
        self.task.caller.root()?;
        Ok(target.to_vec())
    }

    fn open_entry(&self, directory: OwnedFd, name: &[u8]) -> Result<Answer, Errno> {
        let argument = Argument::below(*self.argument.caller(), directory, terminated(name)?);
        open_argument(self.task, &argument, self.how.with(libc::O_NOFOLLOW))
    }

    fn stop(&self) -> OFlags {
        if self.how.stops_at_link() { OFlags::NOFOLLOW } else { OFlags::empty() }
    }
}

fn terminated(path: &[u8]) -> Result<CString, Errno> {
    CString::new(path).map_err(|_| Errno::ACCESS)
}
