//! Takes the terminal while a prompt is shown, and restores it afterwards. Nobody else reads from it meanwhile.
//!
//! The process that asks has its own group and makes it the foreground group (`tcsetpgrp(3)`). The terminal stops every
//! other process that begins to read now. At the end that process is continued. Threads that already wait for a key are
//! held (`terminal_readers`). Any remaining reader reads before the prompt's own thread does (`typing`). A yes then
//! needs a confirmation word.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process_group};
use rustix::termios::{LocalModes, tcgetpgrp, tcsetpgrp};

use super::question::Screenful;
use super::terminal_readers::{Readers, Reading};
use crate::output;
use crate::prompt::choices::{Choices, Reply, Typed};
use crate::prompt::confirmation_word::Countersign;
use crate::prompt::line_mode::Lines;
use crate::prompt::reader::Typing;
use crate::prompt::turns::PromptLock;
use crate::prompt::visibility::{ScreenVisibility, Size, size_of};
use crate::sys::groups::{group_of, own_group};
use crate::sys::proc::descendants;
use crate::sys::signals::Signals;
use crate::sys::terminals::show_again;

/// How often to check whether a caller still waits.
const TICK: Duration = Duration::from_millis(50);

/// The signals that the keys ^C, ^\\ and ^Z send to the foreground.
const KEYS: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::TSTP];

/// The terminal, taken.
#[derive(Debug)]
pub(super) struct Foreground {
    terminal: File,
    /// `None` until the terminal is taken.
    lines: Option<Lines>,
    group: Pid,
    readers: Readers,
    /// The size when it was taken, if known.
    size: Option<Size>,
    /// Keeps other runs from asking meanwhile.
    _turn: PromptLock,
}

/// The outcome of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It was answered.
    Reply(Reply),
    /// A key was pressed that sends programs this signal: `INT`, `QUIT` or `TSTP`.
    Signal(Signal),
    /// Nobody waits for the answer any more, or the terminal was taken away.
    Nothing,
    /// The terminal is gone, or has no room for the prompt.
    Gone,
}

/// One event while a prompt is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Nothing,
    /// A line that is no answer.
    NoAnswer(Typed),
    Said(Said),
}

