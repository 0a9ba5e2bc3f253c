//! What `compile` comes to: an image, and what was learned on the way.

use std::path::PathBuf;
use std::rc::Rc;

use jp_confine_policy::build::Grant;
use jp_confine_policy::canonical::Root;
use jp_confine_policy::commands::Listed;
use jp_confine_policy::model::CompiledRule;
use jp_confine_policy::resources::{Resources, Written};
use jp_confine_policy::tiers::Tiers;

use crate::compile::external_rules::Made;
use crate::compile::network;
use crate::compile::second_mounts::Unusual;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::config::environment::Environment;
use crate::error::source::Source;
use crate::external::mounts::unused::Idle;
use crate::host::invocation::Here;

/// A compiled policy.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) root: Root,
    /// Where the person stands who typed the command.
    pub(crate) here: Here,
    /// In the order that rule numbers count.
    pub(crate) grants: Vec<Grant>,
    /// What rules would grant if a person approved where they lead.
    pub(crate) unapproved: Vec<Grant>,
    /// What was mounted for other runs.
    pub(crate) mounts: Vec<Idle>,
    /// Whether `access.fs` is declared.
    pub(crate) declared: bool,
    pub(crate) image: Vec<u8>,
    pub(crate) tiers: Tiers,
    /// Where a rule would be added.
    pub(crate) rule_places: RulePlaces,
    /// What rules of files grant nothing on, canonical, where they do not hold because rules are learned.
    pub(crate) set_aside: Vec<PathBuf>,
    /// The policy file of the workspace itself, if it has one.
    pub(crate) workspace_file: Option<Rc<Source>>,
    /// Where the user's own patterns belong.
    pub(crate) own_lists: OwnLists,
    /// What is sensitive and yet free to all programs, because nothing is declared.
    pub(crate) exposed: Option<Tiers>,
    pub(crate) rules: Vec<CompiledRule>,
    /// What the policy says of hosts, variables and programs, and how that was written.
    pub(crate) resources: Resources,
    /// What a run has of the network.
    pub(crate) network: network::access::Order,
    pub(crate) written: Written,
    /// What the program starts with.
    pub(crate) environment: Environment,
    /// The programs that may be started, unless all may.
    pub(crate) commands: Option<Vec<Listed>>,
    /// The program's directory for temporary files, if it is this run's alone.
    pub(crate) private_temp: Option<PathBuf>,
    pub(crate) warnings: Vec<String>,
    /// What is taken back if nothing runs.
    pub(crate) made: Option<Made>,
    /// Names of the profiles that were picked.
    pub(crate) profiles: Vec<String>,
    /// The kernel's own file systems and devices at unusual places.
    pub(crate) unusual: Unusual,
}
