//! Restores the terminal's modes after a program that died. Used by `commands::run`.
//!
//! Shells such as bash and zsh restore the modes for a job that died of a signal. This process exits with a status
//! instead, so the shell cannot know, and this process restores them. Modes that a program leaves at a normal exit are
//! intended (`stty`).

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};
use rustix::process::getpid;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::prompt::terminal::controlling;
use crate::prompt::turns::PromptQueue;
use crate::sys::signals::Signals;

/// The modes that the terminal had when a job began.
#[derive(Clone, Debug)]
pub(crate) struct Modes(Termios);

impl Modes {
    /// The current modes. `None` if this process is no job of its own in the foreground. In a script the modes are the
    /// script's. In a pipeline another program, such as a pager, may have set its own already.
    pub(crate) fn of_job() -> Option<Self> {
        if is_pipe(stdin()) || is_pipe(stdout()) {
            return None;
        }
        let terminal = controlling().ok()?;
        leads_foreground(&terminal).then(|| tcgetattr(&terminal))?.ok().map(Self)
    }

    /// Restores these modes, unless another job or a prompt has the terminal by now.
    pub(crate) fn restore(&self, turns: &PromptQueue) {
        let Ok(terminal) = controlling() else { return };
        if leads_foreground(&terminal) && !turns.is_taken() {
            // If another job takes the terminal just now, this process must not stop.
            let _blocked = Signals::of(&[libc::SIGTTOU]).hold();
            // If the terminal is gone, there is nothing to restore.
            let _ = tcsetattr(&terminal, OptionalActions::Now, &self.0);
        }
    }
}

/// Whether the foreground job is the one that a shell began with this process.
fn leads_foreground(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpid())
}

/// Whether the stream connects programs of a pipeline. Some shells use sockets for that.
fn is_pipe(stream: impl AsFd) -> bool {
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}
