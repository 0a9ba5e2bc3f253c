//! The data that suggestions are built from, and the suggestions themselves.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_engine::Capabilities;
use jp_confine_engine::build::Grant;
use jp_confine_engine::commands::CommandRule;
use jp_confine_engine::image::Image;
use jp_confine_engine::net::Net;
use jp_confine_engine::tier::Tier;
use jp_confine_engine::tiers::Tiers;
use rustix::fs::Access;
use rustix::io::Errno;

use crate::advice::hosts::Way;
use crate::advice::person::Person;
use crate::advice::programs::Programs;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::external::mounts::unused::Idle;
use crate::host::invocation::CommandHint;
use crate::network::access::DisabledBy;
use crate::plan::unsupervised::Unsupervised;
use crate::record::denials::Denials;

/// The user's own access to a place, as the system reports it.
pub(crate) type Rights = fn(&Path, Access) -> Result<(), Errno>;

/// A suggestion: how to allow a denied request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// By granting more.
    Grant {
        /// A remark, or a step that has to come first, in words.
        first: Option<String>,
        /// The narrowest command-line options that suffice, with canonical paths. Empty if no option suffices.
        options: Vec<(&'static str, PathBuf)>,
        /// The additions to files that suffice. Empty if files cannot allow it.
        written: Written,
        /// The prompt that remains even then, or the approval without which the written part does not count.
        question: Option<String>,
    },
    /// By allowing a connection.
    Connection(Way),
    /// By a rule of `access.commands`.
    Command {
        key: String,
        rule: CommandRule,
        /// Whether it replaces a rule on that key.
        replaces: bool,
    },
    /// By approving the targets of the rules on these paths. The options grant only what is needed, if the rules grant
    /// more.
    Approve { rules: Vec<String>, options: Vec<(&'static str, PathBuf)> },
    /// By these options, or by the written part, as in [`Self::Grant`]. First the patterns that withhold it have to be
    /// removed, or the rule on the link in question approved.
    Withheld {
        /// The first step.
        first: First,
        options: Vec<(&'static str, PathBuf)>,
        written: Written,
        /// The prompt that remains even then.
        question: Option<String>,
    },
    /// Nothing allows it, for this reason.
    Never(String),
}

/// The step that has to come before something else allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Remove patterns, in words.
    TakeOut(String),
    /// Approve the targets of the rules on these paths.
    Approve(Vec<String>),
}

/// The additions to files that allow something permanently. All of them together suffice; fewer may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Rules of `access.fs`, workspace-relative.
    pub(crate) rules: Vec<(String, Capabilities)>,
    /// The user's own patterns, each with the list that it belongs in, for places outside the workspace.
    pub(crate) patterns: Vec<(Tier, String)>,
    /// Paths outside the workspace that a rule covers, so that no pattern opens them. With each, the rights that a
    /// profile of the user's own has to grant there.
    pub(crate) entries: Vec<(String, Capabilities)>,
}

/// Makes suggestions for the denials of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advisor<'a> {
    /// The policy of the run, in the order that rule numbers count.
    pub(crate) grants: &'a [Grant],
    /// The image of that policy, whose views give names to paths.
    pub(crate) image: Option<&'a Image<'a>>,
    /// The canonical workspace.
    pub(crate) workspace: &'a Path,
    /// The directory of the person who reads the suggestions.
    pub(crate) here: &'a CommandHint,
    pub(crate) tiers: &'a Tiers,
    /// The list of sensitive paths, if no rule is declared. It counts as soon as an option grants something, or a
    /// pattern opens it.
    pub(crate) exposed: Option<&'a Tiers>,
    /// Whether a person could be prompted.
    pub(crate) person: Person,
    /// When the run began, if there was one.
    pub(crate) began: Option<SystemTime>,
    /// All denials of the run and the answers of a person in it, once it has ended.
    pub(crate) denials: Option<&'a Denials>,
    /// The grants of rules whose targets nobody has approved.
    pub(crate) unapproved: &'a [Grant],
    /// Links of `--mount` that work again with the option.
    pub(crate) mounts: &'a [Idle],
    /// Why the run had no supervisor, if it had none.
    pub(crate) unsupervised: Unsupervised,
    /// Whether `access.fs` is declared, so that rules can be suggested.
    pub(crate) declared: bool,
    /// The rules about hosts.
    pub(crate) net: &'a Net,
    /// The reason why the run has no network, if it has none.
    pub(crate) without_network: Option<DisabledBy>,
    /// The programs that may be started, unless all may.
    pub(crate) programs: Option<Programs<'a>>,
    /// Where rules would be added.
    pub(crate) rule_places: &'a RulePlaces,
    /// Where patterns of the user's own belong.
    pub(crate) own_lists: &'a OwnLists,
    /// The user's own permissions on the system.
    pub(crate) rights: Rights,
}
