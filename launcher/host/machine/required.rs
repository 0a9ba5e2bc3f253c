//! Checks the kernel features that every run needs, whichever layers enforce its policy.

use rustix::io::Errno;

use crate::error::Failure;
use crate::sys::memfd;

/// A kernel feature that every run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Sealed files in memory.
    Memory,
    /// Becoming the parent of orphaned descendants.
    Reaper,
}

impl Need {
    /// Every need.
    pub(crate) const ALL: [Self; 2] = [Self::Memory, Self::Reaper];

    /// Its name in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memfd",
            Self::Reaper => "subreaper",
        }
    }

    /// The loss without it.
    pub(crate) const fn loss(self) -> &'static str {
        match self {
            Self::Memory => "nothing is run: no policy could be kept from being changed",
            Self::Reaper => "nothing is run: processes could leave it",
        }
    }

    /// How to get it.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::Memory => "Linux 3.17 or newer, memfd_create(2) allowed by the container",
            Self::Reaper => "Linux 3.4 or newer, prctl(2) allowed by the container",
        }
    }

    const fn call(self) -> &'static str {
        match self {
            Self::Memory => "memfd_create",
            Self::Reaper => "prctl(PR_SET_CHILD_SUBREAPER)",
        }
    }

    /// Tries it. Afterwards this process is a reaper, or a file in memory was sealed and dropped.
    ///
    /// # Errors
    /// Those of `memfd_create(2)` and `fcntl(2)`, or of `prctl(2)`.
    pub(crate) fn attempt(self) -> Result<(), Errno> {
        match self {
            Self::Memory => memfd::attempt(),
            Self::Reaper => rustix::process::set_child_subreaper(Some(rustix::process::getpid())),
        }
    }

    /// Tries it before a run.
    ///
    /// # Errors
    /// If it is missing, with the remedy.
    pub(crate) fn require(self) -> Result<(), Failure> {
        self.attempt().map_err(|error| {
            let message = format!("nothing was run: {}: {error}", self.call());
            match error {
                // The call exists, but descriptors or memory are lacking.
                Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
                    Failure::advised(message, "allow more open files (`ulimit -n`), or more memory")
                }
                _ => Failure::advised(message, self.remedy()),
            }
        })
    }
}
