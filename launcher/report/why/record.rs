//! What the file of the last run keeps: how it began, and each denial with what there is to say of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::advice::user_additions::Addition;
use crate::report::why::missing_variables::Missed;
use crate::report::why::relocated::Mounted;
use crate::text::quote;

/// More is not useful to anybody.
pub(crate) const MOST: usize = 200;

/// The run, the first line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Whose run it was.
    #[serde(default)]
    pub(crate) workspace: String,
    /// In which directory; relative names of files are as seen from there.
    #[serde(default)]
    pub(crate) directory: Option<String>,
    /// What was typed, each a word for a shell.
    pub(crate) command: Vec<String>,
    pub(crate) status: u8,
    pub(crate) denials: u64,
    /// When it had ended, in seconds of the epoch.
    #[serde(default)]
    pub(crate) ended: u64,
    #[serde(default)]
    pub(crate) together: Vec<Together>,
    /// What the record lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap: Option<String>,
    /// Variables that it may have missed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) withheld: Vec<Missed>,
}

/// Rules that allow something, and where they belong.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rules {
    /// As the policy file has them: in JSON where it is JSON.
    pub(crate) toml: Option<String>,
    /// The file that they are for.
    pub(crate) file: Option<String>,
    /// The list in it that they are to be put into, where they do not bring the header of their table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) list: Option<String>,
    /// Whether that is to be begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) new_list: bool,
    /// The line of the rule in it that they are to come after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<u32>,
    /// The rule that they are to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<String>,
    /// The capabilities that they grant on paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) grants: BTreeMap<String, Vec<String>>,
}

/// Denials in one directory, and what allows all of them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Together {
    pub(crate) directory: String,
    pub(crate) paths: usize,
    /// Options, as words for a shell.
    pub(crate) options: String,
    #[serde(flatten)]
    pub(crate) rules: Rules,
    /// Patterns and profiles for files of the user's own.
    #[serde(default)]
    pub(crate) patterns: Vec<Addition>,
}

/// A denial, as it is kept and as `--json` prints it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Explained {
    /// Capabilities, or the call where no rule decided.
    pub(crate) denied: String,
    pub(crate) capability: Vec<String>,
    pub(crate) path: String,
    pub(crate) route: String,
    /// What a refused program was to be given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Vec<String>>,
    /// The other path of a call that names two.
    #[serde(default)]
    pub(crate) other: Option<String>,
    /// What was refused there, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) other_capability: Vec<String>,
    pub(crate) program: String,
    pub(crate) call: String,
    pub(crate) times: u64,
    pub(crate) reason: String,
    /// What decided.
    pub(crate) rule: Option<String>,
    pub(crate) layer: String,
    /// The name looked absent.
    pub(crate) hidden: bool,
    /// What is to be known of that, or to be done before, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<String>,
    /// Options that allow it, as words for a shell.
    pub(crate) options: Option<String>,
    /// The mount by which it is allowed, in place of options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mount: Option<Mounted>,
    /// What to type instead for a port that is not told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) other_port: Option<String>,
    /// The rules whose targets are to be approved: before anything else, if something else is said of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unapproved: Vec<String>,
    /// The same as a command, for who reads it.
    #[serde(default)]
    pub(crate) approve: Option<String>,
    #[serde(flatten)]
    pub(crate) rules: Rules,
    /// Patterns and profiles for files of the user's own, which allow it together with these rules.
    #[serde(default)]
    pub(crate) patterns: Vec<Addition>,
    /// What a person is asked about once it is granted, or is to approve for what is written to count.
    #[serde(default)]
    pub(crate) question: Option<String>,
    /// Why nothing allows it, or not yet.
    pub(crate) never: Option<String>,
    /// Options that allow it afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) then: Option<String>,
    /// What a tool was told, with the way out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A line that was typed, as words for a shell.
pub(crate) fn command(name: &OsStr, arguments: &[OsString]) -> Vec<String> {
    let words = std::iter::once(name).chain(arguments.iter().map(OsString::as_os_str));
    words.map(|word| quote::quoted(word.as_bytes())).collect()
}

/// In seconds of the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