impl Foreground {
    /// Takes the `terminal` that controls this process, and holds the threads that wait for keys until the calling
    /// thread ends.
    ///
    /// Returns `None` if another job than the run's has the terminal, because keys are then meant for that job. The
    /// same holds if that job has ended, unless the terminal `was_left` to nobody for long.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(super) fn take(
        terminal: File,
        turn: PromptLock,
        was_left: bool,
    ) -> io::Result<Option<Self>> {
        let group = tcgetpgrp(&terminal)?;
        let is_free = || was_left && !descendants::is_anybody_in(group);
        if !(is_of_run(group) || is_free()) {
            return Ok(None);
        }
        let readers = Readers::new();
        let size = size_of(&terminal);
        let mut taken = Self { terminal, lines: None, group, readers, size, _turn: turn };
        let own = own_group().ok_or(Errno::OPNOTSUPP)?;
        loop {
            tcsetpgrp(&taken.terminal, own)?;
            // From here on the terminal stops every process that begins to read.
            taken.readers.hold(taken.group, Reading::Surely);
            let group = tcgetpgrp(&taken.terminal)?;
            if group == own {
                break;
            }
            // Another process took the terminal away in between. It did not have to wait for this prompt yet.
            taken.group = group;
        }
        // Input from before the prompt is no answer to it.
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

    /// Asks `text`, made for the terminal's rows and columns, below the words of a confirmation word. Waits for one of
    /// its choices, or for a key that is no part of an answer.
    ///
    /// Asks again when other output or another size has moved the prompt out of sight. Also asks again after any other
    /// line.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
    pub(super) fn ask(
        &mut self,
        text: &dyn Fn(Option<Size>, &str) -> Option<Screenful>,
        gone: &dyn Fn() -> bool,
    ) -> io::Result<Said> {
        let (mut sight, mut was_any_typed) = (ScreenVisibility::new(), false);
        loop {
            let (typing, sign) = match self.typing(was_any_typed) {
                Err(_) if !self.are_lines_known() => return Ok(Said::Nothing),
                typing => typing?,
            };
            let sign_words = sign.as_ref().map(Countersign::words).unwrap_or_default();
            let (size, clearing) = (size_of(&self.terminal), output::clearing());
            let Some(Screenful { text, choices, .. }) = text(size, &sign_words) else {
                self.say("\r\njp-confine: this terminal is too small for a question\n")?;
                return Ok(Said::Gone);
            };
            self.say(&format!("\r\n{clearing}{sign_words}{text}"))?;
            sight.begin(size);
            let mut no_answer = None;
            while !sight.is_lost(size_of(&self.terminal)) {
                match self.heard(&typing, sign.as_ref(), &choices)? {
                    Heard::Said(said) => return Ok(said),
                    Heard::NoAnswer(typed) => {
                        self.say(&choices.hint(typed))?;
                        no_answer = Some(typed);
                        break;
                    }
                    Heard::Nothing => {}
                }
                if gone() {
                    self.say("\n  (nobody waits for this any more)\n")?;
                    return Ok(Said::Nothing);
                }
            }
            was_any_typed = match no_answer {
                Some(Typed::Help | Typed::Unknown) => sign.is_some(),
                _ => !typing.is_untouched(self.lines()?)?,
            };
        }
    }

    /// Starts to read, and chooses the confirmation word that a yes must end with. Discarding earlier input requires a
    /// word, too. Threads that may read as well are held first.
    fn typing(&mut self, was_any_typed: bool) -> io::Result<(Typing, Option<Countersign>)> {
        let mut typing = Typing::at(&self.terminal)?;
        if !typing.is_alone() {
            drop(typing);
            self.readers.hold(self.group, Reading::Perhaps);
            typing = Typing::at(&self.terminal)?;
        }
        let sign = typing.countersign(self.lines()?, was_any_typed)?;
        Ok((typing, sign))
    }

    fn lines(&self) -> io::Result<&Lines> {
        Ok(self.lines.as_ref().ok_or(Errno::NOTTY)?)
    }

    /// The input so far, or within a tick. A yes must end with `sign`.
    fn heard(
        &mut self,
        typing: &Typing,
        sign: Option<&Countersign>,
        choices: &Choices,
    ) -> io::Result<Heard> {
        let line = typing.line_within(TICK);
        if let Some(signal) = pressed()? {
            self.say("\n")?;
            return Ok(Heard::Said(Said::Signal(signal)));
        }
        let is_interrupted =
            line.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted);
        if is_interrupted || was_stopped()? || !self.are_lines_known() {
            // Input now goes to other processes, or was read in another mode than it was typed in. It may also follow
            // other prompts that waited for their turn.
            return Ok(Heard::Said(Said::Nothing));
        }
        let Some(line) = line? else { return Ok(Heard::Nothing) };
        let Some(line) = line.strip_suffix('\n') else {
            self.say("\n")?;
            return Ok(Heard::Said(Said::Reply(Reply::No)));
        };
        Ok(match choices.typed(sign, line) {
            Typed::Reply(reply) => Heard::Said(Said::Reply(reply)),
            other => Heard::NoAnswer(other),
        })
    }

    /// Whether lines are still read in the mode that was set for the prompt.
    fn are_lines_known(&self) -> bool {
        self.lines.as_ref().is_some_and(Lines::are_known)
    }

    /// Whether this process group still receives the keys.
    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| own_group() == Some(group))
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.terminal.write_all(text.as_bytes())
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let had_keys = self.lines.is_some() && !self.had(LocalModes::ICANON);
        // If one step fails, the rest is still worth trying. If another process took the terminal away, its modes stay
        // as that process set them.
        self.lines = None;
        if self.is_ours() {
            // If that group has ended, the terminal goes to the group in which the run began.
            let _ = tcsetpgrp(&self.terminal, self.group).or_else(|error| {
                let first = getppid().and_then(group_of).ok_or(error)?;
                tcsetpgrp(&self.terminal, first)
            });
        }
        let _ = kill_process_group(self.group, Signal::CONT);
        self.readers.go_on();
        if had_keys || size_of(&self.terminal) != self.size {
            // A full-screen program has to redraw. After a size change the kernel notified only this group.
            let _ = kill_process_group(self.group, Signal::WINCH);
        }
    }
}

/// A pressed key that sends a signal. All signals are blocked here and stay pending.
fn pressed() -> io::Result<Option<Signal>> {
    let arrival = Signals::of(&KEYS.map(Signal::as_raw)).wait(Some(Duration::ZERO))?;
    // Signals that a process sent are not keys.
    let arrival = arrival.filter(|arrival| arrival.sender.is_none());
    Ok(arrival.and_then(|arrival| Signal::from_named_raw(arrival.signal)))
}

/// Whether this process was stopped and continued. A waiting read begins anew then. The signal is blocked here and
/// stays pending.
fn was_stopped() -> io::Result<bool> {
    Ok(Signals::of(&[libc::SIGCONT]).wait(Some(Duration::ZERO))?.is_some())
}

/// Says on `terminal` that a prompt waits.
///
/// # Errors
/// Fails if the terminal is gone.
pub(super) fn announce(mut terminal: &File) -> io::Result<()> {
    let text = "\r\njp-confine: a question waits until this job is in the foreground (fg)\r\n";
    show_again(terminal);
    terminal.write_all(text.as_bytes())
}

/// Whether the group is that of the first process, or of any process of the run.
fn is_of_run(group: Pid) -> bool {
    let is_in_group =
        |process: Option<Pid>| process.is_some_and(|process| group_of(process) == Some(group));
    is_in_group(getppid())
        || descendants::all().iter().any(|process| is_in_group(Pid::from_raw(process.pid)))
}
