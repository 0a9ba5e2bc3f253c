//! The supervisor's own view of `/proc`, opened once.

pub(crate) mod descendants;
pub(crate) mod limits;
pub(crate) mod link_protection;
pub(crate) mod orphaned_group;
pub(crate) mod status;

use std::ffi::CString;
use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, PROC_SUPER_MAGIC, fstat, fstatfs, open, openat, readlinkat,
    statat,
};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::proc::link_protection::Protection;
use crate::sys::mount_table::KernelMount;
use crate::sys::mount_table::elsewhere::Elsewhere;

/// More than most files about a thread have.
const USUAL: usize = 4096;

const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Directories of `/proc`, and what the supervisor's root is.
#[derive(Debug)]
pub(crate) struct Proc {
    all: OwnedFd,
    descriptors: OwnedFd,
    root: [u64; 2],
    user_namespace: u64,
    pid_namespace: u64,
    ipc_namespace: Option<u64>,
    protection: Protection,
    pub(crate) elsewhere: Elsewhere,
    /// Whether descriptors of callers can be shared (`pidfd_getfd(2)`).
    pub(crate) shares_descriptors: bool,
}

impl Proc {
    /// `shares_descriptors` is whether those of callers can be shared.
    ///
    /// # Errors
    /// Where there is no `/proc`, or it is that of another pid namespace.
    pub(crate) fn open(shares_descriptors: bool) -> io::Result<Self> {
        let all = open("/proc", HELD, Mode::empty())?;
        let own = std::process::id().to_string();
        let shown = readlinkat(&all, "self", Vec::new())?;
        if fstatfs(&all)?.f_type != PROC_SUPER_MAGIC || shown.as_bytes() != own.as_bytes() {
            return Err(Errno::NOENT.into());
        }
        let descriptors = openat(&all, "self/fd", HELD, Mode::empty())?;
        let root = identity(&open("/", HELD, Mode::empty())?)?;
        let user_namespace = namespace(&all, "self", "user")?;
        let pid_namespace = namespace(&all, "self", "pid")?;
        let ipc_namespace = namespace(&all, "self", "ipc").ok();
        let protection = Protection {
            links: setting(&all, "protected_symlinks"),
            regular: setting(&all, "protected_regular"),
            fifos: setting(&all, "protected_fifos"),
        };
        Ok(Self {
            all,
            descriptors,
            root,
            user_namespace,
            pid_namespace,
            ipc_namespace,
            protection,
            elsewhere: Elsewhere::default(),
            shares_descriptors,
        })
    }

    /// The same, where the kernel's own file systems are mounted at these unusual places, too. Looks at the disk.
    pub(crate) fn knowing(self, mounts: &[KernelMount]) -> Self {
        Self { elsewhere: Elsewhere::of(mounts), ..self }
    }

    /// Whether a held directory is what the supervisor has as its root.
    ///
    /// # Errors
    /// As `fstat(2)`.
    pub(crate) fn is_root(&self, directory: &OwnedFd) -> Result<bool, Errno> {
        Ok(identity(directory)? == self.root)
    }

    /// What of that which others left is not followed or opened.
    pub(crate) fn protection(&self) -> Protection {
        self.protection
    }

