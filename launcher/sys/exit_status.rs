//! How a program ended, and ending as it did.

use rustix::process::{Resource, Rlimit, WaitStatus, setrlimit};

use crate::sys::signals;

/// Signals that keys send. A shell ends its script at a ^C only if the program that it waited for died of it.
const KEYS: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this exit status.
    Exited(u8),
    /// By this signal.
    Killed(i32),
}

impl End {
    /// `None` where the process did not end.
    pub(crate) fn of(status: WaitStatus) -> Option<Self> {
        match status.exit_status() {
            Some(code) => u8::try_from(code).ok().map(Self::Exited),
            None => status.terminating_signal().map(Self::Killed),
        }
    }

    /// The exit status that says so (spec §18): its own, or 128 + N if signal N ended it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => u8::try_from(signal).unwrap_or(0).saturating_add(128),
        }
    }

    /// Ends this process by the signal of a key that ended the program, without a memory image of its own; for
    /// everything else there is the status.
    pub(crate) fn follow(self) -> u8 {
        if let Self::Killed(signal) = self
            && KEYS.contains(&signal)
        {
            // Where it cannot be lowered, there is an image more.
            let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
            signals::end_by(signal);
        }
        self.status()
    }
}
