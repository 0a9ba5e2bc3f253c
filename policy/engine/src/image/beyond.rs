//! Reads the tables of an image about other things than files: variables ([`crate::variables`]) and programs
//! ([`crate::invocation`]).

use super::Image;
use crate::layout::{Command, LISTED, Line, Span, Variable, part};

impl<'a> Image<'a> {
    /// The list of rules about variables for every program.
    pub(crate) const fn environment(&self) -> Span {
        self.header.environment
    }

    pub(crate) fn variables(&self, list: Span) -> &'a [Variable] {
        part(self.variables, list)
    }

    /// Whether only listed programs may be started in this run.
    pub(crate) fn lists_programs(&self) -> bool {
        self.header.flags.get() & LISTED != 0
    }

    pub(crate) const fn commands(&self) -> &'a [Command] {
        self.commands
    }

    pub(crate) fn lines(&self, lines: Span) -> &'a [Line] {
        part(self.lines, lines)
    }

    pub(crate) fn words(&self, words: Span) -> &'a [Span] {
        part(self.words, words)
    }
}
