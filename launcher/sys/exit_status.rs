//! Turns a program's end into the launcher's own: the same exit status, or for a key's signal the same signal.

use rustix::process::{Resource, Rlimit, WaitStatus, setrlimit};

use crate::sys::signals;

/// Signals that keys send. A shell ends its script at a ^C only if the program that it waited for died of that signal.
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
    /// `None` if the process did not end.
    pub(crate) fn of(status: WaitStatus) -> Option<Self> {
        match status.exit_status() {
            Some(code) => u8::try_from(code).ok().map(Self::Exited),
            None => status.terminating_signal().map(Self::Killed),
        }
    }

    /// The exit status for it (spec §18): the program's own, or 128 + N if signal N ended it.
    pub(crate) fn status(self) -> u8 {
        match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => u8::try_from(signal).unwrap_or(0).saturating_add(128),
        }
    }

    /// If the signal of a key ended the program, ends this process by the same signal, without a core file. Otherwise
    /// returns the exit status.
    pub(crate) fn follow(self) -> u8 {
        if let Self::Killed(signal) = self
            && KEYS.contains(&signal)
        {
            // If the limit cannot be set, this process leaves a core file, too.
            let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
            signals::end_by(signal);
        }
        self.status()
    }
}
