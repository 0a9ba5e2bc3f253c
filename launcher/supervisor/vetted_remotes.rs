//! Shares state between vetted writes of Git's configuration.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The remotes that vetted writes of this run added, each with its file.
pub(crate) type Added = HashSet<(Vec<u8>, Vec<u8>)>;

/// The shared state. Vetted writes run one after the other, because each is compared with the result of the last.
#[derive(Debug, Default)]
pub(crate) struct Vetting(Mutex<Added>);

impl Vetting {
    pub(crate) fn turn(&self) -> MutexGuard<'_, Added> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
