//! Shows progress in the title of the terminal's window, so that it does not mix with the output of programs.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use rustix::termios::{self, LocalModes};

use crate::sys::groups::own_group;
use crate::text::quote::printable;

/// Most characters of a title.
const LONGEST: usize = 78;

/// Terminals (`TERM`) that would show a title as text, or not at all.
const WITHOUT_TITLE: [&str; 3] = ["", "dumb", "linux"];

/// The window of the controlling terminal (`ctlseqs`, OSC 2 and the stack of titles), wherever the standard streams
/// lead.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: File,
}

impl Screen {
    /// Opens the controlling terminal if it can show a title. `kind` is its `TERM`.
    pub(crate) fn find(kind: &str) -> Option<Self> {
        if WITHOUT_TITLE.contains(&kind) {
            return None;
        }
        let terminal = OpenOptions::new().write(true).open("/dev/tty").ok()?;
        Some(Self { terminal })
    }

    /// Whether this process is in the terminal's foreground, and no program uses the terminal as a full screen or reads
    /// without echo, such as a password.
    pub(crate) fn is_free(&self) -> bool {
        let Ok(modes) = termios::tcgetattr(&self.terminal) else { return false };
        let is_plain = modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO);
        let group = termios::tcgetpgrp(&self.terminal);
        is_plain && group.is_ok_and(|group| own_group() == Some(group))
    }

    /// Shows `text`. The first time, the terminal saves its own title, for [`Self::clear`].
    pub(crate) fn show(&self, text: &str, is_first: bool) {
        let short: String = text.chars().take(LONGEST).collect();
        let keep = if is_first { "\x1b[22;2t" } else { "" };
        self.write(&format!("{keep}\x1b]2;{}\x1b\\", printable(short.as_bytes())));
    }

    /// Restores the terminal's own title.
    pub(crate) fn clear(&self) {
        self.write("\x1b]2;\x1b\\\x1b[23;2t");
    }

    /// Writes in one write. A failure is ignored: the title is a courtesy.
    fn write(&self, text: &str) {
        let _ = (&self.terminal).write_all(text.as_bytes());
    }
}
