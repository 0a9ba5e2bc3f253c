//! The result of `compile`: an image, and everything learned on the way.

use std::path::PathBuf;
use std::rc::Rc;

use jp_confine_engine::build::{Grant, View};
use jp_confine_engine::canonical::Root;
use jp_confine_engine::commands::Listed;
use jp_confine_engine::model::CompiledRule;
use jp_confine_engine::resources::{Resources, Written};
use jp_confine_engine::tiers::Tiers;

use crate::compile::caches::Caches;
use crate::compile::external_rules::Made;
use crate::compile::network;
use crate::compile::second_mounts::Unusual;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::config::environment::Environment;
use crate::config::tiers::AddedPatterns;
use crate::error::source::Source;
use crate::external::mounts::unused::Idle;
use crate::host::invocation::CommandHint;

/// A compiled policy.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) root: Root,
    /// The working directory of the person who typed the command, to phrase suggestions.
    pub(crate) here: CommandHint,
    /// In the order in which rules are numbered.
    pub(crate) grants: Vec<Grant>,
    /// The grants of rules with unapproved targets.
    pub(crate) unapproved: Vec<Grant>,
    /// Mounts that no rule of this run uses.
    pub(crate) mounts: Vec<Idle>,
    /// Whether `access.fs` is declared.
    pub(crate) declared: bool,
    pub(crate) image: Vec<u8>,
    /// The views of the image.
    pub(crate) views: Vec<View>,
    pub(crate) caches: Caches,
    pub(crate) tiers: Tiers,
    /// Patterns that policy files add to the built-in lists.
    pub(crate) added: AddedPatterns,
    /// The places for new rules.
    pub(crate) rule_places: RulePlaces,
    /// Canonical paths on which file rules grant nothing. They do not hold, because rules are being learned.
    pub(crate) set_aside: Vec<PathBuf>,
    /// The workspace's own policy file, if it has one.
    pub(crate) workspace_file: Option<Rc<Source>>,
    /// The place for the user's own patterns.
    pub(crate) own_lists: OwnLists,
    /// Sensitive paths that all programs may use, because nothing is declared.
    pub(crate) exposed: Option<Tiers>,
    pub(crate) rules: Vec<CompiledRule>,
    /// The policy for hosts, variables and programs, and the text it was written as.
    pub(crate) resources: Resources,
    /// The network access of a run.
    pub(crate) network: network::access::NetworkAccess,
    pub(crate) written: Written,
    /// The program's environment.
    pub(crate) environment: Environment,
    /// The programs that may start, or `None` for all.
    pub(crate) commands: Option<Vec<Listed>>,
    /// The program's directory for temporary files, if this run alone has it.
    pub(crate) private_temp: Option<PathBuf>,
    pub(crate) warnings: Vec<String>,
    /// Changes that are undone if nothing runs.
    pub(crate) made: Option<Made>,
    /// The names of the picked profiles.
    pub(crate) profiles: Vec<String>,
    /// The kernel's own file systems and devices at unusual places.
    pub(crate) unusual: Unusual,
}
