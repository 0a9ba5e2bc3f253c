//! Describes the access that a prompt asks for.

use jp_confine_engine::Capabilities;

use crate::prompt::during_run::identity::FileIdentity;

/// The rights wanted at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Canonical path.
    pub(crate) path: Vec<u8>,
    /// The path as people see it: through views, and relative to the workspace if inside it.
    pub(crate) shown: Vec<u8>,
    /// Where a view shows it from, if one does.
    pub(crate) backing: Option<Vec<u8>>,
    /// The rights that need consent.
    pub(crate) wanted: Capabilities,
    /// The file there, if it is looked up once more after the answer.
    pub(crate) file: Option<FileIdentity>,
}

impl Wish {
    /// Whether consent to this includes consent to the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.path == other.path && self.wanted.contains(other.wanted)
    }
}
