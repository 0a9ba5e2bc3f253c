//! Calls that are refused whatever a policy says, by what they would do.

use crate::events::{Denial, Layer, Reason};

/// What a call would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Make a device.
    Device,
    /// Change what paths mean.
    Paths,
    /// Reach files by other means than their paths.
    Around,
    /// Touch the machine as such.
    Machine,
    /// Type into a terminal.
    Typing,
    /// Use a message queue of another namespace.
    Queue,
    /// Reach into processes, where nothing tells those of the run apart from others.
    Memory,
    /// Rank or limit other processes.
    Process,
}

impl Effect {
    /// What `call` would do; of what is not listed it is known only that it goes around paths.
    const fn of(call: &[u8]) -> Self {
        match call {
            b"mknod" | b"mknodat" => Self::Device,
            b"mount" | b"umount" | b"umount2" | b"pivot_root" | b"chroot" | b"move_mount"
            | b"open_tree" | b"open_tree_attr" | b"fsopen" | b"fsmount" | b"fspick"
            | b"fsconfig" | b"mount_setattr" | b"unshare" | b"setns" | b"clone" | b"clone3" => {
                Self::Paths
            }
            b"swapon" | b"swapoff" | b"acct" | b"quotactl" | b"quotactl_fd" | b"init_module"
            | b"finit_module" | b"delete_module" | b"kexec_load" | b"kexec_file_load" | b"iopl"
            | b"ioperm" | b"uselib" | b"bpf" | b"reboot" | b"settimeofday" | b"clock_settime" => {
                Self::Machine
            }
            b"ioctl" => Self::Typing,
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
            | b"perf_event_open" => Self::Process,
            _ => Self::Around,
        }
    }
}

/// Why no option allows a call that was refused for `reason`, and what to do; nothing for other reasons.
pub(crate) const fn way_out(reason: Reason, call: &[u8]) -> Option<&'static str> {
    Some(match (reason, Effect::of(call)) {
        (Reason::Namespace, Effect::Device) => {
            "no option allows devices, which go around paths: make it outside of the run"
        }
        (Reason::Namespace, Effect::Paths) => {
            "no option allows it, as it changes what paths mean: do it outside of the run"
        }
        (Reason::Namespace, Effect::Machine) => {
            "no option allows it, as it touches the machine: do it outside of the run"
        }
        (Reason::Namespace, Effect::Typing) => {
            "no option allows it, as it types for the user: do it outside of the run"
        }
        (Reason::Namespace, Effect::Queue) => {
            "in another IPC namespace the name is another queue's: use it outside of that"
        }
        (Reason::Namespace, _) => {
            "no option allows it, as it goes around paths: do it outside of the run"
        }
        (Reason::OtherProcess, Effect::Memory) => {
            "without Landlock nothing keeps others' apart: `jp-confine doctor` says more"
        }
        (Reason::OtherProcess, _) => {
            "no option allows it, as it is another process's: do it outside of the run"
        }
        _ => return None,
    })
}

/// What the program was told, as `errno(3)` calls it.
pub(crate) fn errno(denial: &Denial) -> &'static str {
    let by_supervisor = denial.layer == Layer::Supervisor;
    match (denial.reason, Effect::of(&denial.call)) {
        _ if denial.hidden => "ENOENT",
        (Reason::Namespace, Effect::Device) => "EPERM",
        (Reason::Namespace, effect) if by_supervisor && effect != Effect::Queue => "EPERM",
        (Reason::OtherProcess, Effect::Memory | Effect::Process) if by_supervisor => "EPERM",
        _ => "EACCES",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_the_way_out() {
        for (call, words) in [
            ("mknod", "make it outside"),
            ("chroot", "what paths mean: do it outside"),
            ("clone3", "what paths mean: do it outside"),
            ("open_by_handle_at", "around paths: do it outside"),
            ("kexec_load", "the machine: do it outside"),
            ("ioctl", "for the user: do it outside"),
        ] {
            let way = way_out(Reason::Namespace, call.as_bytes()).expect("a way out");
            assert!(way.contains(words), "{call}: {way}");
            assert!(way.len() <= 76, "{way}");
        }
        let process = |call: &str| way_out(Reason::OtherProcess, call.as_bytes()).expect("a way");
        assert!(process("setpriority").contains("do it outside"));
        assert!(process("ptrace").contains("jp-confine doctor"));
        assert_eq!(way_out(Reason::Rule, b"mknod"), None);
    }

    #[test]
    fn the_errno_is_that_of_the_layer() {
        let told = |reason, layer, call: &str| {
            let by = (1, Vec::new());
            let denial = Denial::by_supervisor(reason, b"/", by, call.as_bytes());
            errno(&Denial { layer, ..denial })
        };
        let (shim, supervisor) = (Layer::Shim, Layer::Supervisor);
        assert_eq!(told(Reason::Namespace, supervisor, "mount"), "EPERM");
        assert_eq!(told(Reason::Namespace, shim, "mount"), "EACCES");
        assert_eq!(told(Reason::Namespace, shim, "mknod"), "EPERM");
        assert_eq!(told(Reason::Namespace, supervisor, "mq_open"), "EACCES");
        assert_eq!(told(Reason::OtherProcess, supervisor, "setpriority"), "EPERM");
        assert_eq!(told(Reason::OtherProcess, supervisor, "openat"), "EACCES");
        assert_eq!(told(Reason::Rule, supervisor, "openat"), "EACCES");
    }
}
