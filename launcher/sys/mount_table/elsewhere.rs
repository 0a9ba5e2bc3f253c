//! Finds the meaning of a path in a kernel file system that is mounted at an unusual place. Used by the supervisor's
//! `location`.

use std::os::fd::BorrowedFd;

use rustix::fs::{FsWord, PROC_SUPER_MAGIC, fstatfs, major};
use rustix::io::Errno;

use crate::sys::mount_table::KernelMount;
use crate::sys::mount_table::kernel::usual_path;

/// The types of the kernel's own file systems except procfs, as `fstatfs(2)` numbers them (`linux/magic.h`).
const KERNEL: [FsWord; 15] = [
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xcafe_4a11, // bpf
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6165_676c, // pstore
    0x0765_5821, // resctrl
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x6573_5543, // fusectl
    0xde5e_81e4, // efivarfs
    0x4249_4e4d, // binfmt_misc
];

/// The meaning of an object's path for the policy.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The path itself.
    Ordinary,
    /// The object that `/proc` has at this path.
    Process {
        path: Vec<u8>,
        /// Whether the process numbers in it are those of `/proc`.
        alike: bool,
    },
    /// Unknown, since it was mounted after the run began.
    Unknown,
}

/// The unusual places at which the kernel's own file systems were mounted when the run began.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere {
    mounts: Vec<(KernelMount, bool)>,
}

impl Elsewhere {
    pub(crate) fn of(mounts: &[KernelMount]) -> Self {
        let known =
            |mount: &KernelMount| (mount.clone(), mount.has_processes && mount.numbers_alike());
        Self { mounts: mounts.iter().map(known).collect() }
    }

    /// The meaning of the pinned object at `path`, on the file system with the number `device`. Disks have a major
    /// number, so most objects take no system call.
    ///
    /// # Errors
    /// Those of `fstatfs(2)`.
    pub(crate) fn meaning(
        &self,
        path: &[u8],
        object: BorrowedFd<'_>,
        device: u64,
    ) -> Result<Meaning, Errno> {
        if major(device) != 0 {
            return Ok(Meaning::Ordinary);
        }
        let kind = fstatfs(object)?.f_type;
        let has_processes = kind == PROC_SUPER_MAGIC;
        if !has_processes && !KERNEL.contains(&kind) {
            return Ok(Meaning::Ordinary);
        }
        let mounts = self.mounts.iter().map(|(mount, _)| mount);
        Ok(match usual_path(mounts, path) {
            Some((mount, path)) if has_processes && mount.has_processes => {
                let alike = self.mounts.iter().any(|(one, alike)| one == mount && *alike);
                Meaning::Process { path, alike }
            }
            Some((mount, _)) if !has_processes && !mount.has_processes => Meaning::Ordinary,
            None if is_usual(path) => Meaning::Ordinary,
            _ => Meaning::Unknown,
        })
    }
}

/// Whether the path is in `/proc` or `/sys`, where the policy expects the kernel's file systems.
fn is_usual(path: &[u8]) -> bool {
    let places = [&b"/proc"[..], b"/sys"];
    places
        .iter()
        .any(|place| path.strip_prefix(*place).is_some_and(|rest| matches!(rest, [] | [b'/', ..])))
}
