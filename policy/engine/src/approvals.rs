//! Which external targets a person approved. Compilation reads it (spec §8).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::string::String;

/// The approval of an external rule, compared with the target it leads to now (spec §8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// This target was approved for this rule.
    Approved,
    /// Another target was approved for this rule.
    Retargeted {
        /// The approved target, absolute and canonical.
        previous: PathBuf,
    },
    /// No target was approved for this rule.
    Unknown,
}

/// Knows which external targets a person approved.
pub trait Approvals {
    /// Looks up `rule_path` against its present `target`, and compares both exactly. `rule_path` is workspace-relative
    /// and normalised, `target` is absolute and canonical.
    fn lookup(&self, rule_path: &str, target: &Path) -> Approval;
}

/// Approvals held in memory: at most one target for each rule path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovedTargets(BTreeMap<String, PathBuf>);

impl ApprovedTargets {
    /// Approves `target`, absolute and canonical, for `rule_path`, and replaces an earlier approval.
    pub fn approve(&mut self, rule_path: impl Into<String>, target: impl Into<PathBuf>) {
        self.0.insert(rule_path.into(), target.into());
    }
}

impl Approvals for ApprovedTargets {
    fn lookup(&self, rule_path: &str, target: &Path) -> Approval {
        match self.0.get(rule_path) {
            None => Approval::Unknown,
            Some(approved) if approved == target => Approval::Approved,
            Some(approved) => Approval::Retargeted { previous: approved.clone() },
        }
    }
}
