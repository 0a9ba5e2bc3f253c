//! Orders the prompts of all runs of one user at one terminal, one after the other.
//!
//! A turn is the lock on a file in the user's own directory. The kernel releases it however its holder ends. The file
//! is write-only. A run's programs may read that directory if a rule grants it, but they never write there. So only
//! root's programs can open the file and keep the lock.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::cli::Options;
use crate::files;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::sys::proc::descendants;

/// The place where turns at this process's terminal are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptQueue {
    /// `None` without a user directory or without a terminal. Then nobody waits for others.
    file: Option<PathBuf>,
}

/// The right to ask now, until this is dropped.
#[derive(Debug)]
pub(crate) struct PromptLock {
    _lock: Option<File>,
}

/// While this exists, no prompt is shown at the terminal.
#[derive(Debug)]
pub(crate) struct SharedLock {
    _lock: Option<File>,
}

impl PromptQueue {
    /// For the terminal of this process. The host name tells it from terminals of other machines that share the
    /// directory.
    pub(crate) fn of(context: &Context) -> Self {
        let folder = context.homes.data.as_ref().map(|home| home.join("jp-confine/terminals"));
        let name = |number| {
            let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            format!("{}-{number:x}", machine.trim_end().replace('/', "_"))
        };
        let place = folder.zip(own_terminal());
        Self { file: place.map(|(folder, number)| folder.join(name(number))) }
    }

    /// For the terminal of the run that `options` describe. A tool uses its host's, since it has no home of its own.
    pub(crate) fn of_run(context: &Context, options: &Options) -> Self {
        options.turns.clone().map_or_else(|| Self::of(context), |file| Self { file: Some(file) })
    }

    /// The lock file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Waits until no other prompt is shown.
    pub(crate) fn next(&self) -> PromptLock {
        let lock = open(self.file.as_deref(), true);
        // On a file system without locks, nobody waits.
        let _ = lock.as_ref().map(File::lock);
        PromptLock { _lock: lock }
    }

    /// The turn, or `None` if another prompt is shown.
    pub(crate) fn next_at_once(&self) -> Option<PromptLock> {
        let lock = open(self.file.as_deref(), true);
        let is_taken = |file: &File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        (!lock.as_ref().is_some_and(is_taken)).then_some(PromptLock { _lock: lock })
    }

    /// Whether a prompt is shown.
    pub(crate) fn is_taken(&self) -> bool {
        open(self.file.as_deref(), false).is_some_and(|file| is_locked(&file))
    }

    /// Holds back the next prompt. `None` if one is shown. A caller that repeats this must leave time for prompts.
    pub(crate) fn pause(&self) -> Option<SharedLock> {
        let lock = open(self.file.as_deref(), true);
        (!lock.as_ref().is_some_and(is_locked)).then_some(SharedLock { _lock: lock })
    }
}

/// Whether somebody has the turn. If not, nobody gets it while the file is open.
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Opens the lock file. Creates it if it is missing and `make` is set.
fn open(file: Option<&Path>, make: bool) -> Option<File> {
    let file = file?;
    if make {
        data_dirs::make(file.parent()?).ok()?;
    }
    files::open_lock(file, make).ok()
}

/// The number of the terminal that controls this process: `tty_nr` of `proc_pid_stat(5)`. Its device numbers are
/// encoded as in `stat(2)`.
pub(crate) fn own_terminal() -> Option<u64> {
    let stat = descendants::status_of(Path::new("/proc/self"))?;
    let number: i32 = descendants::fields(&stat)?.nth(4)?.parse().ok()?;
    (number != 0).then(|| u64::from(number.cast_unsigned()))
}
