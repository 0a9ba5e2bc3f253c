//! A grant that stands where a symlink leads.

use std::path::{Path, PathBuf};

use jp_confine_policy::build::Grant;
use jp_confine_policy::canonical::{self, Op};

/// A grant that stands elsewhere than its path is spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Led {
    /// What it grants, on its canonical anchor.
    pub(crate) grant: Grant,
    /// The absolute path as it is written.
    pub(crate) spelled: PathBuf,
}

impl Led {
    /// The links on the way; the whole of it where that cannot be told.
    pub(crate) fn links(&self) -> Vec<PathBuf> {
        match canonical::resolve(Path::new("/"), &self.spelled, Op::Content) {
            Ok(found) => found.steps.into_iter().map(|step| step.link).collect(),
            Err(_) => vec![self.spelled.clone()],
        }
    }

    /// Where the last name of its spelling stands.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let parent = canonical::resolve(Path::new("/"), self.spelled.parent()?, Op::Content);
        Some(parent.ok()?.path.join(self.spelled.file_name()?))
    }
}
