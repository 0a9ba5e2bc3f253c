//! The terminal where a supervisor was killed while its question stood: nobody is left there to give it back.

use std::io;

use rustix::process::{Pid, getpgrp};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use crate::prompt::terminal::controlling;

/// How the terminal was when a run began.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    modes: Termios,
}

impl Before {
    /// How it is now; `None` where there is none, and in the background of one, where its modes are another job's.
    pub(crate) fn now() -> Option<Self> {
        let terminal = controlling().ok()?;
        let is_ours = tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp());
        let modes = is_ours.then(|| tcgetattr(&terminal))?.ok()?;
        Some(Self { modes })
    }

    /// Makes the terminal so again, and this process's group its foreground, if the `supervisor`, which has ended,
    /// left it to itself. What was typed at its question is discarded. `SIGTTOU` has to be blocked.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(crate) fn restore(&self, supervisor: Pid) -> io::Result<()> {
        let terminal = controlling()?;
        if tcgetpgrp(&terminal)? == supervisor {
            tcsetattr(&terminal, OptionalActions::Flush, &self.modes)?;
            tcsetpgrp(&terminal, getpgrp())?;
        }
        Ok(())
    }
}
