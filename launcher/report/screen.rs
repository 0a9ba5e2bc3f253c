//! Where it is shown how far something has come, in nobody's way: in the title of the terminal's window, or, where
//! all that is written goes elsewhere, in a line of the terminal itself.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::process;
use rustix::termios::{self, LocalModes};

use super::{printable, stderr};

/// The longest title, and the longest line.
const LONGEST: usize = 78;

/// Terminals that would show a title as text, or not at all.
const WITHOUT_TITLE: [&str; 3] = ["", "dumb", "linux"];

/// What is shown to whoever watches.
#[derive(Debug)]
pub(crate) enum Screen {
    /// A title of the window (`ctlseqs`, OSC 2 and the stack of titles).
    Title,
    /// A line of the controlling terminal.
    Line(File),
}

impl Screen {
    /// What there is for that; `kind` is the terminal's (`TERM`).
    pub(crate) fn find(kind: &str) -> Option<Self> {
        if std::io::stderr().is_terminal() {
            return (!WITHOUT_TITLE.contains(&kind)).then_some(Self::Title);
        }
        if std::io::stdout().is_terminal() || kind == "dumb" {
            return None;
        }
        OpenOptions::new().write(true).open("/dev/tty").ok().map(Self::Line)
    }

    /// Whether nobody else uses the terminal as a screen, or reads from it what is not to be seen, and this
    /// process is in its foreground.
    pub(crate) fn is_free(&self) -> bool {
        match self {
            Self::Title => is_plain(std::io::stderr().as_fd()),
            Self::Line(terminal) => is_plain(terminal.as_fd()),
        }
    }

    /// Shows `text`, in place of what was shown before if it is not the first.
    pub(crate) fn show(&self, text: &str, is_first: bool) {
        let short: String = text.chars().take(LONGEST).collect();
        let short = printable(short.as_bytes());
        match self {
            Self::Title => {
                let keep = if is_first { "\x1b[22;2t" } else { "" };
                stderr(&format!("{keep}\x1b]2;{short}\x1b\\"));
            }
            Self::Line(terminal) => write(terminal, &format!("\r{short}\x1b[K")),
        }
    }

    /// Takes away what is shown.
    pub(crate) fn clear(&self) {
        match self {
            Self::Title => stderr("\x1b]2;\x1b\\\x1b[23;2t"),
            Self::Line(terminal) => write(terminal, "\r\x1b[K"),
        }
    }
}

fn is_plain(terminal: BorrowedFd<'_>) -> bool {
    let Ok(modes) = termios::tcgetattr(terminal) else { return false };
    let is_plain = modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO);
    is_plain && termios::tcgetpgrp(terminal).is_ok_and(|group| group == process::getpgrp())
}

/// It is a courtesy: what cannot be written is not.
fn write(mut terminal: &File, text: &str) {
    let _ = terminal.write_all(text.as_bytes());
}
