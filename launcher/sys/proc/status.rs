//! Reads `/proc/TID/status` (`proc_pid_status(5)`).

use std::fs;

use rustix::io::Errno;
use rustix::process::Signal;

use super::Proc;
use crate::sys::identity::Identity;

/// The ids that a process may claim when it sends a message: real, effective and saved (`unix(7)`, `SCM_CREDENTIALS`).
/// If it claims none, the kernel reports the real ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub(crate) users: [u32; 3],
    pub(crate) groups: [u32; 3],
}

/// The status of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    /// The process it belongs to.
    pub(crate) process: i32,
    /// The identity that it acts under.
    pub(crate) identity: Identity,
    /// The ids that it may claim.
    pub(crate) sender: Sender,
    /// Its umask.
    pub(crate) mask: u32,
    /// The thread that traces it, or zero.
    pub(crate) tracer: i32,
    /// It sleeps, and any signal wakes it.
    pub(crate) is_lightly_asleep: bool,
    /// It sleeps, and only deadly signals wake it.
    pub(crate) is_fast_asleep: bool,
    /// A signal is pending that it does not block.
    pub(crate) has_signal: bool,
    /// The signals that it blocks, and those that its process ignores.
    unheard: u64,
}

impl Status {
    /// Reads the status of a thread.
    ///
    /// # Errors
    /// `EACCES` if it cannot be read.
    pub(crate) fn read(proc: &Proc, tid: i32) -> Result<Self, Errno> {
        Self::parse(&proc.text(tid, "status")?).ok_or(Errno::ACCESS)
    }

    /// Whether the thread sleeps, and no pending signal is about to wake it.
    pub(crate) fn is_at_rest(tid: i32) -> bool {
        Self::of(tid).is_some_and(|status| status.is_lightly_asleep && !status.has_signal)
    }

    /// Whether a process neither blocks nor ignores this signal.
    pub(crate) fn is_heard(process: u32, signal: Signal) -> bool {
        Self::of(process.cast_signed()).is_some_and(|status| status.hears(signal))
    }

    fn of(tid: i32) -> Option<Self> {
        // Its name may hold any byte.
        let text = fs::read(format!("/proc/{tid}/status")).ok()?;
        Self::parse(&String::from_utf8_lossy(&text))
    }

    /// The umask of this process, if it can be read.
    pub(crate) fn own_mask() -> Option<u32> {
        let text = fs::read_to_string("/proc/thread-self/status").ok()?;
        Self::parse(&text).map(|status| status.mask)
    }

    /// Whether the thread neither blocks nor ignores the signal.
    pub(crate) fn hears(&self, signal: Signal) -> bool {
        self.unheard & 1 << (signal.as_raw() - 1) == 0
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let line = |name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
        };
        let numbers = |name: &str| -> Option<Vec<u32>> {
            line(name)?.split_ascii_whitespace().map(|number| number.parse().ok()).collect()
        };
        let bits = |name: &str| u64::from_str_radix(line(name)?, 16).ok();
        let first = |ids: Vec<u32>| ids.first_chunk().copied();
        // The status lists real, effective, saved and file system ids.
        let effective_and_fs = |ids: Vec<u32>| Some([*ids.get(1)?, *ids.get(3)?]);
        Some(Self {
            process: line("Tgid")?.parse().ok()?,
            identity: Identity {
                user: effective_and_fs(numbers("Uid")?)?,
                group: effective_and_fs(numbers("Gid")?)?,
                groups: numbers("Groups")?,
                capabilities: bits("CapEff")?,
            },
            sender: Sender { users: first(numbers("Uid")?)?, groups: first(numbers("Gid")?)? },
            mask: u32::from_str_radix(line("Umask")?, 8).ok()?,
            tracer: line("TracerPid")?.parse().ok()?,
            is_lightly_asleep: line("State")?.starts_with('S'),
            is_fast_asleep: line("State")?.starts_with('D'),
            has_signal: (bits("SigPnd")? | bits("ShdPnd")?) & !bits("SigBlk")? != 0,
            unheard: bits("SigBlk")? | bits("SigIgn")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\ta Uid:\\n9\nUmask:\t0027\nState:\tS (sleeping)\nTgid:\t12\nUid:\t1\t2\t3\t4\n\
        Gid:\t5\t6\t7\t8\nGroups:\t10 20 \nTracerPid:\t0\n\
        SigPnd:\t0000000000000000\nShdPnd:\t0000000000000001\nSigBlk:\t0000000000000001\n\
        SigIgn:\t0000000000200000\n\
        CapEff:\t000001ffffffffff\n";

    #[test]
    fn a_status_is_read() {
        let status = Status::parse(TEXT).expect("read");
        assert_eq!((status.process, status.mask, status.tracer), (12, 0o27, 0));
        assert!(status.is_lightly_asleep && !status.is_fast_asleep && !status.has_signal);
        let unblocked = TEXT.replace("SigBlk:\t0000000000000001", "SigBlk:\t0000000000000002");
        assert!(Status::parse(&unblocked).expect("read").has_signal);
        assert!(!status.hears(Signal::HUP) && !status.hears(Signal::TTOU));
        assert!(status.hears(Signal::INT) && status.hears(Signal::TTIN));
        assert_eq!(status.identity.user, [2, 4]);
        assert_eq!(status.identity.group, [6, 8]);
        assert_eq!(status.identity.groups, [10, 20]);
        assert_eq!(status.identity.capabilities, 0x01ff_ffff_ffff);
    }

    #[test]
    fn what_lacks_a_line_is_none() {
        for name in [
            "Umask",
            "State",
            "Tgid",
            "Uid",
            "Gid",
            "Groups",
            "CapEff",
            "TracerPid",
            "SigPnd",
            "ShdPnd",
            "SigBlk",
            "SigIgn",
        ] {
            assert_eq!(Status::parse(&TEXT.replace(&format!("\n{name}:"), "\nX:")), None, "{name}");
        }
    }
}
