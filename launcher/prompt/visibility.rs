//! Tells whether a prompt is still visible. Other programs go on meanwhile, and their output moves it off the screen,
//! as a smaller terminal does.
//!
//! When a program writes to a terminal, the kernel updates the time of its file (`tty_update_time` in `tty_io.c`). It
//! skips updates within the same eight seconds. Echoed input leaves the time as it is. So the time is set back and
//! checked.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, fstat, futimens};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::tcgetwinsize;

use crate::prompt::turns::own_terminal;

/// How long nobody may write before a prompt is shown again.
const QUIET: Duration = Duration::from_secs(1);
/// The shortest and longest time that a prompt stays before it is shown again. The time doubles, so that a person
/// typing the answer is not disturbed again and again. A program that writes all the time is waited for no longer than
/// that.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(16);
/// How many seconds the time is set back: more than the kernel skips.
const BACK: i64 = 16;

/// A prompt on the screen.
#[derive(Debug)]
pub(crate) struct ScreenVisibility {
    /// The terminal's own file, since `/dev/tty` is shared by all. `None` if no standard stream leads to it.
    file: Option<BorrowedFd<'static>>,
    /// The time that was set. `None` if it may not be set, as on another user's terminal.
    mark: Option<Timespec>,
    shown: Instant,
    /// When other output was last seen.
    written: Option<Instant>,
    patience: Duration,
    /// The terminal's size when the prompt was shown, and at the last check.
    sizes: [Option<Size>; 2],
}

/// The rows and columns of a terminal.
pub(crate) type Size = (u16, u16);

/// The size of `terminal`, if known.
pub(crate) fn size_of(terminal: impl AsFd) -> Option<Size> {
    tcgetwinsize(terminal).ok().map(|size| (size.ws_row, size.ws_col))
}

impl ScreenVisibility {
    /// Nothing is shown yet.
    pub(crate) fn new() -> Self {
        let number = own_terminal();
        let is_of_it =
            |file: &BorrowedFd<'_>| fstat(file).is_ok_and(|it| Some(it.st_rdev) == number);
        let file = [stdin(), stdout(), stderr()].into_iter().find(is_of_it);
        let (shown, patience) = (Instant::now(), SHORTEST);
        Self { file, mark: None, shown, written: None, patience, sizes: [None; 2] }
    }

    /// The prompt was just shown, at a terminal of this size.
    pub(crate) fn begin(&mut self, size: Option<Size>) {
        self.sizes = [size; 2];
        self.shown = Instant::now();
        self.written = None;
        self.mark = self.set_back();
    }

    /// Whether to show it again, now that the terminal has this `size`.
    pub(crate) fn is_lost(&mut self, size: Option<Size>) -> bool {
        self.is_moved(size) || self.is_written_over()
    }

    /// Whether the size has changed and is stable again.
    fn is_moved(&mut self, size: Option<Size>) -> bool {
        let [shown, last] = self.sizes;
        self.sizes = [shown, size];
        size != shown && size == last
    }

    fn is_written_over(&mut self) -> bool {
        if self.mark.is_some() && self.time() != self.mark {
            self.written = Some(Instant::now());
            self.mark = self.set_back();
        }
        let Some(written) = self.written else { return false };
        let (stood, is_quiet) = (self.shown.elapsed(), written.elapsed() >= QUIET);
        let is_lost = stood >= LONGEST || is_quiet && stood >= self.patience;
        if is_lost {
            self.patience = LONGEST.min(self.patience * 2);
        }
        is_lost
    }

    fn time(&self) -> Option<Timespec> {
        let status = fstat(self.file?).ok()?;
        Some(Timespec { tv_sec: status.st_mtime, tv_nsec: status.st_mtime_nsec.try_into().ok()? })
    }

    /// Sets the time back, and returns it.
    fn set_back(&self) -> Option<Timespec> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let tv_sec = i64::try_from(now.as_secs()).ok()?.checked_sub(BACK)?;
        let last_modification = Timespec { tv_sec, tv_nsec: 0 };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        futimens(self.file?, &Timestamps { last_access, last_modification }).ok()?;
        Some(last_modification)
    }
}
