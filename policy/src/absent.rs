//! Directories that are not there, each looked for once. Used by whoever looks at many places of a policy.

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, statat};
use rustix::io::Errno;

use crate::canonical;

/// The last directory that was found missing: of paths that come in order it answers for all that would be in it.
#[derive(Debug, Default)]
pub struct Absent(Option<PathBuf>);

impl Absent {
    /// Whether the canonical path is that of the missing directory, or below it.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        self.0.as_deref().is_some_and(|missing| canonical::below(missing, path).is_some())
    }

    /// Notes that nothing is at the canonical path. Looks at the disk, for what else is missing on the way there.
    pub fn note(&mut self, path: &Path) {
        let is_missing = |directory: &&Path| {
            matches!(statat(CWD, *directory, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT))
        };
        let outermost = path.ancestors().skip(1).take_while(is_missing).last();
        self.0 = Some(outermost.unwrap_or(path).to_owned());
    }
}
