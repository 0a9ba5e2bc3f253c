//! The root of a workspace, and the resolution of paths from it (spec §4.3).

use std::borrow::ToOwned as _;
use std::path::{Path, PathBuf};
use std::vec::Vec;
use std::{fs, io};

use super::{Op, ResolveError, Resolved, below, resolve};

/// `PATH_MAX`, which counts the NUL at the end of a path, and `NAME_MAX`.
const LONGEST_PATH: usize = 4096;
const LONGEST_NAME: usize = 255;

/// The canonical root of a workspace, `Wc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    /// Whether such a directory exists. If not, nothing on disk says where paths lead.
    pub(super) on_disk: bool,
}

impl Root {
    /// The root that `path`, relative to the current directory or absolute, leads to (spec §4.3).
    ///
    /// # Errors
    /// [`ResolveError`] if it cannot be resolved or is not an existing directory, because then there is nothing to
    /// confine to.
    pub fn open(path: &Path) -> Result<Self, ResolveError> {
        let canonical = fs::canonicalize(path);
        Self::known(canonical.map_err(|error| ResolveError::Io { path: path.to_owned(), error })?)
    }

    /// The root at `path`, which is known to be canonical. This process may know it by another name, through a view.
    ///
    /// # Errors
    /// [`ResolveError`] if it is not an existing directory.
    pub fn known(path: PathBuf) -> Result<Self, ResolveError> {
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => Ok(Self { path, on_disk: true }),
            Ok(_) => Err(ResolveError::NotADirectory { path }),
            Err(error) => Err(ResolveError::Io { path, error }),
        }
    }

    /// The root of a workspace that is not on disk. It contains no symlinks: paths lead where they are spelled.
    #[must_use]
    pub fn without_directory() -> Self {
        Self { path: PathBuf::from("/workspace"), on_disk: false }
    }

    /// The canonical absolute path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Resolves `path`, relative and in normal form, from the root. For workspaces on disk it does so as [`resolve`].
    ///
    /// # Errors
    /// [`ResolveError`], as there.
    pub fn resolve(&self, path: &Path, op: Op) -> Result<Resolved, ResolveError> {
        if self.makes_too_long(path) {
            let error = io::ErrorKind::InvalidFilename.into();
            return Err(ResolveError::Io { path: path.to_owned(), error });
        }
        if self.on_disk { resolve(&self.path, path, op) } else { Ok(self.spelled(path)) }
    }

    /// Whether the path, or a name in it, is too long to exist (`path_resolution(7)`).
    fn makes_too_long(&self, path: &Path) -> bool {
        let whole = self.path.as_os_str().len() + 1 + path.as_os_str().len();
        whole >= LONGEST_PATH || path.components().any(|it| it.as_os_str().len() > LONGEST_NAME)
    }

    pub(super) fn spelled(&self, path: &Path) -> Resolved {
        let path = self.path.join(path).components().collect();
        Resolved { path, exists: true, steps: Vec::new(), left: Vec::new() }
    }

    /// Whether a canonical path is the root or below it, component by component.
    #[must_use]
    pub fn contains(&self, canonical: &Path) -> bool {
        below(&self.path, canonical).is_some()
    }
}
