//! The terminal for as long as a question stands: nobody else reads from it meanwhile, and afterwards it
//! is as it was.
//!
//! The asking process stands in a group of its own, which takes the foreground (`tcsetpgrp(3)`). Who
//! begins to read now is stopped by the terminal, and continued at the end. Who waits for a key already
//! is held (`readers`). Whoever reads all the same does it before the question's own thread (`typing`), and then a
//! yes takes a countersign.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgid, getpgrp, getppid, kill_process_group};
use rustix::termios::{LocalModes, tcgetpgrp, tcsetpgrp};

use super::terminal_readers::{Readers, Reading};
use crate::output;
use crate::prompt::confirmation_word::{Countersign, Why};
use crate::prompt::line_mode::Lines;
use crate::prompt::reader::Typing;
use crate::prompt::reply::Reply;
use crate::prompt::turns::Turn;
use crate::prompt::visibility::{Sight, Size, size_of};
use crate::sys::proc::descendants;
use crate::sys::signals::Signals;
use crate::sys::terminals::show_again;

/// How often it is looked whether somebody still waits.
const TICK: Duration = Duration::from_millis(50);

/// What the keys ^C, ^\\ and ^Z send to the foreground.
const KEYS: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::TSTP];

/// The terminal, taken.
#[derive(Debug)]
pub(super) struct Foreground {
    terminal: File,
    /// Not before it is taken.
    lines: Option<Lines>,
    group: Pid,
    readers: Readers,
    /// How large it was, if that can be said.
    size: Option<Size>,
    /// No other run asks meanwhile.
    _turn: Turn,
}

/// What a question came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It was answered.
    Reply(Reply),
    /// A key was pressed that means this to programs: `INT`, `QUIT` or `TSTP`.
    Signal(Signal),
    /// Nobody wants to know any more, or the terminal was taken away.
    Nothing,
    /// There is no terminal any more, or none that shows the question.
    Gone,
}

/// What comes while a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    /// A line in which the terminal reports what nobody typed.
    Reports,
    Said(Said),
}

impl Foreground {
    /// Takes the `terminal` that controls this process; `None` where another job than the run's has it, to which keys
    /// are meant, or one that has ended, unless it `was_left` to nobody for long. Who waits for keys is held until the
    /// calling thread ends.
    ///
    /// # Errors
    /// Where it is gone.
    pub(super) fn take(terminal: File, turn: Turn, was_left: bool) -> io::Result<Option<Self>> {
        let group = tcgetpgrp(&terminal)?;
        let is_free = || was_left && !descendants::is_anybody_in(group);
        if !(is_of_run(group) || is_free()) {
            return Ok(None);
        }
        let readers = Readers::new();
        let size = size_of(&terminal);
        let mut taken = Self { terminal, lines: None, group, readers, size, _turn: turn };
        loop {
            tcsetpgrp(&taken.terminal, getpgrp())?;
            // From here on the terminal stops whoever begins to read.
            taken.readers.hold(taken.group, Reading::Surely);
            let group = tcgetpgrp(&taken.terminal)?;
            if group == getpgrp() {
                break;
            }
            // Somebody was about to give it away, and had not to wait for this question yet.
            taken.group = group;
        }
        // What was typed before was not typed in answer to this.
        taken.lines = Some(Lines::read_by(&taken.terminal)?);
        while pressed()?.is_some() {}
        was_stopped()?;
        Ok(Some(taken))
    }

    /// The group that had the foreground, if keys are signals to it (`ISIG`, `termios(3)`).
    pub(super) fn hears_keys(&self) -> Option<Pid> {
        self.had(LocalModes::ISIG).then_some(self.group)
    }

    /// Whether the terminal was in this mode.
    fn had(&self, mode: LocalModes) -> bool {
        self.lines.as_ref().is_some_and(|lines| lines.before().local_modes.contains(mode))
    }

