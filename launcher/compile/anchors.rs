//! Resolves built-in entries to canonical paths. They are many and close together, so each directory on the way is
//! looked at once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The known paths by their spelling, which is quicker to hash than components.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    known: HashMap<OsString, Option<PathBuf>>,
}

impl Anchors {
    /// The canonical form of the absolute `path`. `None` if nothing is there, or it cannot be resolved.
    pub(crate) fn canonical(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path.as_os_str()) {
            return known.clone();
        }
        let found = self.look(path);
        self.known.insert(path.as_os_str().to_owned(), found.clone());
        found
    }

    fn look(&mut self, path: &Path) -> Option<PathBuf> {
        // The root directory has no name, nor has a path that ends in `..`.
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return fs::canonicalize(path).ok();
        };
        let place = self.canonical(parent)?.join(name);
        if place.symlink_metadata().ok()?.is_symlink() {
            return fs::canonicalize(place).ok();
        }
        Some(place)
    }
}
