//! Remembers the path of the working directory.

use core::sync::atomic::{AtomicU64, Ordering};

use jp_confine_policy::decide;
use jp_confine_policy::image::Image;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::remembered::{self, Remembered};
use crate::sys;

static REMEMBERED: Remembered = Remembered::new();

/// Changes the working directory. `change` makes the system call.
///
/// # Errors
/// Those of `change`.
pub(crate) fn change(change: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    if !remembered::owns_memory() {
        // A `vfork` child that the program made itself: nothing reports when it is gone.
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

/// The generation in which the directory was found to contain nothing hidden.
static SHOWS_EVERYTHING_AT: AtomicU64 = AtomicU64::new(0);

/// Whether nothing is hidden at or below the working directory.
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

/// Tells every process of the run that a directory was renamed or deleted. After a deletion, its inode number may come
/// to mean another directory.
pub(crate) fn announce_change() {
    if !remembered::begin_generation() {
        forget();
    }
}

/// Puts the canonical path of the working directory into `to`.
///
/// # Errors
/// `ENOENT` in a deleted directory, `ENAMETOOLONG`, `EACCES` in an unreachable one.
pub(crate) fn read(to: &mut PathBuffer) -> Result<(), Errno> {
    REMEMBERED.read([0; 2], to, ask)
}

/// As [`read`], but always asks the kernel.
///
/// # Errors
/// As for [`read`].
pub(crate) fn ask<const N: usize>(to: &mut Buffer<N>) -> Result<(), Errno> {
    to.fill(sys::getcwd)?;
    if to.as_bytes().first() == Some(&b'/') { Ok(()) } else { Err(Errno::EACCES) }
}
