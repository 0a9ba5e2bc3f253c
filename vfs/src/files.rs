//! Where the files of a project are. Whoever keeps them does what was granted and decides nothing.

mod disk;
mod memory;

use std::fmt;
use std::io;
use std::path::Path;

use jp_confine_policy::granted::{Going, Granted};

pub use disk::OnDisk;
pub use memory::InMemory;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A file, and its length in bytes.
    File(u64),
    /// A directory.
    Dir,
    /// What can be neither read as a file nor listed: a link that was asked about as such, a pipe.
    Other,
}

/// The files of a project. Paths are canonical and below the workspace's root, or where a person let a
/// link lead; what uses one takes the leave to do so.
///
/// Errors are told apart by their kind: `NotFound`, `AlreadyExists`, `IsADirectory`, `NotADirectory`,
/// `PermissionDenied`, and others.
pub trait ProjectFiles: fmt::Debug {
    /// Fails once the project is no longer where its paths lead.
    ///
    /// # Errors
    /// `Other`, where something else is there now.
    fn stand(&self) -> io::Result<()> {
        Ok(())
    }

    /// What stands at `path` itself, links not followed; `None` where there is nothing.
    ///
    /// # Errors
    /// Where that cannot be said.
    fn look(&self, path: &Path) -> io::Result<Option<Standing>>;

    /// What is in a file, but no more than `longest` bytes of it.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn read(&self, file: &Granted, longest: u64) -> io::Result<Vec<u8>>;

    /// The names in a directory, in no order; those that are not UTF-8 are left out.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn names(&self, dir: &Granted) -> io::Result<Vec<String>>;

    /// Makes a directory in one that is there.
    ///
    /// # Errors
    /// Where it cannot be made.
    fn create_dir(&self, dir: &Granted) -> io::Result<()>;

    /// Makes `contents` all that is in a file: a new one with leave to create, else one that is there.
    ///
    /// # Errors
    /// Where it cannot be written.
    fn write(&self, file: &Granted, contents: &[u8]) -> io::Result<()>;

    /// Removes a file or link.
    ///
    /// # Errors
    /// Where it cannot be removed.
    fn remove(&self, file: &Granted) -> io::Result<()>;

    /// Gives a file another name: a new one with leave to create, else in the place of what has it. Somebody
    /// may put a directory in its place after it was looked at: one that is not to go along stays.
    ///
    /// # Errors
    /// Where it cannot be renamed; `CrossesDevices` where it can be copied.
    fn rename(&self, from: &Granted, to: &Granted, going: Going) -> io::Result<()>;
}
