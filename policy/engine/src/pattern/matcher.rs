//! Matches one glob alone, as the common table does. Used by `pattern`, to say which pattern a path matches.

use std::string::String;

use regex_automata::meta;
use regex_automata::util::syntax;

use super::{directory_of, expression, glob, named};
use crate::characters::encoded;

/// What a glob matches.
#[derive(Debug, Clone)]
pub(super) enum Matcher {
    /// This path.
    Path(String),
    /// Everything below this directory.
    Below(String),
    /// The encoded paths that this expression matches.
    Expression(meta::Regex),
}

impl Matcher {
    /// The matcher of a glob. `None` if its expression is too large.
    pub(super) fn of(text: &str) -> Option<Self> {
        if let Some(directory) = directory_of(text).and_then(named) {
            return Some(Self::Below(directory));
        }
        if let Some(path) = named(text) {
            return Some(Self::Path(path));
        }
        let syntax = syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true);
        // It matches few paths. To determine its automaton would take longer than they do.
        let lazy = meta::Config::new().dfa(false).onepass(false);
        let expression = expression(glob(text).ok()?.regex());
        meta::Regex::builder()
            .syntax(syntax)
            .configure(lazy)
            .build(&expression)
            .ok()
            .map(Self::Expression)
    }

    /// Whether the glob matches a canonical absolute path.
    pub(super) fn matches(&self, path: &[u8]) -> bool {
        match self {
            Self::Path(own) => path == own.as_bytes(),
            Self::Below(directory) => {
                path.strip_prefix(directory.as_bytes()).is_some_and(|rest| rest.starts_with(b"/"))
            }
            Self::Expression(expression) => expression.is_match(&*encoded(path)),
        }
    }
}
