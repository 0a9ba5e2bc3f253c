//! Checks for each capability, as in RFD 076: they return the path to use, or the reason for a denial.

use camino::{Utf8Path, Utf8PathBuf};

use super::{CheckVerdict, Context, FsAccessError, Reason};
use crate::capability::Capability;

impl Context<'_> {
    /// Whether the file may be read or the directory listed. Returns the canonical path to use.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn check_read(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Read)
    }

    /// Whether the entry may be created. Returns the canonical path to use.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn check_create(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Create)
    }

    /// Whether the existing file may be changed. Returns the canonical path to use.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn check_update(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Update)
    }

    /// Whether the entry may be removed. A final symlink is the entry, not its target. Returns the canonical path to
    /// use.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn check_delete(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Delete)
    }

    /// Whether the file may be run as a program. Returns the canonical path to use.
    ///
    /// # Errors
    /// [`FsAccessError`] if the policy denies it.
    pub fn check_execute(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Execute)
    }

    fn check_utf8(
        &self,
        input: &Utf8Path,
        capability: Capability,
    ) -> Result<Utf8PathBuf, FsAccessError> {
        let result = self.check(input.as_str().as_bytes(), capability).in_utf8();
        let path = result.resolved.clone().map(Utf8PathBuf::from_path_buf);
        match (result.verdict, path) {
            (CheckVerdict::Allow, Some(Ok(path))) => Ok(path),
            (CheckVerdict::Allow, _) => {
                Err(FsAccessError::new(result.concluded(Err(Reason::ResolutionFailed))))
            }
            _ => Err(FsAccessError::new(result)),
        }
    }
}
