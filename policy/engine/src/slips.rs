//! Finds rules that are valid but look like mistakes (spec §6.1). Used by `compile`.

use std::borrow::ToOwned as _;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use crate::Capabilities;
use crate::model::{FsRule, RuleSource};

/// A likely mistake in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slip {
    /// Its path begins with `~`, which does not stand for a home in a rule.
    Home,
    /// Its path has the form of a pattern, and nothing has that name.
    Pattern,
    /// Nothing has the name of its path, and the rule does not allow creating it.
    Missing,
    /// An earlier rule of the same file is on the same path.
    Repeated {
        /// The line of the earlier rule, from 1.
        line: Option<u32>,
    },
}

impl fmt::Display for Slip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Home => out.write_str(
                "is a directory called `~` in the workspace; to grant something in the home use `read_paths` or \
                 `write_paths` of `[file_policy]` in the user configuration",
            ),
            Self::Pattern => out.write_str(
                "is a literal path, and nothing has this name; patterns belong in `read_paths` or `write_paths` of \
                 `[file_policy]`",
            ),
            Self::Missing => out.write_str("does not exist"),
            Self::Repeated { line: Some(line) } => {
                write!(out, "replaces the rule on line {line}, which is on the same path")
            }
            Self::Repeated { line: None } => {
                out.write_str("replaces an earlier rule, which is on the same path")
            }
        }
    }
}

/// The rules read so far: the file and normalised path of each, and its line.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    rules: HashMap<(Arc<str>, Utf8PathBuf), Option<u32>>,
}

impl Earlier {
    /// Notes a rule on a normalised path. Returns an earlier rule of the same file on that path.
    pub(crate) fn repeats(&mut self, rule: &FsRule, lexical: &Utf8Path) -> Option<Slip> {
        let RuleSource { layer, line, .. } = rule.source();
        if layer.is_empty() {
            return None;
        }
        let key = (Arc::clone(layer), lexical.to_owned());
        self.rules.insert(key, *line).map(|line| Slip::Repeated { line })
    }
}

/// The likely mistake in a rule whose path does not exist.
pub(crate) fn of_missing(rule: &FsRule) -> Option<Slip> {
    let path = rule.path();
    let creates = rule.capabilities().contains(Capabilities::CREATE);
    if path.starts_with("~") {
        return Some(Slip::Home);
    }
    if is_pattern(path.as_str()) {
        return Some(Slip::Pattern);
    }
    (!creates).then_some(Slip::Missing)
}

/// Whether a path would be a pattern elsewhere.
#[must_use]
pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?']) || has_pair(path, '[', ']') || has_pair(path, '{', '}')
}

fn has_pair(path: &str, open: char, close: char) -> bool {
    path.split_once(open).is_some_and(|(_, rest)| rest.contains(close))
}
