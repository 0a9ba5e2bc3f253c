//! Ends a run together with the host of its tool. Used by `front`.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::error::Failure;

/// The parent of this process, with which the run ends. Empty for runs without a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostProcess(Option<Pid>);

impl HostProcess {
    /// Has the kernel send this process a signal that it fetches when the process `number` ends, however that happens
    /// (`PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// The host has already ended.
    pub(crate) fn attend(number: Option<i32>) -> Result<Self, Failure> {
        let host = Self(number.and_then(Pid::from_raw));
        if host.0.is_some() {
            set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from)?;
        }
        if host.is_gone() {
            return Err(Failure::own("nothing was run: the process that it is for has ended"));
        }
        Ok(host)
    }

    /// Whether the host has ended: then this process has another parent.
    pub(crate) fn is_gone(self) -> bool {
        self.0.is_some_and(|host| getppid() != Some(host))
    }
}
