//! Reads input at a terminal as its only reader (decision 0018).
//!
//! A terminal serves one reader after the other (`atomic_read_lock` in the kernel's `n_tty.c`). While one waits for a
//! line, later readers wait for it, or get `EAGAIN`. So a thread reads from before the prompt is shown until it is
//! answered. If nobody else was reading by then, its line is all that was typed. The place where the kernel makes the
//! thread wait tells whether somebody was.
//!
//! A typing hand does not stop when a prompt comes, and the end of a word may look like an answer. So the thread
//! listens for a moment first.

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

/// The longest line that the kernel hands out.
const LONGEST: usize = 4096;

/// How many times to look where the thread is, and how long to wait between the looks.
const LOOKS: u32 = 30;
const LOOK: Duration = Duration::from_millis(1);

/// How long nothing may be typed before a prompt: longer than between two keys of one word.
const QUIET: Duration = Duration::from_millis(500);

/// Where the kernel makes the next reader wait for keys (`proc_pid_wchan(5)`). All others wait in the read function
/// itself.
const AT_THE_KEYS: &str = "wait_woken";

/// A line that is being typed. Dropping this stops reading.
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
    /// Reads all input from now on. The terminal must be in line mode.
    ///
    /// # Errors
    /// Fails if the terminal cannot be read, or if no thread can be started.
    pub(crate) fn at(terminal: &File) -> io::Result<Self> {
        loop {
            let mut typing = Self::begin(terminal)?;
            typing.comes_to_the_keys();
            // Input from before that nobody has read.
            tcflush(terminal, QueueSelector::IFlush)?;
            typing.is_alone = typing.comes_to_the_keys();
            match typing.lines.try_recv() {
                Err(TryRecvError::Empty) => return Ok(typing),
                // Input from before that was read.
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
            // The receiver may be gone. Then nobody waits for the result.
            let _ = tell_thread.send(gettid().as_raw_nonzero().get());
            let _ = tell_line.send(line_of(&read_from));
        };
        let reader = Builder::new().name("keys".into()).spawn(read)?;
        let thread = thread.recv().map_err(io::Error::other)?;
        let (is_alone, reader) = (false, Some(reader));
        Ok(Self { terminal, lines, is_alone, reader, thread, _interrupting: interrupting })
    }

    /// Whether nobody else reads there until the line ends.
    pub(crate) const fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The word that a yes must end with. Each prompt gets a new one, since a typed word may be known. `None` if this
    /// [`Self::is_alone`], nothing `was_typed` before, and no key is pressed for a moment. Input in that moment is
    /// discarded.
    ///
    /// # Errors
    /// Fails if the kernel has no random bytes, and as [`Self::at`] does.
    pub(crate) fn countersign(
        &mut self,
        lines: &Lines,
        was_typed: bool,
    ) -> io::Result<Option<Countersign>> {
        if !self.is_alone {
            return Countersign::new(Why::Shared).map(Some);
        }
        if self.hears_nothing(lines)? {
            return was_typed.then(|| Countersign::new(Why::Typed)).transpose();
        }
        *self = Self::at(&self.terminal)?;
        Countersign::new(Why::Typed).map(Some)
    }

    fn hears_nothing(&self, lines: &Lines) -> io::Result<bool> {
        let heard = self.lines.recv_timeout(QUIET);
        Ok(matches!(heard, Err(RecvTimeoutError::Timeout)) && self.is_untouched(lines)?)
    }

    /// Whether nothing was typed until now. After this, earlier input no longer forms a line of its own.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(crate) fn is_untouched(&self, lines: &Lines) -> io::Result<bool> {
        // A line that was begun may have been read when it became visible.
        Ok(!lines.is_any_begun()?
            && self.comes_to_the_keys()
            && matches!(self.lines.try_recv(), Err(TryRecvError::Empty)))
    }

    /// The line with its end, if it comes within `patience`. It has no line end if another key ended it, such as ^D.
    ///
    /// # Errors
    /// Fails if the terminal cannot be read any more.
    pub(crate) fn line_within(&self, patience: Duration) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Errno::IO.into()),
        }
    }

    /// Whether the thread soon waits for keys as the next reader.
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
        // The thread may not wait yet.
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
