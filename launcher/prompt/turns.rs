//! Questions at one terminal come one after the other, whichever of the user's runs puts them.
//!
//! The turn is the lock of a file in the user's own folder. The kernel gives it up however its holder ends. The
//! file may be written only: programs of a run may read that folder where a rule grants it, and never write there,
//! so that none but root's can open the file to keep the lock.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::cli::Options;
use crate::files;
use crate::host::context::Context;
use crate::host::data_dirs;
use crate::sys::proc::descendants;

/// Where turns at the terminal that controls this process are taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// `None` where the user has no folder, or this process no terminal: then nobody waits for others.
    file: Option<PathBuf>,
}

/// The right to put a question now, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _lock: Option<File>,
}

/// No question is put at the terminal until this is dropped.
#[derive(Debug)]
pub(crate) struct Pause {
    _lock: Option<File>,
}

impl Turns {
    /// At the terminal of this process, which is told from those of other machines that share the folder.
    pub(crate) fn of(context: &Context) -> Self {
        let folder = context.homes.data.as_ref().map(|home| home.join("jp-confine/terminals"));
        let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let machine = machine.trim_end().replace('/', "_");
        let name = own_terminal().map(|number| format!("{machine}-{number:x}"));
        Self { file: folder.zip(name).map(|(folder, name)| folder.join(name)) }
    }

    /// At the terminal of the run that `options` describe: a tool has its host's, and no home of its own.
    pub(crate) fn of_run(context: &Context, options: &Options) -> Self {
        options.turns.clone().map_or_else(|| Self::of(context), |file| Self { file: Some(file) })
    }

    /// The file by which they are taken, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Waits until no other question stands.
    pub(crate) fn next(&self) -> Turn {
        let lock = open(self.file.as_deref(), true);
        // Where files have no locks nobody waits.
        let _ = lock.as_ref().map(File::lock);
        Turn { _lock: lock }
    }

    /// The turn, unless another question stands.
    pub(crate) fn next_at_once(&self) -> Option<Turn> {
        let lock = open(self.file.as_deref(), true);
        let is_taken = |file: &File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        (!lock.as_ref().is_some_and(is_taken)).then_some(Turn { _lock: lock })
    }

    /// Whether a question stands.
    pub(crate) fn is_taken(&self) -> bool {
        open(self.file.as_deref(), false).is_some_and(|file| is_locked(&file))
    }

    /// Has the next question wait, unless one stands. Who does this again and again has to leave time for one.
    pub(crate) fn pause(&self) -> Option<Pause> {
        let lock = open(self.file.as_deref(), true);
        (!lock.as_ref().is_some_and(is_locked)).then_some(Pause { _lock: lock })
    }
}

/// Whether somebody has the turn. Else nobody gets it as long as the file is open.
fn is_locked(file: &File) -> bool {
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Opens a file that is locked, which is made where it is missing, if `make` says so.
fn open(file: Option<&Path>, make: bool) -> Option<File> {
    let file = file?;
    if make {
        data_dirs::make(file.parent()?).ok()?;
    }
    files::open_lock(file, make).ok()
}

/// The number of the terminal that controls this process: `tty_nr` of `proc_pid_stat(5)`, which has a device's
/// numbers where `stat(2)` has them.
pub(crate) fn own_terminal() -> Option<u64> {
    let stat = descendants::status_of(Path::new("/proc/self"))?;
    let number: i32 = descendants::fields(&stat)?.nth(4)?.parse().ok()?;
    (number != 0).then(|| u64::from(number.cast_unsigned()))
}
