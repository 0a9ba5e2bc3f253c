//! Lists the system calls that every process of a run is denied: number, name, effect, and the arguments that a report
//! names. The filter, the supervisor and the reports use this table.

use libc::c_long;

use self::Effect::{Around, Log, Machine, Paths, Terminal};

/// Which arguments name the object of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallSubject {
    /// A path.
    Path(usize),
    /// A path that starts at the directory of a descriptor.
    PathAt {
        /// The argument with the descriptor.
        dirfd: usize,
        /// The argument with the path.
        path: usize,
    },
    /// The file of a descriptor.
    Descriptor(usize),
    /// None: the call names no path.
    Everything,
}

/// A call that no process of a run may make, whatever the policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusedCall {
    pub(crate) number: c_long,
    pub(crate) name: &'static str,
    /// Its effect. The report's suggestion depends on it.
    pub(super) effect: Effect,
    pub(crate) about: CallSubject,
}

// `libc` has no name for these, or only with some C libraries.
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_KEXEC_FILE_LOAD: c_long = if cfg!(target_arch = "aarch64") { 294 } else { 320 };

const fn row(
    number: c_long,
    name: &'static str,
    effect: Effect,
    about: CallSubject,
) -> RefusedCall {
    RefusedCall { number, name, effect, about }
}

const fn at(dirfd: usize, path: usize) -> CallSubject {
    CallSubject::PathAt { dirfd, path }
}

/// All denied calls.
pub(crate) const REFUSED: &[RefusedCall] = &[
    row(libc::SYS_mount, "mount", Paths, CallSubject::Path(1)),
    row(libc::SYS_umount2, "umount2", Paths, CallSubject::Path(0)),
    row(libc::SYS_pivot_root, "pivot_root", Paths, CallSubject::Path(0)),
    row(libc::SYS_chroot, "chroot", Paths, CallSubject::Path(0)),
    row(libc::SYS_move_mount, "move_mount", Paths, at(2, 3)),
    row(libc::SYS_open_tree, "open_tree", Paths, at(0, 1)),
    row(SYS_OPEN_TREE_ATTR, "open_tree_attr", Paths, at(0, 1)),
    row(libc::SYS_fsopen, "fsopen", Paths, CallSubject::Everything),
    row(libc::SYS_fsmount, "fsmount", Paths, CallSubject::Everything),
    row(libc::SYS_fspick, "fspick", Paths, at(0, 1)),
    row(libc::SYS_fsconfig, "fsconfig", Paths, CallSubject::Everything),
    row(libc::SYS_mount_setattr, "mount_setattr", Paths, at(0, 1)),
    row(libc::SYS_open_by_handle_at, "open_by_handle_at", Around, CallSubject::Everything),
    row(libc::SYS_fanotify_init, "fanotify_init", Around, CallSubject::Everything),
    row(libc::SYS_swapon, "swapon", Machine, CallSubject::Path(0)),
    row(libc::SYS_swapoff, "swapoff", Machine, CallSubject::Path(0)),
    row(libc::SYS_acct, "acct", Machine, CallSubject::Path(0)),
    row(libc::SYS_quotactl, "quotactl", Machine, CallSubject::Path(1)),
    row(libc::SYS_quotactl_fd, "quotactl_fd", Machine, CallSubject::Descriptor(0)),
    row(libc::SYS_init_module, "init_module", Machine, CallSubject::Everything),
    row(libc::SYS_finit_module, "finit_module", Machine, CallSubject::Descriptor(0)),
    row(libc::SYS_delete_module, "delete_module", Machine, CallSubject::Everything),
    row(libc::SYS_kexec_load, "kexec_load", Machine, CallSubject::Everything),
    row(SYS_KEXEC_FILE_LOAD, "kexec_file_load", Machine, CallSubject::Everything),
    #[cfg(target_arch = "x86_64")]
    row(libc::SYS_iopl, "iopl", Machine, CallSubject::Everything),
    #[cfg(target_arch = "x86_64")]
    row(libc::SYS_ioperm, "ioperm", Machine, CallSubject::Everything),
    #[cfg(target_arch = "x86_64")]
    row(libc::SYS_uselib, "uselib", Machine, CallSubject::Path(0)),
    row(libc::SYS_vhangup, "vhangup", Terminal, CallSubject::Everything),
    row(libc::SYS_syslog, "syslog", Log, CallSubject::Everything),
    row(libc::SYS_bpf, "bpf", Machine, CallSubject::Everything),
    row(libc::SYS_reboot, "reboot", Machine, CallSubject::Everything),
    row(libc::SYS_settimeofday, "settimeofday", Machine, CallSubject::Everything),
    row(libc::SYS_clock_settime, "clock_settime", Machine, CallSubject::Everything),
];

/// The denied call with this number.
pub(crate) fn of_number(number: i64) -> Option<&'static RefusedCall> {
    REFUSED.iter().find(|call| call.number == number)
}

/// The effect that a call would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Create a device.
    Device,
    /// Change what paths mean.
    Paths,
    /// Change what names mean, including paths.
    Names,
    /// Reach files by other means than their paths.
    Around,
    /// Administer the whole machine.
    Machine,
    /// Read or change the kernel's log.
    Log,
    /// Type into a terminal, change what it is, or hang it up.
    Terminal,
    /// Use a message queue of another namespace.
    Queue,
    /// Reach into other processes: nothing distinguishes those of the run from others here.
    Memory,
    /// Rank or limit other processes.
    Process,
}

impl Effect {
    /// The effect of `call`. A call that is not listed counts as one that goes around paths.
    pub(crate) fn of(call: &[u8]) -> Self {
        if let Some(listed) = REFUSED.iter().find(|listed| listed.name.as_bytes() == call) {
            return listed.effect;
        }
        match call {
            b"mknod" | b"mknodat" => Self::Device,
            b"umount" => Self::Paths,
            b"unshare" | b"setns" | b"clone" | b"clone3" => Self::Names,
            b"ioctl" => Self::Terminal,
            b"klogctl" => Self::Log,
            // Sockets that are denied this way are those on which the kernel reports devices and processes.
            b"socket" => Self::Machine,
            b"mq_open" | b"mq_unlink" => Self::Queue,
            b"ptrace" | b"process_vm_readv" | b"process_vm_writev" | b"process_madvise"
            | b"pidfd_getfd" => Self::Memory,
            b"prlimit64"
            | b"setpriority"
            | b"ioprio_set"
            | b"sched_setaffinity"
            | b"sched_setattr"
            | b"sched_setparam"
            | b"sched_setscheduler"
            | b"migrate_pages"
            | b"move_pages"
            | b"perf_event_open"
            | b"setpgid" => Self::Process,
            _ => Self::Around,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_call_has_two_rows() {
        let numbers: HashSet<c_long> = REFUSED.iter().map(|call| call.number).collect();
        let names: HashSet<&str> = REFUSED.iter().map(|call| call.name).collect();
        assert_eq!((numbers.len(), names.len()), (REFUSED.len(), REFUSED.len()));
    }

    #[test]
    fn the_table_of_layers_names_each() {
        let text = include_str!("../../docs/enforcement.md");
        let rows =
            text.lines().filter(|line| line.starts_with('|') && line.contains("EPERM, told"));
        let rows: String = rows.collect();
        for RefusedCall { name, .. } in REFUSED {
            assert!(rows.contains(&format!("`{name}`")), "{name} is in no row with EPERM");
        }
    }
}
