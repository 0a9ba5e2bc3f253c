//! The thread that waits for an answer: its arguments, and its state in `/proc`.
//!
//! All data read about it counts only once [`Caller::confirm`] found that it still waits. Otherwise its number might
//! belong to another thread by now.
//!
//! Its memory is read before the supervisor acts as the caller. The supervisor uses its own right to look for entries
//! in `/proc`, so those can be read at any time. The root is only needed once a link leads there.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use rustix::thread::Pid;

use super::views::{Views, Way, lexical};
use crate::sys::identity::look_into;
use crate::sys::memory;
use crate::sys::notification::{Notification, NotificationListener};
use crate::sys::proc::status::Status;
use crate::sys::proc::{Proc, unreadable};

/// The length of the longest path, with the NUL (`path_resolution(7)`).
const PATH_MAX: usize = 4096;
/// Most paths are shorter, so this saves copying.
const PATH_USUAL: usize = 256;

/// The flag of `pidfd_open(2)` for a thread that does not lead its process (Linux 6.9).
const THREAD: PidfdFlags = PidfdFlags::from_bits_retain(libc::PIDFD_THREAD);

/// A thread that waits for an answer. If a fact about it is unavailable, the call is denied. A lack of resources here
/// is reported as such (`EMFILE`, `ENFILE`, `ENOMEM`).
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    listener: &'a NotificationListener,
    proc: &'a Proc,
    views: Option<Views<'a>>,
    id: u64,
    tid: i32,
    instruction: u64,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(
        (listener, proc): (&'a NotificationListener, &'a Proc),
        views: Option<Views<'a>>,
        from: &Notification,
    ) -> Self {
        Self { listener, proc, views, id: from.id, tid: from.tid, instruction: from.instruction }
    }

    /// The same, without views. For names that the kernel resolves for it.
    pub(crate) fn without_views(self) -> Self {
        Self { views: None, ..self }
    }

    /// Where `lead` says that a name leads from a pinned directory.
    pub(crate) fn way(
        &self,
        directory: &OwnedFd,
        lead: impl FnOnce(Views<'a>, &[u8]) -> Way,
    ) -> Way {
        let Some(views) = self.views else { return Way::Plain };
        let path = self.proc.place(directory.as_fd()).ok().filter(|path| path.starts_with(b"/"));
        path.map_or(Way::Plain, |path| lead(views, &path))
    }

    /// The absolute path that `text` spells from the canonical directory `start`, led through the views.
    pub(crate) fn spelled(&self, start: &[u8], text: &[u8]) -> Vec<u8> {
        match self.views {
            Some(views) => views.spelled(start, text),
            None => lexical(start, text),
        }
    }

    pub(crate) fn tid(&self) -> i32 {
        self.tid
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The address of the instruction that made the call.
    pub(crate) fn instruction(&self) -> u64 {
        self.instruction
    }

    pub(crate) fn proc(&self) -> &'a Proc {
        self.proc
    }

    /// Fails unless the caller still waits.
    pub(crate) fn confirm(&self) -> Result<(), Errno> {
        if self.listener.is_waiting(self.id) { Ok(()) } else { Err(Errno::SRCH) }
    }

    /// A string of the caller's, read as the kernel reads a path.
    ///
    /// # Errors
    /// `EFAULT`, `ENAMETOOLONG`.
    pub(crate) fn text(&self, address: u64) -> Result<CString, Errno> {
        let mut bytes = vec![0; PATH_USUAL];
        let mut count = self.read(address, &mut bytes)?;
        if count == PATH_USUAL && !bytes.contains(&0) {
            bytes.resize(PATH_MAX, 0);
            count = self.read(address, &mut bytes)?;
        }
        bytes.truncate(count);
        match bytes.iter().position(|&byte| byte == 0) {
            Some(end) => bytes.truncate(end),
            None if count == PATH_MAX => return Err(Errno::NAMETOOLONG),
            None => return Err(Errno::FAULT),
        }
        CString::new(bytes).map_err(|_| Errno::FAULT)
    }

    /// That many bytes of the caller's memory.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        let count = self.read(address, &mut bytes)?;
        if count == length { Ok(bytes) } else { Err(Errno::FAULT) }
    }

    /// 64-bit words of the caller's memory.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn words<const N: usize>(&self, address: u64) -> Result<[u64; N], Errno> {
        let bytes = self.bytes(address, N * size_of::<u64>())?;
        let (words, _) = bytes.as_chunks::<8>();
        Ok(std::array::from_fn(|at| words.get(at).map_or(0, |&word| u64::from_ne_bytes(word))))
    }

    /// Writes into the caller's memory, as the kernel writes a call's results.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.confirm()?;
        memory::write(self.tid, address, bytes).map_err(|errno| match errno {
            Errno::FAULT => Errno::FAULT,
            _ => Errno::ACCESS,
        })
    }

    /// Whether its memory must not be read at all.
    pub(crate) fn hides_memory(&self) -> bool {
        // Address 0 is not mapped. A reader without permission gets `EPERM` instead of that error.
        memory::read(self.tid, 0, &mut [0]) == Err(Errno::PERM)
    }

    fn read(&self, address: u64, to: &mut [u8]) -> Result<usize, Errno> {
        memory::read(self.tid, address, to).map_err(|errno| match errno {
            Errno::FAULT => Errno::FAULT,
            _ => Errno::ACCESS,
        })
    }

    /// Its root directory.
    ///
    /// # Errors
    /// `EACCES` if it is not the supervisor's root, because paths would mean something else.
    pub(crate) fn root(&self) -> Result<OwnedFd, Errno> {
        let root = self.entry("root", OFlags::DIRECTORY).map_err(unreadable)?;
        if self.proc.is_root(&root)? { Ok(root) } else { Err(Errno::ACCESS) }
    }

    /// Its working directory.
    ///
    /// # Errors
    /// `EACCES` if it is unknown.
    pub(crate) fn working_directory(&self) -> Result<OwnedFd, Errno> {
        self.entry("cwd", OFlags::DIRECTORY).map_err(unreadable)
    }

    /// The directory from which its paths relative to `dirfd` start, as in `openat(2)`.
    ///
    /// # Errors
    /// `EBADF`, or `EACCES` if it is unknown.
    pub(crate) fn object_at(&self, dirfd: i32) -> Result<OwnedFd, Errno> {
        if dirfd == libc::AT_FDCWD { self.working_directory() } else { self.object(dirfd) }
    }

    /// The object of one of its descriptors, pinned.
    ///
    /// # Errors
    /// `EBADF`, or `EACCES` if it is unknown.
    pub(crate) fn object(&self, fd: i32) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        self.entry(&format!("fd/{fd}"), OFlags::empty()).map_err(|errno| match errno {
            Errno::NOENT => Errno::BADF,
            other => unreadable(other),
        })
    }

    /// The object of a descriptor of another thread of its process, pinned.
    ///
    /// # Errors
    /// `EACCES` if there is none.
    pub(crate) fn object_of(&self, tid: i32, fd: i32) -> Result<OwnedFd, Errno> {
        self.entry(&format!("task/{tid}/fd/{fd}"), OFlags::empty()).map_err(unreadable)
    }

    /// A duplicate of one of its descriptors.
    ///
    /// # Errors
    /// `EBADF`, or `EACCES` if it cannot be duplicated.
    pub(crate) fn descriptor(&self, fd: i32) -> Result<OwnedFd, Errno> {
        if fd < 0 {
            return Err(Errno::BADF);
        }
        if !self.proc.shares_descriptors {
            return Err(unreadable(Errno::NOSYS));
        }
        let process = self.handle().map_err(unreadable)?;
        let share = || pidfd_getfd(&process, fd, PidfdGetfdFlags::empty());
        look_into(share).map_err(|errno| match errno {
            Errno::BADF => Errno::BADF,
            other => unreadable(other),
        })
    }

    fn handle(&self) -> Result<OwnedFd, Errno> {
        let pid = |number| Pid::from_raw(number).ok_or(Errno::SRCH);
        match pidfd_open(pid(self.tid)?, THREAD) {
            Err(Errno::INVAL | Errno::NOENT) => {
                pidfd_open(pid(self.status()?.process)?, PidfdFlags::empty())
            }
            opened => opened,
        }
    }

    /// Its status in `/proc`, read anew.
    ///
    /// # Errors
    /// `EACCES` if it is unknown.
    pub(crate) fn status(&self) -> Result<Status, Errno> {
        let status = Status::read(self.proc, self.tid)?;
        self.confirm()?;
        Ok(status)
    }

    fn entry(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
        let name = format!("{}/{name}", self.tid);
        look_into(|| openat(self.proc.as_fd(), &name, flags, Mode::empty()))
    }
}
