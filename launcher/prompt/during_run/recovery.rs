//! Restores the terminal after a supervisor was killed during a prompt, when nobody else would give it back.

use std::io;

use rustix::process::Pid;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use crate::prompt::terminal::controlling;
use crate::sys::groups::own_group;

/// The terminal's modes when a run began.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    modes: Termios,
}

impl Before {
    /// The modes now. `None` without a terminal, and in the background, where the modes are another job's.
    pub(crate) fn now() -> Option<Self> {
        let terminal = controlling().ok()?;
        let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| own_group() == Some(group));
        let modes = is_ours.then(|| tcgetattr(&terminal))?.ok()?;
        Some(Self { modes })
    }

    /// Restores the modes and makes this process's group the foreground. Does so only if the `supervisor`, which has
    /// ended, still has the terminal. Discards the input typed at its prompt. The caller must block `SIGTTOU`.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(crate) fn restore(&self, supervisor: Pid) -> io::Result<()> {
        let terminal = controlling()?;
        if let Some(group) = own_group()
            && tcgetpgrp(&terminal)? == supervisor
        {
            tcsetattr(&terminal, OptionalActions::Flush, &self.modes)?;
            tcsetpgrp(&terminal, group)?;
        }
        Ok(())
    }
}
