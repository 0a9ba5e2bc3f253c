//! Determines, caches and changes the working directory's path.

use core::sync::atomic::{AtomicU64, Ordering};

use jp_confine_engine::decide;
use jp_confine_engine::image::Image;
use jp_confine_engine::views;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::path_cache::{self, CachedPath};
use crate::sys;

static REMEMBERED: CachedPath = CachedPath::new();

/// Changes the directory with `change`, which makes the system call.
///
/// # Errors
/// Those of `change`.
pub(crate) fn change(change: impl FnOnce() -> Result<(), Errno>) -> Result<(), Errno> {
    if !path_cache::owns_memory() {
        // The program itself created this `vfork` child, and nothing will tell when it is gone.
        path_cache::suspend();
    }
    forget();
    let outcome = change();
    forget();
    outcome
}

/// How often this process forgot the path, because the directory may have become another one.
#[cfg(target_os = "linux")]
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// A number that differs once the process has changed its directory.
#[cfg(target_os = "linux")]
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

/// Forgets the path.
fn forget() {
    #[cfg(target_os = "linux")]
    CHANGES.fetch_add(1, Ordering::AcqRel);
    SHOWS_EVERYTHING_AT.store(0, Ordering::Release);
    REMEMBERED.forget();
}

/// The stamp of the generation in which nothing at or below the directory was hidden.
static SHOWS_EVERYTHING_AT: AtomicU64 = AtomicU64::new(0);

/// Whether nothing is hidden at or below the working directory, and no view is there.
pub(crate) fn shows_everything(image: &Image<'_>) -> bool {
    let Some(now) = path_cache::now() else { return false };
    SHOWS_EVERYTHING_AT.load(Ordering::Acquire) == now || find_whether_shows_everything(image, now)
}

#[inline(never)] // keeps its stack use out of the common case
fn find_whether_shows_everything(image: &Image<'_>, now: u64) -> bool {
    let mut here = PathBuffer::new();
    let shows = read(&mut here).is_ok()
        && decide::shows_everything(image, here.as_bytes())
        && views::to_place(image, here.as_bytes()).is_none();
    if shows && path_cache::owns_memory() {
        SHOWS_EVERYTHING_AT.store(now, Ordering::Release);
    }
    shows
}

/// Announces to every process of the run that a directory was renamed or removed, or that a symlink got its name. A
/// removed directory's inode number may come to mean another one.
pub(crate) fn announce_change() {
    if !path_cache::begin_generation() {
        forget();
    }
}

/// Stores the canonical path of the working directory in `to`.
///
/// # Errors
/// `ENAMETOOLONG`; `EACCES` if the directory is unreachable; `ENOENT` if it was removed and its former path is unknown.
pub(crate) fn read(to: &mut PathBuffer) -> Result<(), Errno> {
    REMEMBERED.read([0; 2], to, ask)
}

/// Like [`read`], ignoring the remembered path.
///
/// # Errors
/// As [`read`].
pub(crate) fn ask<const N: usize>(to: &mut Buffer<N>) -> Result<(), Errno> {
    to.fill(sys::getcwd)?;
    if to.as_bytes().first() == Some(&b'/') { Ok(()) } else { Err(Errno::EACCES) }
}
