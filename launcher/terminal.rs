//! The terminal that controls this process, to ask a person (spec §8.2).

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Write as _};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process;
use rustix::termios::{self, QueueSelector};

use crate::reply::Reply;
use crate::unsupervised::Unsupervised;

/// How often it is looked whether a question is over.
const TICK: Duration = Duration::from_millis(100);

/// No answer is this long.
const LONGEST: usize = 4096;

/// Who could be asked during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    /// Somebody at the terminal.
    Asked,
    /// Nobody was to be, with `--non-interactive`.
    Unwanted,
    /// There was nobody.
    Absent,
    /// Nobody was told of the questions, and why: a supervisor asks them.
    Uninformed(Unsupervised),
}

impl Person {
    /// Who can be asked now by a supervisor, or why there is none.
    pub(crate) fn present(non_interactive: bool, unsupervised: Option<Unsupervised>) -> Self {
        if let Some(why) = unsupervised {
            return Self::Uninformed(why);
        }
        match Terminal::open(non_interactive) {
            Some(_) => Self::Asked,
            None if non_interactive => Self::Unwanted,
            None => Self::Absent,
        }
    }
}

/// The controlling terminal, wherever the standard streams lead.
#[derive(Debug)]
pub(crate) struct Terminal {
    file: File,
}

impl Terminal {
    /// Opens it. `None` where nobody could answer: with `--non-interactive`, without a controlling
    /// terminal, and in the background of one, where reading would stop this process.
    pub(crate) fn open(non_interactive: bool) -> Option<Self> {
        if non_interactive {
            return None;
        }
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let foreground = termios::tcgetpgrp(&file).ok()?;
        (foreground == process::getpgrp()).then_some(Self { file })
    }

    /// Writes `question`, as it is, and reads the line that is typed after it, without its end; what
    /// was typed before the question is no answer to it.
    ///
    /// # Errors
    /// Where the terminal cannot be used any more.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<String> {
        self.put(question)?;
        self.read()
    }

    /// As [`Self::ask`], for as long as nobody says that it is `over`; `None` then.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn ask_unless(
        &mut self,
        question: &str,
        over: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<String>> {
        self.put(question)?;
        while !over() {
            if let Some(line) = self.answer(TICK)? {
                return Ok(Some(line));
            }
        }
        self.file.write_all(b"\n")?;
        Ok(None)
    }

    /// Writes `question`, as it is; what was typed before it is no answer to it.
    ///
    /// # Errors
    /// Where the terminal cannot be used any more.
    pub(crate) fn put(&mut self, question: &str) -> io::Result<()> {
        termios::tcflush(&self.file, QueueSelector::IFlush)?;
        self.file.write_all(question.as_bytes())
    }

    /// The line that was typed by now, or is within `patience`.
    ///
    /// # Errors
    /// As of [`Self::put`].
    pub(crate) fn answer(&mut self, patience: Duration) -> io::Result<Option<String>> {
        let patience = Timespec::try_from(patience).unwrap_or_default();
        let mut ready = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut ready, Some(&patience)) {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => self.read().map(Some),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self) -> io::Result<String> {
        let mut line = Vec::new();
        // One at a time: what follows the line is for whoever reads next.
        for byte in BufReader::with_capacity(1, &self.file).bytes().take(LONGEST) {
            match byte? {
                b'\n' | b'\r' => return Ok(String::from_utf8_lossy(&line).into_owned()),
                byte => line.push(byte),
            }
        }
        // The line that is on the screen was not ended.
        (&self.file).write_all(b"\n")?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Asks for a yes; everything else is a no, and so is a terminal that has gone.
    pub(crate) fn confirm(&mut self, question: &str) -> bool {
        let answer = self.ask(&format!("{question} [y/N] ")).unwrap_or_default();
        Reply::of(&answer) == Reply::Yes
    }
}