    /// Whether capabilities of a thread's mean what the supervisor's do.
    pub(crate) fn is_own_user_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "user") == Ok(self.user_namespace)
    }

    /// Whether numbers of processes mean others to a thread than to the supervisor.
    pub(crate) fn is_other_pid_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "pid").is_ok_and(|its| its != self.pid_namespace)
    }

    /// One of the files about a thread.
    ///
    /// # Errors
    /// `EACCES` where it cannot be read; `EMFILE`, `ENFILE` or `ENOMEM` where something is lacking for that.
    pub(crate) fn text(&self, tid: impl Display, name: &str) -> Result<String, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file =
            openat(&self.all, format!("{tid}/{name}"), flags, Mode::empty()).map_err(unreadable)?;
        let mut text = Vec::with_capacity(USUAL);
        loop {
            text.reserve(USUAL);
            let room = rustix::buffer::spare_capacity(&mut text);
            // The kernel gives as much as there is, or as there is room for.
            if rustix::io::read(&file, room).map_err(unreadable)? < USUAL {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }

    /// A number in the status of a process or thread (`proc_pid_stat(5)`), so many behind its name.
    pub(crate) fn number(&self, of: impl Display, behind: usize) -> Option<i64> {
        let text = self.text(of, "stat").ok()?;
        descendants::fields(&text)?.nth(behind)?.parse().ok()
    }

    /// How many descriptors a thread has; zero where the kernel does not say (before Linux 6.2).
    ///
    /// # Errors
    /// As `stat(2)`.
    pub(crate) fn count_descriptors(&self, tid: i32) -> Result<u64, Errno> {
        let directory = statat(&self.all, format!("{tid}/fd"), AtFlags::empty())?;
        Ok(directory.st_size.unsigned_abs())
    }

    /// The numbers of a thread's descriptors.
    ///
    /// # Errors
    /// As `open(2)` and `readdir(3)`.
    pub(crate) fn descriptors_of(&self, tid: i32) -> Result<Vec<u64>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(&self.all, format!("{tid}/fd"), flags, Mode::empty())?;
        let mut numbers = Vec::new();
        for entry in Dir::new(directory)? {
            // Not `.` nor `..`.
            numbers
                .extend(entry?.file_name().to_str().ok().and_then(|name| name.parse::<u64>().ok()));
        }
        Ok(numbers)
    }

    /// Whether names of queues mean to a thread what they do to the supervisor. A kernel may have no such
    /// namespaces.
    pub(crate) fn is_own_ipc_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "ipc").ok() == self.ipc_namespace
    }

    /// Where a held object is: a path, or `pipe:[…]` and the like.
    ///
    /// # Errors
    /// As `readlink(2)`.
    pub(crate) fn place(&self, object: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
        let name = DecInt::new(object.as_raw_fd());
        readlinkat(&self.descriptors, name, Vec::with_capacity(256)).map(CString::into_bytes)
    }

    /// Opens a held object anew.
    ///
    /// # Errors
    /// As `open(2)`.
    pub(crate) fn reopen(&self, object: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(&self.descriptors, DecInt::new(object.as_raw_fd()), flags, Mode::empty())
    }
}

impl AsFd for Proc {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

/// The name that leads to exactly the held object.
pub(crate) fn name_of(object: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", object.as_raw_fd())
}

/// A number that the kernel goes by with files (`proc_sys_fs(5)`); zero where it has no such.
fn setting(proc: &OwnedFd, name: &str) -> u32 {
    let name = format!("sys/fs/{name}");
    let file = openat(proc, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let text = file.ok().and_then(|file| io::read_to_string(std::fs::File::from(file)).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

fn namespace(proc: &OwnedFd, process: &str, kind: &str) -> Result<u64, Errno> {
    statat(proc, format!("{process}/ns/{kind}"), AtFlags::empty()).map(|stat| stat.st_ino)
}

fn identity(object: &OwnedFd) -> Result<[u64; 2], Errno> {
    let stat = fstat(object)?;
    Ok([stat.st_dev, stat.st_ino])
}

/// Whether there is a process or thread of that number.
pub(crate) fn exists(proc: &Proc, number: &str) -> bool {
    statat(&proc.all, number, AtFlags::empty()).is_ok()
}

/// Whether a process has descended from this one, and so belongs to the run.
pub(crate) fn is_of_this_run(proc: &Proc, pid: &[u8]) -> bool {
    let own = std::process::id();
    let parent_of = |pid: &str| u32::try_from(proc.number(pid, 1)?).ok();
    let mut pid = String::from_utf8_lossy(pid).into_owned();
    while let Some(parent) = parent_of(&pid).filter(|&parent| parent > 1) {
        if parent == own {
            return true;
        }
        pid = parent.to_string();
    }
    false
}

/// The working directory of the calling thread, for calls that want a directory beside a whole path.
pub(crate) const HERE: BorrowedFd<'static> = CWD;

/// What it means to a caller that something about it could not be opened here: no refusal, where this process has
/// no room.
pub(crate) const fn unreadable(why: Errno) -> Errno {
    match why {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => why,
        _ => Errno::ACCESS,
    }
}
