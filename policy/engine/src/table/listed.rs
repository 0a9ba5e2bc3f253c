//! The patterns that go into one table, with their marks.

use std::string::String;
use std::vec::Vec;

use crate::automaton::Marks;

/// One list of patterns, and its mark.
#[derive(Debug)]
pub(crate) struct PatternList {
    pub(crate) marks: Marks,
    /// Patterns of whole paths.
    pub(crate) exact: Matching,
    /// Patterns of directories and everything below. If the expression contained the part below, `regex-automata` would
    /// tell apart which directories were passed, and there may be many.
    pub(crate) below: Matching,
}

impl PatternList {
    /// A list without patterns.
    pub(crate) fn new(marks: Marks) -> Self {
        Self { marks, exact: Matching::default(), below: Matching::default() }
    }
}

/// The paths that patterns match.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matching {
    /// Patterns without special characters, as paths.
    pub(crate) names: Vec<String>,
    /// The other patterns.
    pub(crate) expressions: Vec<Expression>,
}

/// A regular expression, over bytes.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) regex: String,
    /// If it needs an automaton apart from the others: the text that the patterns of that automaton share.
    pub(crate) apart: Option<String>,
}
