//! Identifies the file that a prompt is about, and what kind of caller asks.

use std::os::unix::fs::MetadataExt as _;

use rustix::fs::Stat;

use crate::sys::path::path_of;

/// A file's device and inode, which tell it from others at its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// The identity of the object at a path. A symlink is not followed.
    pub(crate) fn at(path: &[u8]) -> Option<Self> {
        let found = path_of(path).symlink_metadata().ok()?;
        Some(Self(found.dev(), found.ino()))
    }
}

impl From<&Stat> for FileIdentity {
    fn from(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

/// The kind of caller that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptedCaller {
    /// A call that waits for the answer.
    Call,
    /// The preload library, which makes the call after the answer.
    Library,
}
