//! Several directories, each under its policy, for tools that get absolute paths.

use std::path::Path;

use jp_confine_engine::authorize::{self, Authorized, Refusal, RefusalReason};

use crate::{Error, ErrorKind, Pin, Policy, Workspace};

/// The directories of a workspace, each under its policy. A path must be in one of them, and every directory that it is
/// in must grant it. A directory that the path only leads through may withhold it. Without a directory nothing is
/// authorised.
///
/// ```
/// use jp_confine_policy::{Authorizer, ErrorKind, Policy};
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("notes"), "spring")?;
///
/// let folders = Authorizer::default().with_folder(root, &Policy::default())?;
///
/// let notes = folders.authorize_read(root.join("notes"), "read_file")?;
/// assert_eq!(std::io::read_to_string(notes.open()?)?, "spring");
/// let refusal = folders.authorize_write("/etc/passwd", "edit_file").unwrap_err();
/// assert_eq!(refusal.kind(), ErrorKind::Outside);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Authorizer(authorize::Authorizer);

impl Authorizer {
    /// The same, with the directory `path` under `policy`.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn with_folder(self, path: impl AsRef<Path>, policy: &Policy) -> Result<Self, Error> {
        let path = path.as_ref();
        let Workspace(workspace) = Workspace::open(path, policy)?;
        Ok(Self(self.0.with_workspace(path, Some(workspace))))
    }

    /// A pin for reading the absolute path. `source` is the tool's name, for messages.
    ///
    /// # Errors
    /// If the path may not be read. The message never reveals the target of a symlink.
    pub fn authorize_read(&self, path: impl AsRef<Path>, source: &str) -> Result<Pin, Error> {
        pinned(self.0.authorize_read(path.as_ref(), source))
    }

    /// A pin for creating or changing the file at the absolute path. `source` is the tool's name, for messages.
    ///
    /// # Errors
    /// If the path may not be written. The message never reveals the target of a symlink.
    pub fn authorize_write(&self, path: impl AsRef<Path>, source: &str) -> Result<Pin, Error> {
        pinned(self.0.authorize_write(path.as_ref(), source))
    }
}

fn pinned(answer: Result<Authorized, Refusal>) -> Result<Pin, Error> {
    match answer {
        Ok(authorized) => Ok(Pin(authorized.into_pin())),
        Err(refusal) => Err(Error::new(kind(refusal.reason()), refusal)),
    }
}

const fn kind(reason: RefusalReason) -> ErrorKind {
    match reason {
        RefusalReason::OutsideWorkspace | RefusalReason::SymlinkEscapesWorkspace => {
            ErrorKind::Outside
        }
        RefusalReason::RealpathFailed => ErrorKind::Unresolved,
        RefusalReason::PermissionDenied => ErrorKind::Denied,
    }
}
