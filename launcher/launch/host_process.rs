//! The process that a run must not outlive: the host of a tool. Used by `front`.

use std::io;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::error::Failure;

/// The process whose child this one is, and with which the run ends; none for other runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostProcess(Option<Pid>);

impl HostProcess {
    /// Has the kernel tell this process when the process `number` has ended, however it did, by a signal that it fetches
    /// (`PR_SET_PDEATHSIG`).
    ///
    /// # Errors
    /// Where it has ended by now.
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

    /// Whether it has ended: then this process is another's child.
    pub(crate) fn is_gone(self) -> bool {
        self.0.is_some_and(|host| getppid() != Some(host))
    }
}
