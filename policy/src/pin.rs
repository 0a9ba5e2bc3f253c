//! A descriptor of the very object that was judged.

use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use jp_confine_engine::pin;

use crate::Capability;

/// A descriptor of the very object that was judged, or of the directory in which an entry will be created.
///
/// Each method demands the capability that it uses, and fails with [`io::ErrorKind::PermissionDenied`] for any other.
/// No method follows a symlink. Other errors are the kernel's.
///
/// ```
/// use jp_confine_policy::{Capability, Policy, Workspace};
///
/// # let folder = tempfile::tempdir()?;
/// let workspace = Workspace::open(folder.path(), &Policy::default())?;
/// let context = workspace.context();
/// context.pin("notes", Capability::Create)?.write(b"spring")?;
/// let notes = context.pin("notes", Capability::Read)?;
/// assert_eq!(std::io::read_to_string(notes.open()?)?, "spring");
/// assert!(notes.write(b"summer").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pin(pub(crate) pin::Pin);

#[expect(clippy::missing_errors_doc, reason = "the type's documentation says it")]
impl Pin {
    /// The canonical absolute path that was judged.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The granted capability.
    #[must_use]
    pub const fn capability(&self) -> Capability {
        self.0.capability()
    }

    /// The `fstat(2)` data of the object. For a judged entry that is a symlink, the data of the symlink itself.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Opens for reading, with [`Capability::Read`]. A pipe is opened without waiting for its other side, and reads as
    /// if it were empty.
    pub fn open(&self) -> io::Result<File> {
        self.0.open()
    }

    /// The names in the directory, in no order, with [`Capability::Read`].
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        self.0.names()
    }

    /// Opens the file for writing without truncating it, with [`Capability::Update`].
    pub fn open_to_write(&self) -> io::Result<File> {
        self.0.open_to_write()
    }

    /// Creates the file and opens it for writing, with [`Capability::Create`].
    pub fn create_new(&self) -> io::Result<File> {
        self.0.create_new()
    }

    /// Creates the directory, with [`Capability::Create`].
    pub fn create_dir(&self) -> io::Result<()> {
        self.0.create_dir()
    }

    /// Makes `contents` the whole content of the file. A new file takes [`Capability::Create`], an existing one
    /// [`Capability::Update`].
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        self.0.write(contents)
    }

    /// Removes the file, the symlink or the empty directory, with [`Capability::Delete`].
    pub fn remove(&self) -> io::Result<()> {
        self.0.remove()
    }
}
