//! Makes a terminal read lines in a known way while a prompt is shown (decision 0018).
//!
//! Programs may have changed how the terminal reads. If a letter reprints or erases the line, it becomes another line
//! than was typed. The same can happen to a terminal's report about itself (`ESC [ row ; column R`). So every setting
//! that matters here is set to a known value.

use std::fs::File;
use std::io;

use rustix::io::{Errno, ioctl_fionread};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios,
    tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};

use crate::sys::groups::own_group;
use crate::sys::terminals::show_again;

/// Keys that keep the person's setting unless text contains them, and their defaults. A key is also reset if it is the
/// default of another key. Otherwise a person who means that other key would do something else.
const OWN_KEYS: [(SpecialCodeIndex, u8); 5] = [
    (SpecialCodeIndex::VINTR, 3),
    (SpecialCodeIndex::VQUIT, 28),
    (SpecialCodeIndex::VSUSP, 26),
    (SpecialCodeIndex::VEOF, 4),
    (SpecialCodeIndex::VERASE, 127),
];

/// The values of the other keys, as after `stty sane`. 0 disables a key.
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

/// The terminal while lines are read. Dropping this restores it.
#[derive(Debug)]
pub(crate) struct Lines {
    terminal: File,
    before: Termios,
    during: Termios,
}

impl Lines {
    /// Makes the terminal read lines. Discards input from before, which was read in another way.
    ///
    /// # Errors
    /// Fails if the terminal is gone, or if its settings cannot be changed (`ioctl_tty(2)`, "locking").
    pub(crate) fn read_by(terminal: &File) -> io::Result<Self> {
        let terminal = terminal.try_clone()?;
        let before = tcgetattr(&terminal)?;
        let during = for_lines(&before);
        show_again(&terminal);
        tcsetattr(&terminal, OptionalActions::Now, &during)?;
        let lines = Self { terminal, before, during };
        // Not earlier: input between the two steps would be read in the old way.
        tcflush(&lines.terminal, QueueSelector::IFlush)?;
        let is_done = is_alike(&tcgetattr(&lines.terminal)?, &lines.during);
        if is_done { Ok(lines) } else { Err(Errno::PERM.into()) }
    }

    /// The modes before.
    pub(crate) const fn before(&self) -> &Termios {
        &self.before
    }

    /// Whether a line was begun. The kernel reports nothing of it before its end. A thread that reads may receive the
    /// unfinished line.
    ///
    /// # Errors
    /// Fails if the terminal is gone.
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

    /// Whether this process's group receives the keys, and lines are still read in the known way.
    pub(crate) fn are_known(&self) -> bool {
        tcgetpgrp(&self.terminal).is_ok_and(|group| own_group() == Some(group))
            && tcgetattr(&self.terminal).is_ok_and(|now| is_alike(&now, &self.during))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // If another process changed the modes meanwhile, they stay as that process set them.
        if self.are_known() {
            let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        }
    }
}

/// The modes in which lines are typed and keys send signals. A program may save these modes now and restore them later,
/// so they must be fit to be left in.
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

/// Whether a key is neither text nor part of a terminal's report, and ends no line.
const fn is_of_no_text(key: u8) -> bool {
    matches!(key, 1..=31 | 127) && !matches!(key, b'\t' | b'\n' | b'\r' | 0x1b)
}

/// Whether a key has a well-known meaning.
fn is_usual(key: u8) -> bool {
    OWN_KEYS.iter().chain(&KEYS).any(|(_, usual)| *usual == key)
}

/// Whether both read lines in the same way.
fn is_alike(now: &Termios, then: &Termios) -> bool {
    let mut keys = OWN_KEYS.iter().chain(&KEYS);
    now.input_modes == then.input_modes
        && now.local_modes == then.local_modes
        && keys.all(|(key, _)| now.special_codes[*key] == then.special_codes[*key])
}
