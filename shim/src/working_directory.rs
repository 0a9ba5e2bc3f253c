//! The working directory's path.

use core::sync::atomic::{AtomicU64, Ordering};

use jp_confine_policy::decide;
use jp_confine_policy::image::Image;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::remembered::{self, Remembered};
use crate::sys;

static REMEMBERED: Remembered = Remembered::new();

/// Changes the directory by `change`, which makes the system call.
///
/// # Errors
/// Those of `change`.
pub(crate) fn change(change: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    if !remembered::owns_memory() {
        // A `vfork` child of the program's own making: when it is gone nobody will tell.
        remembered::suspend();
    }
    forget();
    let outcome = change();
    forget();
    outcome
}

/// Forgets the path.
fn forget() {
    SHOWS_EVERYTHING_AT.store(0, Ordering::Release);
    REMEMBERED.forget();
}

/// The stamp of the generation at which nothing at or below the directory was found hidden.
static SHOWS_EVERYTHING_AT: AtomicU64 = AtomicU64::new(0);

/// Whether nothing at or below the directory is hidden.
pub(crate) fn shows_everything(image: &Image<'_>) -> bool {
    let Some(now) = remembered::now() else { return false };
    if SHOWS_EVERYTHING_AT.load(Ordering::Acquire) == now {
        return true;
    }
    let mut here = PathBuffer::new();
    let shows = read(&mut here).is_ok() && decide::shows_everything(image, here.as_bytes());
    if shows && remembered::owns_memory() {
        SHOWS_EVERYTHING_AT.store(now, Ordering::Release);
    }
    shows
}

/// Announces to every process of the run that a directory was renamed, or removed so that its inode
/// number may come to stand for another.
pub(crate) fn announce_change() {
    if !remembered::begin_generation() {
        forget();
    }
}

/// Puts the canonical path of the working directory into `to`.
///
/// # Errors
/// `ENOENT` in a directory that was removed, `ENAMETOOLONG`, `EACCES` in one out of reach.
pub(crate) fn read(to: &mut PathBuffer) -> Result<(), Errno> {
    REMEMBERED.read([0; 2], to, ask)
}

/// As [`read`], whatever is remembered.
///
/// # Errors
/// As there.
pub(crate) fn ask<const N: usize>(to: &mut Buffer<N>) -> Result<(), Errno> {
    to.fill(sys::getcwd)?;
    if to.as_bytes().first() == Some(&b'/') { Ok(()) } else { Err(Errno::EACCES) }
}
