//! What advice is made of, and what it comes to.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::Grant;
use jp_confine_policy::commands::CommandRule;
use jp_confine_policy::net::Net;
use jp_confine_policy::tier::Tier;
use jp_confine_policy::tiers::Tiers;

use crate::advice::hosts::Way;
use crate::advice::person::Person;
use crate::advice::programs::Programs;
use crate::advice::rights::Rights;
use crate::config::edit::rule_places::RulePlaces;
use crate::config::edit::user_lists::OwnLists;
use crate::external::mounts::unused::Idle;
use crate::host::invocation::Here;
use crate::network::access::Without;
use crate::plan::unsupervised::Unsupervised;
use crate::record::denials::Denials;

/// How to have a request allowed that was denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// By granting more.
    Grant {
        /// What is to be known of it, or to be done before, in words.
        first: Option<String>,
        /// Options of the command line, the narrowest that do; paths are canonical. None where no option does.
        options: Vec<(&'static str, PathBuf)>,
        /// What does in files; nothing where they cannot.
        written: Written,
        /// What a person is asked about even then, or is to approve for what is written to count.
        question: Option<String>,
    },
    /// By allowing a connection.
    Connection(Way),
    /// By a rule of `access.commands`.
    Command {
        key: String,
        rule: CommandRule,
        /// What it is to replace, for people.
        instead: Option<String>,
    },
    /// By approving where the rules of these paths lead; what that grants beside it these options do not.
    Approve { rules: Vec<String>, options: Vec<(&'static str, PathBuf)> },
    /// By these options, or by what is written, as of [`Self::Grant`], once the patterns that withhold it are gone,
    /// or the rule on the link in question is approved.
    Withheld {
        /// What is to be done before.
        first: First,
        options: Vec<(&'static str, PathBuf)>,
        written: Written,
        /// What is in the way even then.
        question: Option<String>,
    },
    /// Not at all, and why.
    Never(String),
}

/// What is to be done before something else allows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// To take patterns out, in words.
    TakeOut(String),
    /// To approve where the rules of these paths lead.
    Approve(Vec<String>),
}

/// What grants something for good: together it does, and less of it may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Rules of `access.fs`, workspace-relative.
    pub(crate) rules: Vec<(String, Capabilities)>,
    /// Patterns of the user's own, and whose list they belong in, for what lies outside.
    pub(crate) patterns: Vec<(Tier, String)>,
    /// Paths outside that a rule covers, so that no pattern opens them, and what a profile of the user's own
    /// has to grant there.
    pub(crate) entries: Vec<(String, Capabilities)>,
}

/// Who gives advice about the denials of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advisor<'a> {
    /// The policy of the run, in the order that rule numbers count.
    pub(crate) grants: &'a [Grant],
    /// The canonical workspace.
    pub(crate) workspace: &'a Path,
    /// Where the person stands who is advised.
    pub(crate) here: &'a Here,
    pub(crate) tiers: &'a Tiers,
    /// The list of sensitive paths where no rule is declared: it counts as soon as an option grants something, or a
    /// pattern opens it.
    pub(crate) exposed: Option<&'a Tiers>,
    /// Who could be asked.
    pub(crate) person: Person,
    /// When the run began, if there was one.
    pub(crate) began: Option<SystemTime>,
    /// All that the run was refused, and what a person consented to in it, once it has ended.
    pub(crate) denials: Option<&'a Denials>,
    /// What rules would grant if a person approved where they lead.
    pub(crate) unapproved: &'a [Grant],
    /// Links of `--mount` that only lack the option.
    pub(crate) mounts: &'a [Idle],
    /// Why the run had no supervisor, if it had none.
    pub(crate) unsupervised: Unsupervised,
    /// Whether `access.fs` is declared, so that rules can be advised.
    pub(crate) declared: bool,
    /// The rules about hosts.
    pub(crate) net: &'a Net,
    /// What takes the network away from the run, if anything does.
    pub(crate) without_network: Option<Without>,
    /// The programs that may be started, unless all may.
    pub(crate) programs: Option<Programs<'a>>,
    /// Where rules would be added.
    pub(crate) rule_places: &'a RulePlaces,
    /// Where patterns of the user's own belong.
    pub(crate) own_lists: &'a OwnLists,
    /// What the system lets the user do.
    pub(crate) rights: Rights,
}
