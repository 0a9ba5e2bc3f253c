//! Opens `/proc` once, and reads about processes and threads in it. Used by the supervisor and its prompts.

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

use self::link_protection::Protection;
use crate::sys::mount_table::KernelMount;
use crate::sys::mount_table::elsewhere::Elsewhere;

/// More bytes than most files about a thread have.
const USUAL: usize = 4096;

const HELD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Pinned directories of `/proc`, and the supervisor's own root and namespaces.
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
    /// `shares_descriptors` says whether descriptors of callers can be shared.
    ///
    /// # Errors
    /// If there is no `/proc`, or it belongs to another pid namespace.
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

    /// Adds the unusual places at which the kernel's own file systems are mounted. Looks at the disk.
    pub(crate) fn knowing(self, mounts: &[KernelMount]) -> Self {
        Self { elsewhere: Elsewhere::of(mounts), ..self }
    }

    /// Whether a pinned directory is the supervisor's root.
    ///
    /// # Errors
    /// Those of `fstat(2)`.
    pub(crate) fn is_root(&self, directory: &OwnedFd) -> Result<bool, Errno> {
        Ok(identity(directory)? == self.root)
    }

    /// The machine's protection against symlinks and files that other users left.
    pub(crate) fn protection(&self) -> Protection {
        self.protection
    }

    /// Whether a thread is in the supervisor's user namespace, so that its capabilities mean the same.
    pub(crate) fn is_own_user_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "user") == Ok(self.user_namespace)
    }

    /// Whether a thread is in another pid namespace, so that numbers of processes mean others to it.
    pub(crate) fn is_other_pid_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "pid").is_ok_and(|its| its != self.pid_namespace)
    }

    /// Reads one of the files about a thread.
    ///
    /// # Errors
    /// `EACCES` if it cannot be read. `EMFILE`, `ENFILE` or `ENOMEM` if this process lacks descriptors or memory.
    pub(crate) fn text(&self, tid: impl Display, name: &str) -> Result<String, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file =
            openat(&self.all, format!("{tid}/{name}"), flags, Mode::empty()).map_err(unreadable)?;
        let mut text = Vec::with_capacity(USUAL);
        loop {
            text.reserve(USUAL);
            let room = rustix::buffer::spare_capacity(&mut text);
            // The kernel fills the buffer, unless the file ends.
            if rustix::io::read(&file, room).map_err(unreadable)? < USUAL {
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
        }
    }

    /// A number in the status of a process or thread (`proc_pid_stat(5)`): field `behind` after the name, from 0.
    pub(crate) fn number(&self, of: impl Display, behind: usize) -> Option<i64> {
        let text = self.text(of, "stat").ok()?;
        descendants::fields(&text)?.nth(behind)?.parse().ok()
    }

    /// How many descriptors a thread has. Zero if the kernel does not say (before Linux 6.2).
    ///
    /// # Errors
    /// Those of `stat(2)`.
    pub(crate) fn count_descriptors(&self, tid: i32) -> Result<u64, Errno> {
        let directory = statat(&self.all, format!("{tid}/fd"), AtFlags::empty())?;
        Ok(directory.st_size.unsigned_abs())
    }

    /// The numbers of a thread's descriptors.
    ///
    /// # Errors
    /// Those of `open(2)` and `readdir(3)`.
    pub(crate) fn descriptors_of(&self, tid: i32) -> Result<Vec<u64>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(&self.all, format!("{tid}/fd"), flags, Mode::empty())?;
        let mut numbers = Vec::new();
        for entry in Dir::new(directory)? {
            // `.` and `..` are not numbers.
            numbers
                .extend(entry?.file_name().to_str().ok().and_then(|name| name.parse::<u64>().ok()));
        }
        Ok(numbers)
    }

    /// Whether a thread is in the supervisor's IPC namespace, so that names of queues mean the same. A kernel may have
    /// no IPC namespaces.
    pub(crate) fn is_own_ipc_namespace(&self, tid: i32) -> bool {
        namespace(&self.all, &tid.to_string(), "ipc").ok() == self.ipc_namespace
    }

    /// Where a pinned object is: a path, or a name such as `pipe:[…]`.
    ///
    /// # Errors
    /// Those of `readlink(2)`.
    pub(crate) fn place(&self, object: BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
        let name = DecInt::new(object.as_raw_fd());
        readlinkat(&self.descriptors, name, Vec::with_capacity(256)).map(CString::into_bytes)
    }

    /// Opens a pinned object again, with other flags.
    ///
    /// # Errors
    /// Those of `open(2)`.
    pub(crate) fn reopen(&self, object: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
        openat(&self.descriptors, DecInt::new(object.as_raw_fd()), flags, Mode::empty())
    }
}

impl AsFd for Proc {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}

/// The path that leads to exactly the pinned object.
pub(crate) fn name_of(object: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", object.as_raw_fd())
}

/// A setting of the kernel for files (`proc_sys_fs(5)`). Zero if the kernel does not have it.
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

/// Whether a process or thread with that number exists.
pub(crate) fn exists(proc: &Proc, number: &str) -> bool {
    statat(&proc.all, number, AtFlags::empty()).is_ok()
}

/// Whether a process descends from this one, and so belongs to the run.
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

/// The working directory of the calling thread, for calls that take a directory beside an absolute path.
pub(crate) const HERE: BorrowedFd<'static> = CWD;

/// The error for a caller whose file in `/proc` could not be opened. If this process lacks descriptors or memory, its
/// own error stays, since that is no denial.
pub(crate) const fn unreadable(why: Errno) -> Errno {
    match why {
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => why,
        _ => Errno::ACCESS,
    }
}
