//! A terminal that reads lines in a known way for as long as a question stands (decision 0018).
//!
//! Programs may have it read them in other ways: with a key that reprints or erases the line set to a letter, what is
//! typed, or what a terminal says of itself when it is asked (`ESC [ row ; column R`), comes to another line than was
//! typed. So every setting that has a part in that is known here.

use std::fs::File;
use std::io;

use rustix::io::{Errno, ioctl_fionread};
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios,
    tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};

use crate::sys::terminals::show_again;

/// Keys that remain what a person has made them where no text has them, and what they are otherwise. None of them is
/// made of what another one usually is: who wants to end or erase a line with that would do something else.
const OWN_KEYS: [(SpecialCodeIndex, u8); 5] = [
    (SpecialCodeIndex::VINTR, 3),
    (SpecialCodeIndex::VQUIT, 28),
    (SpecialCodeIndex::VSUSP, 26),
    (SpecialCodeIndex::VEOF, 4),
    (SpecialCodeIndex::VERASE, 127),
];

/// What the other keys are, as after `stty sane`; 0 where there is none.
const KEYS: [(SpecialCodeIndex, u8); 10] = [
    (SpecialCodeIndex::VKILL, 21),
    (SpecialCodeIndex::VWERASE, 23),
    (SpecialCodeIndex::VREPRINT, 18),
    (SpecialCodeIndex::VLNEXT, 22),
    (SpecialCodeIndex::VDISCARD, 15),
    (SpecialCodeIndex::VSTART, 17),
    (SpecialCodeIndex::VSTOP, 19),
    (SpecialCodeIndex::VEOL, 0),
    (SpecialCodeIndex::VEOL2, 0),
    (SpecialCodeIndex::VSWTC, 0),
];

/// The terminal while lines are read, of which it is as it was when this is dropped.
#[derive(Debug)]
pub(crate) struct Lines {
    terminal: File,
    before: Termios,
    during: Termios,
}

impl Lines {
    /// Has the terminal read lines. What was typed before, and read in another way, is discarded.
    ///
    /// # Errors
    /// Where the terminal is gone, and where its settings cannot be changed (`ioctl_tty(2)`, "locking").
    pub(crate) fn read_by(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let during = for_lines(&before);
        show_again(&terminal);
        tcsetattr(&terminal, OptionalActions::Now, &during)?;
        let lines = Self { terminal, before, during };
        // Not before: what comes between the two would be read in the way that was.
        tcflush(&lines.terminal, QueueSelector::IFlush)?;
        let is_done = is_alike(&tcgetattr(&lines.terminal)?, &lines.during);
        if is_done { Ok(lines) } else { Err(Errno::PERM.into()) }
    }

    /// How the terminal was.
    pub(crate) const fn before(&self) -> &Termios {
        &self.before
    }

    /// Whether a line was begun, of which the kernel says nothing before its end. Who reads lines may be handed it.
    ///
    /// # Errors
    /// Where the terminal is gone.
    pub(crate) fn is_any_begun(&self) -> io::Result<bool> {
        if !self.are_known() {
            return Ok(true);
        }
        let mut keys = self.during.clone();
        keys.local_modes -= LocalModes::ICANON;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&self.terminal, OptionalActions::Now, &keys)?;
        let count = ioctl_fionread(&self.terminal);
        tcsetattr(&self.terminal, OptionalActions::Now, &self.during)?;
        Ok(count? > 0)
    }

    /// Whether keys come to this process's group, and lines are still read in the known way.
    pub(crate) fn are_known(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| group == getpgrp())
            && tcgetattr(&self.terminal).is_ok_and(|now| is_alike(&now, &self.during))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // Who has changed it meanwhile has made it as it shall be.
        if self.are_known() {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

/// A terminal in which lines are typed, and keys are signals: who looks at the modes meanwhile, to make them so
/// again later, sees what a terminal can be left in.
fn for_lines(before: &Termios) -> Termios {
    let mut modes = before.clone();
    modes.input_modes |= InputModes::ICRNL;
    modes.input_modes -= InputModes::INLCR
        | InputModes::IGNCR
        | InputModes::ISTRIP
        | InputModes::IUCLC
        | InputModes::PARMRK;
    modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
    modes.output_modes -=
        OutputModes::OLCUC | OutputModes::OCRNL | OutputModes::ONOCR | OutputModes::ONLRET;
    modes.local_modes |= LocalModes::ICANON
        | LocalModes::ISIG
        | LocalModes::IEXTEN
        | LocalModes::ECHO
        | LocalModes::ECHOE
        | LocalModes::ECHOK
        | LocalModes::ECHOCTL
        | LocalModes::ECHOKE;
    modes.local_modes -= LocalModes::ECHONL
        | LocalModes::ECHOPRT
        | LocalModes::NOFLSH
        | LocalModes::XCASE
        | LocalModes::EXTPROC
        | LocalModes::FLUSHO
        | LocalModes::PENDIN;
    for (key, usual) in OWN_KEYS {
        let own = modes.special_codes[key];
        if !is_of_no_text(own) || is_usual(own) {
            modes.special_codes[key] = usual;
        }
    }
    for (key, usual) in KEYS {
        modes.special_codes[key] = usual;
    }
    modes
}

/// Whether a key is neither part of a text nor of what terminals say, and ends no line.
const fn is_of_no_text(key: u8) -> bool {
    matches!(key, 1..=31 | 127) && !matches!(key, b'\t' | b'\n' | b'\r' | 0x1b)
}

/// Whether a key is one that people know for something.
fn is_usual(key: u8) -> bool {
    OWN_KEYS.iter().chain(&KEYS).any(|(_, usual)| *usual == key)
}

/// Whether lines are read alike.
fn is_alike(now: &Termios, then: &Termios) -> bool {
    let mut keys = OWN_KEYS.iter().chain(&KEYS);
    now.input_modes == then.input_modes
        && now.local_modes == then.local_modes
        && keys.all(|(key, _)| now.special_codes[*key] == then.special_codes[*key])
}
