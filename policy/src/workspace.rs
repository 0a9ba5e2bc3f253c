//! A workspace under a policy, and questions about paths in it.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::received::Received;
use jp_confine_engine::{check, workspace};

#[cfg(target_os = "linux")]
use crate::Pin;
use crate::{Capability, Error, ErrorKind, Policy};

/// A directory and its compiled policy. The paths of rules were resolved when it was opened. The path of a request is
/// resolved anew each time.
///
/// ```
/// use jp_confine_policy::{Capability, Policy, Workspace};
///
/// # let folder = tempfile::tempdir()?;
/// let workspace = Workspace::open(folder.path(), &Policy::default())?;
/// assert!(workspace.context().check("notes", Capability::Create).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Workspace(pub(crate) workspace::Workspace);

impl Workspace {
    /// Compiles `policy` for the directory `root`, absolute or relative to the current directory. `~` in patterns is
    /// `$HOME`. The workspace's own policy file, and jp-confine's files in the user's home, can be read at most.
    ///
    /// # Errors
    /// [`ErrorKind::Workspace`] if the root is not a directory, [`ErrorKind::Policy`] if a rule is invalid.
    pub fn open(root: impl AsRef<Path>, policy: &Policy) -> Result<Self, Error> {
        Ok(Self(workspace::Workspace::open(root.as_ref(), &policy.written, &policy.approved)?))
    }

    /// Compiles `policy` for a workspace that is not on disk. A program that stores its files asks with the same paths.
    ///
    /// # Errors
    /// [`ErrorKind::Policy`] if a rule is invalid. A rule that leads outside always is.
    pub fn without_directory(policy: &Policy) -> Result<Self, Error> {
        Ok(Self(workspace::Workspace::without_directory(&policy.written)?))
    }

    /// The workspace that a host describes to its tool: a JSON object with `root` and the compiled rules, `access`.
    ///
    /// # Errors
    /// As [`Self::open`], and [`ErrorKind::Policy`] if the text is no such object.
    pub fn received(json: &str) -> Result<Self, Error> {
        let received: Received =
            serde_json::from_str(json).map_err(|error| Error::new(ErrorKind::Policy, error))?;
        Ok(Self(received.open()?))
    }

    /// The canonical root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.0.root().as_path()
    }

    /// Warnings about the policy for a person.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.0.warnings().iter().map(ToString::to_string)
    }

    /// The policy, ready for questions. Reads the whole compiled policy, so keep the result for several questions.
    #[must_use]
    pub fn context(&self) -> Context<'_> {
        Context(self.0.context())
    }
}

/// Answers questions about paths in a workspace. A path is relative to the root of the workspace, and may be any bytes.
///
/// ```
/// use jp_confine_policy::{Capability, ErrorKind, Policy, Workspace};
///
/// # let folder = tempfile::tempdir()?;
/// let workspace = Workspace::open(folder.path(), &Policy::default())?;
/// let context = workspace.context();
/// let notes = context.check("./notes", Capability::Create)?;
/// assert_eq!(notes, workspace.root().join("notes"));
/// let refusal = context.check("../notes", Capability::Read).unwrap_err();
/// assert_eq!(refusal.kind(), ErrorKind::Outside);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Context<'w>(check::Context<'w>);

impl Context<'_> {
    /// The canonical path to use for `path`. Deletion concerns the entry itself, everything else the target of a final
    /// symlink. Changes nothing on disk.
    ///
    /// # Errors
    /// If the path may not be used: any kind but [`ErrorKind::Workspace`].
    pub fn check(&self, path: impl AsRef<Path>, capability: Capability) -> Result<PathBuf, Error> {
        let bytes = path.as_ref().as_os_str().as_bytes();
        Ok(self.0.check_to_use(bytes, capability).into_path()?)
    }

    /// As [`Self::check`], and pins the path that was judged. Use the pin instead of the path.
    ///
    /// # Errors
    /// As [`Self::check`], and [`ErrorKind::Unresolved`] if it cannot be pinned: something may have taken its place.
    #[cfg(target_os = "linux")]
    pub fn pin(&self, path: impl AsRef<Path>, capability: Capability) -> Result<Pin, Error> {
        Ok(Pin(self.0.pin(path.as_ref().as_os_str().as_bytes(), capability)?))
    }
}
