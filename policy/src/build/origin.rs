//! Who declared a grant.

use std::string::String;
use std::sync::Arc;

use serde::Serialize;

/// Who declared a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    /// The runtime baseline.
    Baseline {
        /// The entry as the baseline spells it.
        entry: String,
    },
    /// A tool profile.
    Profile {
        /// The profile.
        name: String,
        /// The entry as the profile spells it.
        entry: String,
        /// A person wrote the profile, and named it: then it is meant for tool input, too.
        named: bool,
    },
    /// A file that was open when the run began.
    Inherited {
        /// Its descriptor.
        fd: i32,
    },
    /// A rule of a policy file.
    Rule {
        /// The file, or another name of the configuration layer.
        layer: Arc<str>,
        /// Its place in that layer's list, from zero.
        index: usize,
        /// Its line in the file, from one.
        line: Option<u32>,
        /// Its path as written.
        path: String,
    },
    /// A command line flag.
    Flag {
        /// The flag with its value.
        text: String,
    },
    /// The product's own.
    Product {
        /// What for.
        why: String,
    },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Baseline { entry } => write!(f, "baseline {entry}"),
            Self::Profile { name, entry, .. } => write!(f, "profile {name}: {entry}"),
            Self::Inherited { fd } => write!(f, "inherited descriptor {fd}"),
            Self::Rule { layer, line: Some(line), path, .. } => {
                write!(f, "rule `{path}` ({layer}:{line})")
            }
            Self::Rule { layer, index, path, .. } => {
                write!(f, "rule `{path}` ({layer}, rule {})", index + 1)
            }
            Self::Flag { text } => write!(f, "flag {text}"),
            Self::Product { why } => f.write_str(why),
        }
    }
}
