//! What a run needed, as `learn` writes it down.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use crate::cli::Options;
use crate::host::context::Context;
use crate::launch::outcome::Ran;
use crate::learn::exclusions::Shut;
use crate::learn::external_use::Outside;
use crate::learn::hosts::Hosts;
use crate::learn::kept_policy::Carried;
use crate::learn::tree::Rule;
use crate::learn::usage_counts::Tally;
use crate::record::usage::{Use, Uses};

/// What was learned.
#[derive(Debug)]
pub(crate) struct Learned<'a> {
    /// The program, and its arguments.
    pub(crate) command: Vec<&'a OsStr>,
    pub(crate) ran: &'a Ran,
    pub(crate) uses: &'a Uses,
    /// The policy, sorted by path.
    pub(crate) rules: Vec<Rule>,
    /// What each rule was used for.
    pub(crate) tallies: Vec<Tally>,
    /// What was used outside of the workspace that is not granted to everything.
    pub(crate) outside: Outside,
    /// Where it connected to.
    pub(crate) hosts: Hosts,
    /// What the workspace's file says beside.
    pub(crate) carried: Carried,
    /// Uses that the rules do not allow.
    pub(crate) refused: Vec<&'a Use>,
    /// Directories with more than can have rules of their own, and how much of that was not used.
    pub(crate) crowds: BTreeMap<Vec<u8>, usize>,
    /// What was to be removed or moved, and stayed: no rule is for that.
    pub(crate) kept: BTreeSet<Vec<u8>>,
    /// Auto-run files that were changed: no rule is for that.
    pub(crate) autorun: BTreeSet<Vec<u8>>,
    /// Directories that no rule opens, whatever was used in them.
    pub(crate) shut: Shut,
    /// Directories among what the rules grant that were not searched for secrets.
    pub(crate) unsearched: BTreeSet<Vec<u8>>,
    /// The same of what they do not grant: links in these were not seen.
    pub(crate) unseen: BTreeSet<Vec<u8>>,
    pub(crate) tool: Option<&'a str>,
    pub(crate) options: &'a Options,
    pub(crate) context: &'a Context,
}
