//! What a question asks for.

use jp_confine_policy::Capabilities;

use crate::prompt::during_run::identity::Identity;

/// What somebody wants to do at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Canonical path.
    pub(crate) path: Vec<u8>,
    /// The same as people see it: relative to the workspace where it is in it.
    pub(crate) shown: Vec<u8>,
    /// What is granted only with consent.
    pub(crate) wanted: Capabilities,
    /// What is there, where that is looked for once more after the answer.
    pub(crate) file: Option<Identity>,
}

impl Wish {
    /// Whether consent to this is consent to the other.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.path == other.path && self.wanted.contains(other.wanted)
    }
}
