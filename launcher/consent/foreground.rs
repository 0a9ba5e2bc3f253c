//! The terminal for as long as a question stands: nobody else reads from it meanwhile, and afterwards it
//! is as it was.
//!
//! The asking process stands in a group of its own, which takes the foreground (`tcsetpgrp(3)`). Who
//! begins to read now is stopped by the terminal, and continued at the end. Who waits for a key already
//! would take the answer, and is held (`readers`).

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, kill_process, kill_process_group};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp,
    tcsetattr, tcsetpgrp,
};

use super::readers;
use crate::descendants;
use crate::reply::Reply;

/// How often it is looked whether somebody still waits.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The terminal, taken.
#[derive(Debug)]
pub(super) struct Foreground {
    terminal: File,
    before: Termios,
    group: Pid,
    /// Who was stopped, and is to be continued.
    stopped: HashSet<Pid>,
}

/// What a question came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It was answered.
    Reply(Reply),
    /// A key was pressed that means this to programs: `INT`, `QUIT` or `TSTP`.
    Signal(Signal),
    /// Nobody wants to know any more.
    Nothing,
}

impl Foreground {
    /// Takes the controlling terminal; `None` where another job than the run's has it, to which keys
    /// are meant. Who waits for keys is held until the calling thread ends.
    ///
    /// # Errors
    /// Where there is none.
    pub(super) fn take() -> io::Result<Option<Self>> {
        let terminal = controlling_terminal()?;
        let group = tcgetpgrp(&terminal)?;
        if !is_of_run(group) {
            return Ok(None);
        }
        let before = tcgetattr(&terminal)?;
        let mut taken = Self { terminal, before, group, stopped: HashSet::new() };
        tcsetpgrp(&taken.terminal, getpgrp())?;
        // From here on the terminal stops whoever begins to read.
        taken.stopped = readers::hold(group);
        let mut plain = taken.before.clone();
        plain.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        plain.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        plain.special_codes[SpecialCodeIndex::VMIN] = 1;
        plain.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before was not typed in answer to this.
        tcsetattr(&taken.terminal, OptionalActions::Flush, &plain)?;
        Ok(Some(taken))
    }

    /// The group that had the foreground, if keys are signals to it (`ISIG`, `termios(3)`).
    pub(super) fn hears_keys(&self) -> Option<Pid> {
        self.before.local_modes.contains(LocalModes::ISIG).then_some(self.group)
    }

    /// Asks, and waits for a line, or for a key that is none of an answer.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(super) fn ask(
        &mut self,
        words: &str,
        offer: &str,
        gone: &dyn Fn() -> bool,
    ) -> io::Result<Said> {
        self.say(&format!("\r\n{words}{offer}"))?;
        let mut line = String::new();
        while let Some(key) = self.key(gone)? {
            if let Some(said) = self.typed(key, &mut line)? {
                self.say("\n")?;
                return Ok(said);
            }
        }
        self.say("\n  (nobody waits for this any more)\n")?;
        Ok(Said::Nothing)
    }

    /// What has been said with this key; `None` where the line goes on.
    fn typed(&mut self, key: u8, line: &mut String) -> io::Result<Option<Said>> {
        Ok(Some(match key {
            b'\r' | b'\n' => Said::Reply(Reply::of(line)),
            // ^C, ^\ and ^Z are meant for the program.
            3 => Said::Signal(Signal::INT),
            28 => Said::Signal(Signal::QUIT),
            26 => Said::Signal(Signal::TSTP),
            4 | 27 => Said::Reply(Reply::No),
            _ => {
                self.edit(key, line)?;
                return Ok(None);
            }
        }))
    }

    fn edit(&mut self, key: u8, line: &mut String) -> io::Result<()> {
        match key {
            8 | 127 if line.pop().is_some() => self.say("\u{8} \u{8}"),
            b' '..=b'~' if line.len() < 16 => {
                line.push(char::from(key));
                self.say(&char::from(key).to_string())
            }
            _ => Ok(()),
        }
    }

    /// The next key; `None` where nobody wants to know any more.
    fn key(&mut self, gone: &dyn Fn() -> bool) -> io::Result<Option<u8>> {
        loop {
            let mut ready = [PollFd::new(&self.terminal, PollFlags::IN)];
            if poll(&mut ready, Some(&TICK))? > 0 {
                let mut key = [0];
                return match rustix::io::read(&self.terminal, &mut key)? {
                    0 => Err(io::ErrorKind::UnexpectedEof.into()),
                    _ => Ok(Some(key[0])),
                };
            }
            if gone() {
                return Ok(None);
            }
        }
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.terminal.write_all(text.as_bytes())
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        // Whatever fails here, the rest is worth trying.
        let _ = tcsetattr(&self.terminal, OptionalActions::Drain, &self.before);
        let _ = tcsetpgrp(&self.terminal, self.group);
        let _ = kill_process_group(self.group, Signal::CONT);
        for process in &self.stopped {
            let _ = kill_process(*process, Signal::CONT);
        }
        if !self.before.local_modes.contains(LocalModes::ICANON) {
            // Who draws on the whole screen draws it again.
            let _ = kill_process_group(self.group, Signal::WINCH);
        }
    }
}

/// Says that a question waits for the terminal.
///
/// # Errors
/// Where there is none.
pub(super) fn announce() -> io::Result<()> {
    let text = "\r\njp-confine: a question waits until this job is in the foreground (fg)\r\n";
    controlling_terminal()?.write_all(text.as_bytes())
}

/// Opens the terminal that controls this process.
///
/// # Errors
/// Where there is none.
pub(super) fn controlling_terminal() -> io::Result<File> {
    let flags = libc::O_NOCTTY | libc::O_CLOEXEC;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")
}

/// Whether a group is that of the process that was started first, or of some process of the run.
fn is_of_run(group: Pid) -> bool {
    let is_in_group = |process: Option<Pid>| {
        process.is_some() && getpgid(process).is_ok_and(|its_group| its_group == group)
    };
    is_in_group(getppid())
        || descendants::all().iter().any(|process| is_in_group(Pid::from_raw(process.pid)))
}
