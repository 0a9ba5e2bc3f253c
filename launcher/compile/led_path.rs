//! A grant whose path leads through a symlink.

use std::path::{Path, PathBuf};

use jp_confine_engine::build::Grant;
use jp_confine_engine::canonical::{self, Op};

use crate::config::written_view::WrittenView;

/// A grant whose anchor is not the path that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Led {
    /// The grant, on its canonical anchor.
    pub(crate) grant: Grant,
    /// The absolute path as written.
    pub(crate) spelled: PathBuf,
    /// The view that it is for, with canonical paths.
    pub(crate) view: Option<WrittenView>,
}

impl Led {
    /// The symlinks on the way. If they are unknown, the whole path.
    pub(crate) fn links(&self) -> Vec<PathBuf> {
        match canonical::resolve(Path::new("/"), &self.spelled, Op::Content) {
            Ok(found) => found.steps.into_iter().map(|step| step.link).collect(),
            Err(_) => vec![self.spelled.clone()],
        }
    }

    /// The path of the last name, with its parents resolved.
    pub(crate) fn place(&self) -> Option<PathBuf> {
        let parent = canonical::resolve(Path::new("/"), self.spelled.parent()?, Op::Content);
        Some(parent.ok()?.path.join(self.spelled.file_name()?))
    }
}
