//! Where it is shown how far something has come, in nobody's way: in the title of the terminal's window. A line among
//! what programs write to the terminal would be in theirs.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use rustix::process;
use rustix::termios::{self, LocalModes};

use crate::text::quote::printable;

/// The longest title.
const LONGEST: usize = 78;

/// Terminals that would show a title as text, or not at all.
const WITHOUT_TITLE: [&str; 3] = ["", "dumb", "linux"];

/// The window of the controlling terminal (`ctlseqs`, OSC 2 and the stack of titles), wherever what is written
/// goes.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: File,
}

impl Screen {
    /// What there is for that; `kind` is the terminal's (`TERM`).
    pub(crate) fn find(kind: &str) -> Option<Self> {
        if WITHOUT_TITLE.contains(&kind) {
            return None;
        }
        let terminal = OpenOptions::new().write(true).open("/dev/tty").ok()?;
        Some(Self { terminal })
    }

    /// Whether nobody else uses the terminal as a screen, or reads from it what is not to be seen, and this
    /// process is in its foreground.
    pub(crate) fn is_free(&self) -> bool {
        let Ok(modes) = termios::tcgetattr(&self.terminal) else { return false };
        let is_plain = modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO);
        let group = termios::tcgetpgrp(&self.terminal);
        is_plain && group.is_ok_and(|group| group == process::getpgrp())
    }

    /// Shows `text`, in place of what was shown before if it is not the first.
    pub(crate) fn show(&self, text: &str, is_first: bool) {
        let short: String = text.chars().take(LONGEST).collect();
        let keep = if is_first { "\x1b[22;2t" } else { "" };
        self.write(&format!("{keep}\x1b]2;{}\x1b\\", printable(short.as_bytes())));
    }

    /// Takes away what is shown.
    pub(crate) fn clear(&self) {
        self.write("\x1b]2;\x1b\\\x1b[23;2t");
    }

    /// In one write. It is a courtesy: what cannot be written is not.
    fn write(&self, text: &str) {
        let _ = (&self.terminal).write_all(text.as_bytes());
    }
}
