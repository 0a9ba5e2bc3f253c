//! What vetted writes of git's configuration share.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Remotes that vetted writes of this run added, each with the file.
pub(crate) type Added = HashSet<(Vec<u8>, Vec<u8>)>;

/// What vetted writes share. They follow one another: each is held against what the last put in place.
#[derive(Debug, Default)]
pub(crate) struct Vetting(Mutex<Added>);

impl Vetting {
    pub(crate) fn turn(&self) -> MutexGuard<'_, Added> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
