//! What is typed at a terminal, for one reader alone (decision 0018).
//!
//! A terminal lets one read after the other (`atomic_read_lock` in the kernel's `n_tty.c`): while one waits for a line,
//! who begins to read waits for that, or hears that there is nothing (`EAGAIN`). So a thread reads from before a question
//! is put until it is answered, and its line is the whole of what was typed, if nobody else was reading by then.
//! Whether somebody was is told by where the kernel has the thread wait.
//!
//! A hand that is typing does not stop when a question comes, and the end of a word may be an answer. So it is listened
//! for a moment before.

use std::fs::{self, File};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use rustix::thread::gettid;

use crate::prompt::confirmation_word::{Countersign, Why};
use crate::prompt::line_mode::Lines;
use crate::sys::signals::Interrupting;

/// The kernel hands out no longer lines.
const LONGEST: usize = 4096;

/// How often, and after how long, it is looked where the thread is.
const LOOKS: u32 = 30;
const LOOK: Duration = Duration::from_millis(1);

/// For so long nothing is typed before a question is put: longer than between two keys of one word.
const QUIET: Duration = Duration::from_millis(500);

/// Where the kernel has those wait for keys whose turn it is to read (`proc_pid_wchan(5)`); the others wait in the
/// function that reads itself.
const AT_THE_KEYS: &str = "wait_woken";

/// A line that is being typed; who types it is let alone when this is dropped.
#[derive(Debug)]
pub(crate) struct Typing {
    terminal: File,
    lines: Receiver<io::Result<String>>,
    is_alone: bool,
    reader: Option<JoinHandle<()>>,
    thread: i32,
    _interrupting: Interrupting,
}

impl Typing {
    /// What is typed at the terminal from now on, which has to read lines.
    ///
    /// # Errors
    /// Where it cannot be read, and where there can be no thread.
    pub(crate) fn at(terminal: &File) -> io::Result<Self> {
        loop {
            let mut typing = Self::begin(terminal)?;
            typing.comes_to_the_keys();
            // What was typed before, and not read.
            tcflush(terminal, QueueSelector::IFlush)?;
            typing.is_alone = typing.comes_to_the_keys();
            match typing.lines.try_recv() {
                Err(TryRecvError::Empty) => return Ok(typing),
                // What was typed before, and read.
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error),
                Err(TryRecvError::Disconnected) => return Err(Errno::IO.into()),
            }
        }
    }

    fn begin(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let read_from = terminal.try_clone()?;
        let interrupting = Interrupting::begin();
        let (tell_thread, thread) = channel();
        let (tell_line, lines) = channel();
        let read = move || {
            Interrupting::let_through();
            // Nobody is there to hear it who does not want to know any more.
            let _ = tell_thread.send(gettid().as_raw_nonzero().get());
            let _ = tell_line.send(line_of(&read_from));
        };
        let reader = Builder::new().name("keys".into()).spawn(read)?;
        let thread = thread.recv().map_err(io::Error::other)?;
        let (is_alone, reader) = (false, Some(reader));
        Ok(Self { terminal, lines, is_alone, reader, thread, _interrupting: interrupting })
    }

    /// Whether nobody else reads there until the line is ended.
    pub(crate) const fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// What a yes has to end with, which is another for each question: one that was typed may be known by now. Nothing
    /// where this [`Self::is_alone`] and hears no key for a moment; what it hears is no answer.
    ///
    /// # Errors
    /// Where nothing is random, and those of [`Self::at`].
    pub(crate) fn countersign(&mut self, lines: &Lines) -> io::Result<Option<Countersign>> {
        if !self.is_alone {
            return Countersign::new(Why::Shared).map(Some);
        }
        if self.hears_nothing(lines)? {
            return Ok(None);
        }
        *self = Self::at(&self.terminal)?;
        Countersign::new(Why::Typed).map(Some)
    }

    fn hears_nothing(&self, lines: &Lines) -> io::Result<bool> {
        let heard = self.lines.recv_timeout(QUIET);
        Ok(matches!(heard, Err(RecvTimeoutError::Timeout)) && self.is_untouched(lines)?)
    }

    /// Whether nothing was typed until now. What was is no line of its own after this.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(crate) fn is_untouched(&self, lines: &Lines) -> io::Result<bool> {
        // What was begun may have been read when it showed itself.
        Ok(!lines.is_any_begun()?
            && self.comes_to_the_keys()
            && matches!(self.lines.try_recv(), Err(TryRecvError::Empty)))
    }

    /// The line, with its end, if it is there by now, or within `patience`; without one where it was not ended by a
    /// key for that, as ^D.
    ///
    /// # Errors
    /// Where the terminal cannot be read any more.
    pub(crate) fn line_within(&self, patience: Duration) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Errno::IO.into()),
        }
    }

    /// Whether the thread waits for keys within a moment, with nobody before it.
    fn comes_to_the_keys(&self) -> bool {
        let place = format!("/proc/self/task/{}/wchan", self.thread);
        let is_there = || fs::read_to_string(&place).is_ok_and(|place| place == AT_THE_KEYS);
        let has_ended = || self.reader.as_ref().is_none_or(JoinHandle::is_finished);
        for _ in 0..LOOKS {
            if is_there() {
                return true;
            }
            if has_ended() {
                return false;
            }
            thread::sleep(LOOK);
        }
        false
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else { return };
        // It may be about to wait.
        while !reader.is_finished() {
            Interrupting::interrupt(self.thread);
            thread::sleep(LOOK);
        }
        let _ = reader.join();
    }
}

fn line_of(terminal: &File) -> io::Result<String> {
    let mut line = vec![0; LONGEST];
    let length = rustix::io::read(terminal, &mut line)?;
    line.truncate(length);
    Ok(String::from_utf8_lossy(&line).into_owned())
}