    /// Asks what is a `text` for a terminal of so many rows and columns, below the words of a countersign, and waits for a
    /// line, or for a key that is none of an answer. What is out of sight, by what others write or by another size, is
    /// asked again, as after a line in which something is that nobody typed.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(super) fn ask(
        &mut self,
        text: &dyn Fn(Option<Size>, &str) -> Option<String>,
        gone: &dyn Fn() -> bool,
    ) -> io::Result<Said> {
        let (mut sight, mut was_any_typed) = (Sight::new(), false);
        loop {
            let (typing, sign) = match self.typing(was_any_typed) {
                Err(_) if !self.are_lines_known() => return Ok(Said::Nothing),
                typing => typing?,
            };
            let sign_words = sign.as_ref().map(Countersign::words).unwrap_or_default();
            let (size, clearing) = (size_of(&self.terminal), output::clearing());
            let Some(text) = text(size, &sign_words) else {
                self.say("\r\njp-confine: this terminal is too small for a question\n")?;
                return Ok(Said::Gone);
            };
            self.say(&format!("\r\n{clearing}{sign_words}{text}"))?;
            sight.begin(size);
            while !sight.is_lost(size_of(&self.terminal)) {
                match self.heard(&typing, sign.as_ref())? {
                    Heard::Said(said) => return Ok(said),
                    Heard::Reports => break,
                    Heard::Nothing => {}
                }
                if gone() {
                    self.say("\n  (nobody waits for this any more)\n")?;
                    return Ok(Said::Nothing);
                }
            }
            was_any_typed = !typing.is_untouched(self.lines()?)?;
        }
    }

    /// What is typed from now on, and what a yes has to end with, also where what was typed before is discarded; who else
    /// may be reading is held before.
    fn typing(&mut self, was_any_typed: bool) -> io::Result<(Typing, Option<Countersign>)> {
        let mut typing = Typing::at(&self.terminal)?;
        if !typing.is_alone() {
            drop(typing);
            self.readers.hold(self.group, Reading::Perhaps);
            typing = Typing::at(&self.terminal)?;
        }
        let sign = match typing.countersign(self.lines()?)? {
            None if was_any_typed => Some(Countersign::new(Why::Typed)?),
            sign => sign,
        };
        Ok((typing, sign))
    }

    fn lines(&self) -> io::Result<&Lines> {
        Ok(self.lines.as_ref().ok_or(Errno::NOTTY)?)
    }

    /// What has been said by now, or soon is, where a yes has to end with `sign`.
    fn heard(&mut self, typing: &Typing, sign: Option<&Countersign>) -> io::Result<Heard> {
        let line = typing.line_within(TICK);
        if let Some(signal) = pressed()? {
            self.say("\n")?;
            return Ok(Heard::Said(Said::Signal(signal)));
        }
        let is_interrupted =
            line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted);
        if is_interrupted || was_stopped()? || !self.are_lines_known() {
            // What is typed now is typed to others, or read in another way than it was typed, or after others who
            // waited for their turn.
            return Ok(Heard::Said(Said::Nothing));
        }
        let Some(line) = line? else { return Ok(Heard::Nothing) };
        let Some(line) = line.strip_suffix('\n') else {
            self.say("\n")?;
            return Ok(Heard::Said(Said::Reply(Reply::No)));
        };
        let reply = Reply::to(sign, line).map(Said::Reply);
        Ok(reply.map_or(Heard::Reports, Heard::Said))
    }

    /// Whether lines are read as they were when the question was put.
    fn are_lines_known(&self) -> bool {
        self.lines.as_ref().is_some_and(Lines::are_known)
    }

    /// Whether keys still come here.
    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.terminal.write_all(text.as_bytes())
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let had_keys = self.lines.is_some() && !self.had(LocalModes::ICANON);
        // Whatever fails here, the rest is worth trying. Who took it away has made it as it shall be.
        self.lines = None;
        if self.is_ours() {
            // Of a group that has ended meanwhile the terminal goes to the one that the run began as.
            let _ = tcsetpgrp(&self.terminal, self.group)
                .or_else(|_| tcsetpgrp(&self.terminal, getpgid(getppid())?));
        }
        let _ = kill_process_group(self.group, Signal::CONT);
        self.readers.go_on();
        if had_keys || size_of(&self.terminal) != self.size {
            // Who draws on the whole screen draws it again; of another size the kernel told this group alone.
            let _ = kill_process_group(self.group, Signal::WINCH);
        }
    }
}

/// A key that was pressed and means a signal. All signals are blocked here, and wait.
fn pressed() -> io::Result<Option<Signal>> {
    let arrival = Signals::of(&KEYS.map(Signal::as_raw)).wait(Some(Duration::ZERO))?;
    // Others are no keys.
    let arrival = arrival.filter(|arrival| arrival.sender.is_none());
    Ok(arrival.and_then(|arrival| Signal::from_named_raw(arrival.signal)))
}

/// Whether this process was stopped, and is continued: a read that waits begins anew then. The signal is blocked here,
/// and waits.
fn was_stopped() -> io::Result<bool> {
    Ok(Signals::of(&[libc::SIGCONT]).wait(Some(Duration::ZERO))?.is_some())
}

/// Says that a question waits for the `terminal`.
///
/// # Errors
/// Where it is gone.
pub(super) fn announce(mut terminal: &File) -> io::Result<()> {
    let text = "\r\njp-confine: a question waits until this job is in the foreground (fg)\r\n";
    show_again(terminal);
    terminal.write_all(text.as_bytes())
}

/// Whether a group is that of the process that was started first, or of some process of the run.
fn is_of_run(group: Pid) -> bool {
    let is_in_group = |process: Option<Pid>| {
        process.is_some() && getpgid(process).is_ok_and(|its_group| its_group == group)
    };
    is_in_group(getppid())
        || descendants::all().iter().any(|process| is_in_group(Pid::from_raw(process.pid)))
}
