//! Reads the tables of an image about other things than files: variables ([`crate::variables`]) and programs
//! ([`crate::invocation`]).

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Image, LISTED, Span, part};

/// A rule about environment variables.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Variable {
    /// The literal part of its name: a span of `bytes`.
    pub(crate) name: Span,
    /// [`crate::variables::PREFIX`] and [`crate::variables::READ`].
    pub(crate) flags: U32,
}

/// A rule about a program.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Command {
    /// The canonical path of its file: a span of `bytes`.
    pub(crate) program: Span,
    /// The name that the program must have: a span of `bytes`.
    pub(crate) name: Span,
    /// [`crate::invocation::ANY_ARGUMENTS`].
    pub(crate) flags: U32,
    /// Lines of arguments, one of which must match: a span of `lines`.
    pub(crate) lines: Span,
    /// The variables that it may read: a span of `variables`.
    pub(crate) envs: Span,
}

/// Arguments that a rule allows.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Line {
    /// A span of `words`.
    pub(crate) words: Span,
    /// Not zero if any more arguments may follow.
    pub(crate) rest: U32,
}

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
