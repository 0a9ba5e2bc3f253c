//! Which external targets a person approved, as compilation needs to know it (spec §8).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::string::String;

/// What is known about an external rule and the target it leads to now (spec §8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// This target was approved for this rule.
    Approved,
    /// Another target was.
    Retargeted {
        /// The approved one, absolute and canonical.
        previous: PathBuf,
    },
    /// None was.
    Unknown,
}

/// Who knows which external targets a person approved.
pub trait Approvals {
    /// Looks up `rule_path`, workspace-relative and normalised, against its present `target`,
    /// absolute and canonical; both are compared exactly.
    fn lookup(&self, rule_path: &str, target: &Path) -> Approval;
}

/// Approvals held in memory: at most one target for each rule path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovedTargets(BTreeMap<String, PathBuf>);

impl ApprovedTargets {
    /// Approves `target`, absolute and canonical, for `rule_path`, replacing what was approved.
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
