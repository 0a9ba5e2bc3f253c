//! The sources that declare grants.

use std::string::{String, ToString as _};
use std::sync::Arc;

use serde::Serialize;

use crate::model::TYPED;
use crate::rule_name::RuleName;

/// Who declared a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        /// A person wrote the profile and named it, so it also applies to tool input.
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
    /// The product itself.
    Product {
        /// The purpose.
        why: String,
    },
}

impl Origin {
    /// Its name in messages, with the place of a rule that is in a file.
    #[must_use]
    pub fn name(&self) -> RuleName {
        let name = RuleName::from(self.to_string());
        match self {
            Self::Rule { layer, line, .. } if !matches!(&**layer, "" | TYPED) => {
                RuleName { file: Some(layer.to_string()), line: *line, ..name }
            }
            _ => name,
        }
    }
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
            Self::Rule { layer, index, path, .. } if layer.is_empty() => {
                write!(f, "rule `{path}` (rule {})", index + 1)
            }
            Self::Rule { layer, index, path, .. } => {
                write!(f, "rule `{path}` ({layer}, rule {})", index + 1)
            }
            Self::Flag { text } => write!(f, "flag {text}"),
            Self::Product { why } => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policies from a program are in no file.
    #[test]
    fn a_rule_is_put_down_to_where_it_is_written() {
        let rule = |layer: &str, line| {
            Origin::Rule { layer: layer.into(), index: 0, line, path: "src".into() }.to_string()
        };
        assert_eq!(rule("p.toml", Some(3)), "rule `src` (p.toml:3)");
        assert_eq!(rule("p.json", None), "rule `src` (p.json, rule 1)");
        assert_eq!(rule("", None), "rule `src` (rule 1)");
    }
}
