//! The working directory's path.

use core::sync::atomic::Ordering;

use crate::errno::Errno;
use crate::path::PathBuffer;
use crate::remembered::Remembered;
use crate::{session, sys};

static REMEMBERED: Remembered = Remembered::new();

/// Forgets the path: the directory changes.
pub(crate) fn forget() {
    REMEMBERED.forget();
}

/// Announces that a directory was renamed, to every process of the run.
pub(crate) fn announce_rename() {
    match session::generation() {
        Some(generation) => {
            generation.fetch_add(1, Ordering::AcqRel);
        }
        None => forget(),
    }
}

/// Puts the canonical path of the working directory into `to`.
///
/// # Errors
/// `ENOENT` in a directory that was removed, `ENAMETOOLONG`, `EACCES` in one out of reach.
pub(crate) fn read(to: &mut PathBuffer) -> Result<(), Errno> {
    REMEMBERED.read([0; 2], to, ask)
}

fn ask(to: &mut PathBuffer) -> Result<(), Errno> {
    to.fill(|bytes, room| sys::getcwd(bytes, room).map(|with_nul| with_nul.saturating_sub(1)))
        .map_err(|errno| if errno == Errno::ERANGE { Errno::ENAMETOOLONG } else { errno })?;
    if to.as_bytes().first() == Some(&b'/') { Ok(()) } else { Err(Errno::EACCES) }
}
