//! Whether a question is still in sight: others go on while it stands, and what they write moves it off the screen, as
//! does a terminal that becomes smaller.
//!
//! When somebody writes to a terminal, the kernel sets the time of its file (`tty_update_time` in `tty_io.c`), unless that
//! is within the same eight seconds; to show what is typed leaves it as it is. So that time is set back, and looked at.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, fstat, futimens};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::tcgetwinsize;

use crate::prompt::turns::own_terminal;

/// For so long nobody writes before a question is shown again.
const QUIET: Duration = Duration::from_secs(1);
/// For so long it stands at first, and at most, before that: each time twice as long, since who types the answer is not
/// to be disturbed again and again. So long it is waited for who writes all the time, too.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(16);
/// So many seconds the time is set back: by more than the kernel overlooks.
const BACK: i64 = 16;

/// A question on the screen.
#[derive(Debug)]
pub(crate) struct Sight {
    /// The file of the terminal itself, since `/dev/tty` is that of all; `None` where no standard stream leads to it.
    file: Option<BorrowedFd<'static>>,
    /// What the time was set to; `None` where that may not be, as in a terminal of another user's.
    mark: Option<Timespec>,
    shown: Instant,
    /// When it was seen last that somebody had written since.
    written: Option<Instant>,
    patience: Duration,
    /// Of what size the terminal was when it was shown, and when that was looked at last.
    sizes: [Option<Size>; 2],
}

/// The rows and columns of a terminal.
pub(crate) type Size = (u16, u16);

/// Those of `terminal`, if it says.
pub(crate) fn size_of(terminal: impl AsFd) -> Option<Size> {
    tcgetwinsize(terminal).ok().map(|size| (size.ws_row, size.ws_col))
}

impl Sight {
    /// Nothing is shown yet.
    pub(crate) fn new() -> Self {
        let number = own_terminal();
        let is_of_it =
            |file: &BorrowedFd<'_>| fstat(file).is_ok_and(|it| Some(it.st_rdev) == number);
        let file = [stdin(), stdout(), stderr()].into_iter().find(is_of_it);
        let (shown, patience) = (Instant::now(), SHORTEST);
        Self { file, mark: None, shown, written: None, patience, sizes: [None; 2] }
    }

    /// The question was shown just now, at a terminal of this size.
    pub(crate) fn begin(&mut self, size: Option<Size>) {
        self.sizes = [size; 2];
        self.shown = Instant::now();
        self.written = None;
        self.mark = self.set_back();
    }

    /// Whether it is to be shown again, where the terminal has this `size` now.
    pub(crate) fn is_lost(&mut self, size: Option<Size>) -> bool {
        self.is_moved(size) || self.is_written_over()
    }

    /// Whether the size is another one, and has come to rest.
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

    /// What the time was set back to.
    fn set_back(&self) -> Option<Timespec> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let tv_sec = i64::try_from(now.as_secs()).ok()?.checked_sub(BACK)?;
        let last_modification = Timespec { tv_sec, tv_nsec: 0 };
        let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
        futimens(self.file?, &Timestamps { last_access, last_modification }).ok()?;
        Some(last_modification)
    }
}
