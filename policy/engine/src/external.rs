//! Finds where an external rule leads now, and whether a person approved that (spec §6.1, §8.2).

use std::path::PathBuf;

use camino::Utf8Path;

use crate::approvals::{Approval, Approvals};
use crate::canonical::{Op, ResolveError, Root};

/// The state of a rule with `external = true`. Targets are absolute and canonical.
#[derive(Debug)]
pub enum External {
    /// A person approved its target.
    Approved {
        /// The approved target.
        target: PathBuf,
    },
    /// It leads to another target than the one that a person approved.
    Retargeted {
        /// The approved target.
        previous: PathBuf,
        /// The present target.
        target: PathBuf,
    },
    /// Nobody approved a target for it.
    Unapproved {
        /// The present target.
        target: PathBuf,
    },
    /// The target does not exist.
    Missing {
        /// The path that the target would have.
        target: PathBuf,
    },
    /// It stays inside the workspace, where `external = true` means nothing.
    Inside {
        /// The present target.
        target: PathBuf,
    },
    /// It cannot be resolved.
    Unresolvable(ResolveError),
}

impl External {
    /// Resolves `rule_path` from `root` and looks up its approval. `rule_path` is workspace-relative and in normal form
    /// (spec §3).
    #[must_use]
    pub fn look(root: &Root, rule_path: &Utf8Path, approvals: &dyn Approvals) -> Self {
        let resolved = match root.resolve(rule_path.as_std_path(), Op::Content) {
            Ok(resolved) => resolved,
            Err(error) => return Self::Unresolvable(error),
        };
        let target = resolved.path;
        if !resolved.exists {
            return Self::Missing { target };
        }
        if root.contains(&target) {
            return Self::Inside { target };
        }
        match approvals.lookup(rule_path.as_str(), &target) {
            Approval::Approved => Self::Approved { target },
            Approval::Retargeted { previous } => Self::Retargeted { previous, target },
            Approval::Unknown => Self::Unapproved { target },
        }
    }
}
