//! A question for each capability, as RFD 076 has them: the path to use, or why not.

use camino::{Utf8Path, Utf8PathBuf};

use super::{Context, FsAccessError, Reason, Verdict};
use crate::capability::Capability;

impl Context<'_> {
    /// Whether the file may be read or the directory listed.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_read(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Read)
    }

    /// Whether the entry may be created.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_create(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Create)
    }

    /// Whether what exists there may be changed.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_update(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Update)
    }

    /// Whether the entry may be removed; a final link is the entry, not what it leads to.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
    pub fn check_delete(&self, input: &Utf8Path) -> Result<Utf8PathBuf, FsAccessError> {
        self.check_utf8(input, Capability::Delete)
    }

    /// Whether the file may be run as a program.
    ///
    /// # Errors
    /// Where it may not; otherwise the canonical path to use.
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
            (Verdict::Allow, Some(Ok(path))) => Ok(path),
            (Verdict::Allow, _) => {
                Err(FsAccessError::new(result.concluded(Err(Reason::ResolutionFailed))))
            }
            _ => Err(FsAccessError::new(result)),
        }
    }
}
