//! Stores the files of a project. A store does what was granted and decides nothing.

mod disk;
mod memory;

use std::fmt;
use std::io;
use std::path::Path;

use jp_confine_engine::granted::Granted;
use jp_confine_engine::moves_alone::RenameKind;

pub use disk::OnDisk;
pub use memory::InMemory;

/// The kind of object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A file, with its length in bytes.
    File(u64),
    /// A directory.
    Dir,
    /// Anything that can be neither read as a file nor listed: a pipe, or a symlink that was not followed.
    Other,
}

/// The files of a project. Paths are canonical. They lie below the workspace's root, or where a person allowed a
/// symlink to lead. Each use of a path takes the grant for it.
///
/// Callers tell errors apart by kind: `NotFound`, `AlreadyExists`, `IsADirectory`, `NotADirectory`, `PermissionDenied`,
/// and others.
pub trait ProjectFiles: fmt::Debug {
    /// Fails once the project is no longer at the place its paths lead to.
    ///
    /// # Errors
    /// `Other`, where something else is there now.
    fn stand(&self) -> io::Result<()> {
        Ok(())
    }

    /// The object at `path` itself, symlinks not followed; `None` if nothing is there.
    ///
    /// # Errors
    /// Where the object cannot be examined.
    fn look(&self, path: &Path) -> io::Result<Option<Standing>>;

    /// Reads a file, but at most `longest` bytes of it.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>>;

    /// The names in a directory, unordered. Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn names(&self, dir: &Granted) -> io::Result<Vec<String>>;

    /// Creates a directory in an existing one.
    ///
    /// # Errors
    /// Where it cannot be created.
    fn create_dir(&self, dir: &Granted) -> io::Result<()>;

    /// Replaces all contents of a file. With a grant to create, the file must be new; otherwise it must exist.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()>;

    /// Deletes a file or symlink.
    ///
    /// # Errors
    /// Where it cannot be deleted.
    fn remove(&self, file: &Granted) -> io::Result<()>;

    /// Renames a file. With a grant to create, the new name must be free; otherwise the rename replaces the file there.
    /// Another process may put a directory in the file's place after the check: `kind` says whether a directory may
    /// move.
    ///
    /// # Errors
    /// Where it cannot be renamed; `CrossesDevices` where it can be copied.
    fn rename(&self, from: &Granted, to: &Granted, kind: RenameKind) -> io::Result<()>;
}
