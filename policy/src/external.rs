//! Where an external rule leads now, and whether a person approved that (spec §6.1, §8.2).

use std::path::PathBuf;

use camino::Utf8Path;

use crate::approvals::{Approval, Approvals};
use crate::canonical::{Lookups, Op, ResolveError, Root};

/// What becomes of a rule with `external = true`. Targets are absolute and canonical.
#[derive(Debug)]
pub enum External {
    /// It leads where a person approved.
    Approved {
        /// The approved target.
        target: PathBuf,
    },
    /// It leads elsewhere than a person approved.
    Retargeted {
        /// The approved target.
        previous: PathBuf,
        /// Where it leads now.
        target: PathBuf,
    },
    /// Nobody approved a target for it.
    Unapproved {
        /// Where it leads.
        target: PathBuf,
    },
    /// What it leads to does not exist.
    Missing {
        /// Where that would be.
        target: PathBuf,
    },
    /// It stays inside the workspace, where `external = true` says nothing.
    Inside {
        /// Where it leads.
        target: PathBuf,
    },
    /// It cannot be said where it leads.
    Unresolvable(ResolveError),
}

impl External {
    /// Looks where `rule_path`, workspace-relative and in normal form (spec §3), leads from `root`, and what
    /// is known about that.
    #[must_use]
    pub fn look(
        root: &Root,
        lookups: &mut Lookups,
        rule_path: &Utf8Path,
        approvals: &dyn Approvals,
    ) -> Self {
        let resolved = match lookups.resolve(root, rule_path.as_std_path(), Op::Content) {
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
