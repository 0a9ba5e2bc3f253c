//! Defines the result of learning, which the writers of `learn` use.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use crate::cli::Options;
use crate::host::context::Context;
use crate::launch::outcome::Ran;
use crate::learn::exclusions::Shut;
use crate::learn::external_use::Outside;
use crate::learn::hosts::Hosts;
use crate::learn::kept_policy::Carried;
use crate::learn::tree::LearnedRule;
use crate::learn::usage_counts::Tally;
use crate::record::usage::{Use, Uses};

/// The result of learning.
#[derive(Debug)]
pub(crate) struct Learned<'a> {
    /// The program, and its arguments.
    pub(crate) command: Vec<&'a OsStr>,
    pub(crate) ran: &'a Ran,
    pub(crate) uses: &'a Uses,
    /// The policy, sorted by path.
    pub(crate) rules: Vec<LearnedRule>,
    /// The uses of each rule.
    pub(crate) tallies: Vec<Tally>,
    /// The uses outside of the workspace that not every program is granted.
    pub(crate) outside: Outside,
    /// The hosts that it connected to.
    pub(crate) hosts: Hosts,
    /// The other parts of the workspace's policy file.
    pub(crate) carried: Carried,
    /// Uses that the rules do not allow.
    pub(crate) refused: Vec<&'a Use>,
    /// Directories with too many entries for rules of their own, and how many of these were not used.
    pub(crate) crowds: BTreeMap<Vec<u8>, usize>,
    /// Entries that were to be deleted or moved, but stayed. No rule is for that.
    pub(crate) kept: BTreeSet<Vec<u8>>,
    /// Auto-run files that were changed. No rule is for that.
    pub(crate) autorun: BTreeSet<Vec<u8>>,
    /// Directories that no rule opens, whatever was used in them.
    pub(crate) shut: Shut,
    /// Directories granted by the rules that were not searched for secrets.
    pub(crate) unsearched: BTreeSet<Vec<u8>>,
    /// Directories not granted by them that were not searched: symlinks in these are unknown.
    pub(crate) unseen: BTreeSet<Vec<u8>>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) options: &'a Options,
    pub(crate) context: &'a Context,
}
