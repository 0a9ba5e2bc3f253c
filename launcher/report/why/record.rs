//! Defines the record of the last run: a line for the run, and one for each denial with its suggestion.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use jp_confine_engine::rule_name::RuleName;
use serde::{Deserialize, Serialize};

use crate::config::edit::change::Change;
use crate::record::event::{LayerName, ReasonCode};
use crate::report::why::missing_variables::Missed;
use crate::report::why::relocated::RelocatedMount;
use crate::text::quote;

/// Limit on the denials that are stored. More would not help anybody.
pub(crate) const MOST: usize = 200;

/// The run: the first line of the file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunHead {
    /// The workspace of the run.
    #[serde(default)]
    pub(crate) workspace: String,
    /// The directory of the run. Relative file names start there.
    #[serde(default)]
    pub(crate) directory: Option<String>,
    /// The typed command, each part as a word for a shell.
    pub(crate) command: Vec<String>,
    pub(crate) status: u8,
    pub(crate) denials: u64,
    /// The end of the run, in seconds since the epoch.
    #[serde(default)]
    pub(crate) ended: u64,
    #[serde(default)]
    pub(crate) together: Vec<Together>,
    /// The remark on denials that the record lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    /// Variables that the program may have needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) withheld: Vec<Missed>,
}

/// Denials in one directory, and the suggestion that allows all of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Together {
    /// The number of its denials.
    pub(crate) number: usize,
    pub(crate) directory: String,
    pub(crate) paths: usize,
    /// Options, as words for a shell.
    pub(crate) options: String,
    /// The changes of files that allow all of them.
    pub(crate) changes: Vec<Change>,
}

/// How much a denial matters to the person who started the run. Those that matter most come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Weight {
    /// It may be why the program failed.
    #[default]
    Denied,
    /// An existing name looked absent.
    LookedAbsent,
    /// The program did not need it, or the system would have denied it, too.
    Idle,
}

/// A denial, as it is stored and as `--json` prints it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ExplainedDenial {
    /// The number by which `allow` is told of it. Denials that are allowed together have the same.
    #[serde(default)]
    pub(crate) number: usize,
    #[serde(default)]
    pub(crate) weight: Weight,
    /// The denied rights, or the call if no rule decided.
    pub(crate) denied: String,
    pub(crate) capability: Vec<String>,
    pub(crate) path: String,
    pub(crate) route: String,
    /// The arguments of a program that was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Vec<String>>,
    /// The other path of a call that names two.
    #[serde(default)]
    pub(crate) other: Option<String>,
    /// The rights also denied there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_capability: Vec<String>,
    pub(crate) program: String,
    pub(crate) call: String,
    pub(crate) times: u64,
    pub(crate) reason: ReasonCode,
    /// The rule or pattern that decided.
    pub(crate) rule: Option<RuleName>,
    /// What the request would have changed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remark: Option<String>,
    pub(crate) layer: LayerName,
    /// The name looked absent.
    pub(crate) hidden: bool,
    /// The list of sensitive paths has it.
    #[serde(default)]
    pub(crate) sensitive: bool,
    /// A remark, or a step that has to come first, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<String>,
    /// Options that allow it, as words for a shell.
    pub(crate) options: Option<String>,
    /// The mount that allows it, in place of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mount: Option<RelocatedMount>,
    /// The value to type for another port than the scheme's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) other_port: Option<String>,
    /// The rules whose targets have to be approved. The approval comes first if there are further steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unapproved: Vec<String>,
    /// The same as a command, for the current directory.
    #[serde(default)]
    pub(crate) approve: Option<String>,
    /// The changes of files that allow it.
    #[serde(default)]
    pub(crate) changes: Vec<Change>,
    /// The rights that rules among these changes grant on paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) grants: BTreeMap<String, Vec<String>>,
    /// The prompt that remains once it is granted, or the approval without which the files do not count.
    #[serde(default)]
    pub(crate) question: Option<String>,
    /// Why nothing allows it, or not yet.
    pub(crate) never: Option<String>,
    /// Options that allow it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<String>,
    /// The message that a tool got, with its suggestion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A typed command line, as words for a shell.
pub(crate) fn command(name: &OsStr, arguments: &[OsString]) -> Vec<String> {
    let words = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str));
    words.map(|word| quote::quoted(word.as_bytes())).collect()
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
