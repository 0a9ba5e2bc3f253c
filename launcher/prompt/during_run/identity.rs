//! Who asks, and which file is asked about.

use std::os::unix::fs::MetadataExt as _;

use rustix::fs::Stat;

use crate::sys::path::path_of;

/// A file, told from others at its path: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    /// That of what is at a path, be it a link.
    pub(crate) fn at(path: &[u8]) -> Option<Self> {
        let found = path_of(path).symlink_metadata().ok()?;
        Some(Self(found.dev(), found.ino()))
    }
}

impl From<&Stat> for Identity {
    fn from(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

/// On whose behalf it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    /// Of a call that waits for it.
    Call,
    /// Of the preload library, which makes the call afterwards.
    Library,
}
