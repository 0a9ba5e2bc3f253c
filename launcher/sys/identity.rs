//! Reads and changes the identity that a thread acts under: ids, groups, capabilities, umask. Used by the supervisor
//! and its prompts. Linux keeps them for each thread. libc's functions change them for the whole process, so they are
//! not used here.

use std::io;
use std::os::fd::AsRawFd as _;

use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Pid, capabilities, set_capabilities, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

/// The ids and capabilities that decide what a thread may do with files, and who owns the files that it creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Effective and file-system user.
    pub(crate) user: [u32; 2],
    /// Effective and file-system group.
    pub(crate) group: [u32; 2],
    /// Supplementary groups.
    pub(crate) groups: Vec<u32>,
    /// Effective capabilities.
    pub(crate) capabilities: u64,
}

/// An [`Identity`] without the supplementary groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brief {
    /// As in [`Identity`].
    pub(crate) user: [u32; 2],
    /// As in [`Identity`].
    pub(crate) group: [u32; 2],
    /// As in [`Identity`].
    pub(crate) capabilities: u64,
}

/// The first version of `struct pidfd_info` (Linux 6.13).
#[derive(Default)]
#[repr(C)]
struct Info {
    mask: u64,
    cgroup: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    ruid: u32,
    rgid: u32,
    euid: u32,
    egid: u32,
    suid: u32,
    sgid: u32,
    fsuid: u32,
    fsgid: u32,
    exit_code: i32,
}

/// Capabilities that show a hidden process, and open the directory of its descriptors, which is root's then.
const SIGHT: CapabilitySet = CapabilitySet::SYS_PTRACE.union(CapabilitySet::DAC_READ_SEARCH);

/// `PIDFD_GET_INFO`.
const GET_INFO: libc::Ioctl = libc::_IOWR::<Info>(0xff, 11);
/// `PIDFD_INFO_CREDS`.
const WITH_IDS: u64 = 2;

impl Brief {
    /// Asks the kernel about a thread.
    ///
    /// # Errors
    /// Also if the kernel is too old to tell.
    pub(crate) fn of(tid: i32) -> Result<Self, Errno> {
        let thread = Pid::from_raw(tid).ok_or(Errno::SRCH)?;
        let handle = pidfd_open(thread, PidfdFlags::from_bits_retain(libc::PIDFD_THREAD))?;
        let mut info = Info { mask: WITH_IDS, ..Info::default() };
        // SAFETY: the structure belongs to the request, whose number holds its size.
        let result = unsafe { libc::ioctl(handle.as_raw_fd(), GET_INFO, &raw mut info) };
        if result < 0 || info.mask & WITH_IDS == 0 {
            return Err(Errno::NOSYS);
        }
        Ok(Self {
            user: [info.euid, info.fsuid],
            group: [info.egid, info.fsgid],
            capabilities: capabilities(Some(thread))?.effective.bits(),
        })
    }
}

/// Reads about a process in `/proc` with `look`. If the identity that the calling thread acts under is denied that, the
/// thread raises its capabilities for `look` alone, if it is permitted to.
///
/// # Errors
/// Those of `look`.
pub(crate) fn look_into<T>(look: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    let refusal = match look() {
        Err(errno @ (Errno::ACCESS | Errno::PERM)) => errno,
        seen => return seen,
    };
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    // Without `CAP_SYS_PTRACE`, as in many containers, the kernel asks for all that the other process is permitted
    // (`cap_ptrace_access_check` in its `commoncap.c`).
    let sees_all = permitted.contains(CapabilitySet::SYS_PTRACE);
    let raised = if sees_all { effective | (SIGHT & permitted) } else { permitted };
    if raised == effective || set_effective(raised, permitted).is_err() {
        return Err(refusal);
    }
    let seen = look();
    if set_effective(effective, permitted).is_err() {
        // The thread acts for a confined process next, which must not have these capabilities.
        std::process::abort();
    }
    seen
}

/// Gives the calling thread its own working directory and umask.
///
/// # Errors
/// Those of `unshare(2)`.
pub(crate) fn own_directory_and_mask() -> io::Result<()> {
    // SAFETY: this affects only the thread's own root, working directory and umask.
    let result = unsafe { libc::unshare(libc::CLONE_FS) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the umask of the calling thread.
pub(crate) fn set_mask(mask: u32) {
    rustix::process::umask(Mode::from_raw_mode(mask));
}

/// Makes the calling thread act as `identity`. Its real and saved ids stay, so that it can return.
///
/// # Errors
/// `EPERM` if the thread may not. Then it must not act at all.
pub(crate) fn assume(identity: &Identity) -> Result<(), Errno> {
    let permitted = capabilities(None)?.permitted;
    // The steps that follow need all permitted capabilities.
    set_effective(permitted, permitted)?;
    let [euid, fsuid] = identity.user;
    let [group, group_of_files] = identity.group;
    let groups: Vec<Gid> = identity.groups.iter().map(|&gid| Gid::from_raw(gid)).collect();
    // An id that is right already is not set: a user namespace may forbid that, or have no number for the id.
    if rustix::process::getgroups()? != groups {
        set_thread_groups(&groups)?;
    }
    if rustix::process::getegid().as_raw() != group {
        set_thread_res_gid(None, Gid::from_raw(group), None)?;
    }
    set_file_system_id(libc::SYS_setfsgid, group_of_files)?;
    if rustix::process::geteuid().as_raw() != euid {
        set_thread_res_uid(None, Uid::from_raw(euid), None)?;
    }
    set_file_system_id(libc::SYS_setfsuid, fsuid)?;
    set_effective(CapabilitySet::from_bits_retain(identity.capabilities) & permitted, permitted)
}

fn set_effective(effective: CapabilitySet, permitted: CapabilitySet) -> Result<(), Errno> {
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable })
}

/// setfsuid(2) or setfsgid(2). Only a second call tells whether the first one worked.
fn set_file_system_id(number: libc::c_long, id: u32) -> Result<(), Errno> {
    // SAFETY: the call takes a number, and affects this thread alone.
    let ask = |id: u32| unsafe { libc::syscall(number, id) };
    let is_set = || ask(u32::MAX) == libc::c_long::from(id);
    if is_set() {
        return Ok(());
    }
    ask(id);
    if is_set() { Ok(()) } else { Err(Errno::PERM) }
}
