//! Remembers directories that do not exist, so that each is looked for once. Used by code that looks at many paths of a
//! policy.

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Errno;

use crate::canonical;

/// The last directory that was found missing. If paths come in order, it answers for all that would be in it.
#[derive(Debug, Default)]
pub struct Absent(Option<PathBuf>);

impl Absent {
    /// Whether the canonical path is the missing directory or below it.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        self.0.as_deref().is_some_and(|missing| canonical::below(missing, path).is_some())
    }

    /// Notes that nothing exists at the canonical path. Looks at the disk for the outermost missing directory.
    pub fn note(&mut self, path: &Path) {
        let is_missing = |directory: &&Path| {
            matches!(statat(CWD, *directory, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
        };
        let outermost = path.ancestors().skip(1).take_while(is_missing).last();
        self.0 = Some(outermost.unwrap_or(path).to_owned());
    }
}
