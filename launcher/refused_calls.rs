//! Calls that are refused whatever a policy says, by what they would do.

mod table;

pub(crate) use self::table::{About, REFUSED, RefusedCall, of_number};
use crate::events::{Denial, Reason};

/// What a call would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Make a device.
    Device,
    /// Change what paths mean.
    Paths,
    /// Change what names mean, those of paths among them.
    Names,
    /// Reach files by other means than their paths.
    Around,
    /// Touch the machine as such.
    Machine,
    /// Read or change the kernel's log.
    Log,
    /// Type into a terminal, make something else of it, or hang it up.
    Terminal,
    /// Use a message queue of another namespace.
    Queue,
    /// Reach into processes, where nothing tells those of the run apart from others.
    Memory,
    /// Rank or limit other processes.
    Process,
}

impl Effect {
    /// What `call` would do; of what is not listed it is known only that it goes around paths.
    fn of(call: &[u8]) -> Self {
        if let Some(listed) = REFUSED.iter().find(|listed| listed.name.as_bytes() == call) {
            return listed.effect;
        }
        match call {
            b"mknod" | b"mknodat" => Self::Device,
            b"umount" => Self::Paths,
            b"unshare" | b"setns" | b"clone" | b"clone3" => Self::Names,
            b"ioctl" => Self::Terminal,
            b"klogctl" => Self::Log,
            // Of the sockets that are refused so: those by which the kernel tells of devices and processes.
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

/// Why no option allows a call that was refused for `reason`, and what to do; nothing for other reasons.
pub(crate) fn way_out(reason: Reason, call: &[u8]) -> Option<&'static str> {
    Some(match (reason, Effect::of(call)) {
        (Reason::Namespace, Effect::Device) => {
            "no option allows devices, which go around paths: make it outside of the run"
        }
        (Reason::Namespace, Effect::Paths) => {
            "no option allows it, as it changes what paths mean: do it outside of the run"
        }
        (Reason::Namespace, Effect::Names) => {
            "no option allows it, as it changes what names mean: do it outside of the run"
        }
        (Reason::Namespace, Effect::Machine) => {
            "no option allows it, as it touches the machine: do it outside of the run"
        }
        (Reason::Namespace, Effect::Log) => {
            "no option allows the call; `-r /dev/kmsg` allows the file, which dmesg reads"
        }
        (Reason::Namespace, Effect::Terminal) => {
            "no option allows it, as the terminal is the user's: do it outside of the run"
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
    match (denial.reason, Effect::of(&denial.call)) {
        _ if denial.hidden => "ENOENT",
        (Reason::Namespace, Effect::Queue) => "EACCES",
        (Reason::Namespace, _) | (Reason::OtherProcess, Effect::Memory | Effect::Process) => {
            "EPERM"
        }
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
            ("clone3", "what names mean: do it outside"),
            ("open_by_handle_at", "around paths: do it outside"),
            ("kexec_load", "the machine: do it outside"),
            ("socket", "the machine: do it outside"),
            ("syslog", "`-r /dev/kmsg`"),
            ("klogctl", "`-r /dev/kmsg`"),
            ("ioctl", "the user's: do it outside"),
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
    fn the_errno_is_what_was_answered() {
        let told = |reason, call: &str| {
            let by = (1, Vec::new());
            errno(&Denial::by_supervisor(reason, b"/", by, call.as_bytes()))
        };
        for call in ["mount", "umount", "unshare", "mknod", "bpf"] {
            assert_eq!(told(Reason::Namespace, call), "EPERM", "{call}");
        }
        assert_eq!(told(Reason::Namespace, "mq_open"), "EACCES");
        assert_eq!(told(Reason::OtherProcess, "setpriority"), "EPERM");
        assert_eq!(told(Reason::OtherProcess, "openat"), "EACCES");
        assert_eq!(told(Reason::Rule, "openat"), "EACCES");
    }
}
