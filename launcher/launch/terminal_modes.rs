//! The terminal's modes after a program that died.
//!
//! Shells as bash and zsh restore them for a job that died of a signal. This process exits with a status instead, so that the
//! shell cannot know, and does it in the shell's stead. Modes that a program leaves at its exit are meant so (`stty`).

use std::fs::File;
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};
use rustix::process::getpid;
use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::prompt::terminal::controlling;
use crate::prompt::turns::Turns;
use crate::sys::signals::Signals;

/// The modes that the terminal had when a job began.
#[derive(Clone, Debug)]
pub(crate) struct Modes(Termios);

impl Modes {
    /// As they are now. `None` where this process is no job of its own in the foreground: a script's modes are the
    /// script's, and others in a pipeline, as a pager, may have set theirs already.
    pub(crate) fn of_job() -> Option<Self> {
        if is_pipe(stdin()) || is_pipe(stdout()) {
            return None;
        }
        let terminal = controlling().ok()?;
        leads_foreground(&terminal).then(|| tcgetattr(&terminal))?.ok().map(Self)
    }

    /// Makes them so again, unless the terminal is another's by now: a job's, or that of a question.
    pub(crate) fn restore(&self, turns: &Turns) {
        let Ok(terminal) = controlling() else { return };
        if leads_foreground(&terminal) && !turns.is_taken() {
            // Where somebody takes it just now, this process is not to stop.
            let _blocked = Signals::of(&[libc::SIGTTOU]).hold();
            // Where the terminal is gone there is nothing to restore.
            let _ = tcsetattr(&terminal, OptionalActions::Now, &self.0);
        }
    }
}

/// Whether the job in the foreground is that which a shell began with this process.
fn leads_foreground(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpid())
}

/// Whether what a shell connects the programs of a pipeline by is there: some take sockets.
fn is_pipe(stream: impl AsFd) -> bool {
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}
