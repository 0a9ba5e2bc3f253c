//! Holds many patterns as one table. Looking up a path takes one step for each byte, however many patterns there are.
//!
//! The table is a deterministic automaton over bytes, built by [`crate::build`]. It may also be several automata with
//! their states one after the other: a path then goes through each, and their answers are united. As everywhere in an
//! image, every index is checked where it is used, and an index out of range denies.

#[cfg(feature = "std")]
use std::{collections::BTreeSet, vec::Vec};

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::tier::Tier;
use crate::volume::Folds;

/// Which lists have a pattern that matches. Each tier has a bit, and so have the sensitive paths. Two bits are for
/// prompts and limits that grant nothing, and one is for patterns that name sensitive paths. Two more are for auto-run
/// files that somebody added, or that this run may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const DENY: Self = Self::of(Tier::Deny);
    pub(crate) const PROMPT: Self = Self::of(Tier::Prompt);
    pub(crate) const WRITE: Self = Self::of(Tier::Write);
    pub(crate) const SENSITIVE: Self = Self(1 << Tier::ALL.len());
    /// A person is asked about granted capabilities; grants nothing.
    pub(crate) const ASK: Self = Self(1 << (Tier::ALL.len() + 1));

    /// A pattern that grants also names the sensitive path.
    pub(crate) const OUTSPOKEN: Self = Self(1 << (Tier::ALL.len() + 2));
    /// Of the granted capabilities only reading is left; grants nothing.
    pub(crate) const LIMIT: Self = Self(1 << (Tier::ALL.len() + 3));
    /// A person is asked about changes.
    pub(crate) const AUTORUN: Self = Self(1 << (Tier::ALL.len() + 4));
    /// No prompt is needed to change an auto-run file.
    pub(crate) const RELEASED: Self = Self(1 << (Tier::ALL.len() + 5));

    pub(crate) const fn of(tier: Tier) -> Self {
        Self(1 << tier as u8)
    }

    #[cfg(feature = "std")]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether these marks withhold nothing that `other` does not, and grant all that it grants.
    pub(crate) const fn takes_no_more_than(self, other: Self) -> bool {
        let opens = Self::WRITE.union(Self::OUTSPOKEN).union(Self::RELEASED);
        let takes = opens.complement();
        self.intersection(takes).0 & !other.0 == 0 && other.intersection(opens).0 & !self.0 == 0
    }

    pub(crate) const fn complement(self) -> Self {
        Self(!self.0)
    }
}

/// The marks in one state.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct State {
    /// The marks of a path that ends here.
    pub(crate) here: U16,
    /// The marks of all longer paths.
    pub(crate) ahead: U16,
}

/// The patterns' answer for a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) here: Marks,
    /// The marks of patterns that match somewhere below the path.
    pub(crate) ahead: Marks,
}

impl Seen {
    /// No pattern matches.
    #[cfg(feature = "std")]
    pub(crate) const NOTHING: Self = Self { here: Marks::NONE, ahead: Marks::NONE };
    /// The answer of a broken table: every mark.
    const EVERYTHING: Self = Self { here: Marks(u16::MAX), ahead: Marks(u16::MAX) };

    const fn union(self, other: Self) -> Self {
        Self { here: self.here.union(other.here), ahead: self.ahead.union(other.ahead) }
    }
}

/// Most pairs of states that are compared. They fit on a stack.
const PAIRS: usize = 224;

/// Pairs of states that one path leads to in two places, and whether its last byte is a separator. Uses as little stack
/// as possible.
struct Pairs {
    states: [[u16; 2]; PAIRS],
    behind_slash: [u128; 2],
    count: usize,
}

impl Pairs {
    const fn new(ends: [u16; 2]) -> Self {
        Self { states: [ends; PAIRS], behind_slash: [1, 0], count: 1 }
    }

    fn get(&self, at: usize) -> Option<([u16; 2], bool)> {
        let states = self.states.get(..self.count)?.get(at)?;
        let bits = self.behind_slash.get(at / 128)?;
        Some((*states, bits.wrapping_shr(Self::place(at)) & 1 != 0))
    }

    /// The position of a bit in its number.
    fn place(at: usize) -> u32 {
        u32::try_from(at % 128).unwrap_or(0)
    }

    fn has(&self, states: [u16; 2], is_behind_slash: bool) -> bool {
        let pair = Some((states, is_behind_slash));
        (0..self.count).any(|at| self.states.get(at) == Some(&states) && self.get(at) == pair)
    }

    /// Adds a pair, if there is room.
    fn add(&mut self, states: [u16; 2], is_behind_slash: bool) -> Option<()> {
        *self.states.get_mut(self.count)? = states;
        let bits = self.behind_slash.get_mut(self.count / 128)?;
        *bits |= u128::from(is_behind_slash).wrapping_shl(Self::place(self.count));
        self.count = self.count.wrapping_add(1);
        Some(())
    }
}

/// A table that is part of an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Automaton<'a> {
    /// The class of each byte.
    pub(crate) classes: &'a [u8],
    /// The first is where every path begins.
    pub(crate) states: &'a [State],
    /// The next state, for each state and class.
    pub(crate) edges: &'a [U16],
    /// Where every path begins in the other automata, if there are any.
    pub(crate) starts: &'a [U16],
    /// How names are folded before the automata see them, if the automata are of folded names.
    pub(crate) folds: Option<Folds<'a>>,
}

impl Automaton<'_> {
    /// The patterns' answer for an absolute canonical path.
    pub(crate) fn look(&self, path: &[u8]) -> Seen {
        self.look_below(0, path, path)
    }

    /// As [`Self::look`], for a `path` that is `rest` below a directory, with the separator first. `state` is the
    /// answer of [`Self::state_behind`] for the directory.
    pub(crate) fn look_below(&self, state: u32, rest: &[u8], path: &[u8]) -> Seen {
        let first = u16::try_from(state).ok().and_then(|at| self.seen(at, rest));
        let others = self.starts.iter().map(|start| self.seen(start.get(), path));
        others.fold(first, |all, one| Some(all?.union(one?))).unwrap_or(Seen::EVERYTHING)
    }

    /// Whether the patterns say the same below two canonical directories.
    pub(crate) fn alike_below(&self, one: &[u8], other: &[u8]) -> bool {
        let is_alike =
            |start| self.inside(start, one).is_some_and(|at| self.inside(start, other) == Some(at));
        is_alike(0) && self.starts.iter().all(|start| is_alike(start.get()))
    }

    /// Whether `holds` is true of each name below one canonical directory and the same name below the other. It gets
    /// the marks at both. If that takes too much to find out, the answer is no. If `is_like`, places with the same
    /// marks need no check.
    pub(crate) fn all_below(
        &self,
        [one, other]: [&[u8]; 2],
        is_like: bool,
        holds: impl Fn(Marks, Marks) -> bool,
    ) -> bool {
        if is_like && self.alike_below(one, other) {
            return true;
        }
        let ends = || Some([self.inside(0, one)?, self.inside(0, other)?]);
        let walk = |ends| self.walk_pairs(ends, is_like, holds);
        self.starts.is_empty() && ends().and_then(walk).is_some()
    }

    /// As [`Self::all_below`], for directories whose paths are given in parts. With several automata, each must
    /// withhold no more below the first directory and grant no less there, and `is_like` must be set.
    pub(crate) fn all_below_parts(
        &self,
        parts: [&[&[u8]]; 2],
        is_like: bool,
        holds: impl Fn(Marks, Marks) -> bool,
    ) -> bool {
        let ends = |start: u16| {
            let [one, other] = parts.map(|parts| self.inside_parts(start, parts));
            Some([one?, other?])
        };
        let is_same = |start| ends(start).is_some_and(|[one, other]| one == other);
        let starts = || core::iter::once(0).chain(self.starts.iter().map(|start| start.get()));
        if is_like && starts().all(is_same) {
            return true;
        }
        if self.starts.is_empty() {
            return ends(0).and_then(|ends| self.walk_pairs(ends, is_like, holds)).is_some();
        }
        let takes_no_more = |one: Marks, other: Marks| one.takes_no_more_than(other);
        let walk = |ends| self.walk_pairs(ends, true, takes_no_more);
        is_like && starts().all(|start| is_same(start) || ends(start).and_then(walk).is_some())
    }

    /// As [`Self::all_below`], by the pairs of states that the same bytes lead to. `None` if it does not hold.
    #[cold]
    fn walk_pairs(
        &self,
        ends: [u16; 2],
        is_like: bool,
        holds: impl Fn(Marks, Marks) -> bool,
    ) -> Option<()> {
        let slash = self.sole_class(b'/')?;
        let mut pairs = Pairs::new(ends);
        let mut at = 0_usize;
        while let Some(([one, other], is_behind_slash)) = pairs.get(at) {
            let edges = self.edges_from(one)?.iter().zip(self.edges_from(other)?);
            for (class, (one, other)) in edges.enumerate() {
                let (pair, is_slash) = ([one.get(), other.get()], class == slash);
                let is_held = is_like && one == other;
                if is_held || is_slash && is_behind_slash || pairs.has(pair, is_slash) {
                    continue;
                }
                if !is_slash && !holds(self.marks_in(pair[0])?, self.marks_in(pair[1])?) {
                    return None;
                }
                pairs.add(pair, is_slash)?;
            }
            at = at.wrapping_add(1);
        }
        Some(())
    }

    /// The state of the first automaton after the canonical path of a directory.
    #[cfg(feature = "std")]
    pub(crate) fn state_behind(&self, directory: &[u8]) -> u32 {
        let directory = if directory == b"/" { b"" } else { directory };
        self.run(0, directory).map_or(u32::MAX, u32::from)
    }

    fn seen(&self, from: u16, path: &[u8]) -> Option<Seen> {
        let end = self.run(from, path)?;
        let inside = if path == b"/" { end } else { self.run(end, b"/")? };
        Some(Seen {
            here: Marks(self.states.get(usize::from(end))?.here.get()),
            ahead: Marks(self.states.get(usize::from(inside))?.ahead.get()),
        })
    }

    /// Whether some path below a directory has marks that are wanted. With several automata the answer may be yes
    /// although no single path has all these marks at once.
    #[cfg(feature = "std")]
    pub(crate) fn any_below(&self, directory: &[u8], is_wanted: impl Fn(Marks) -> bool) -> bool {
        let mut others = BTreeSet::from([0]);
        for start in self.starts {
            let mut found = BTreeSet::new();
            self.walk_below(start.get(), directory, |here| {
                found.insert(here.bits());
                false
            });
            others = found.iter().flat_map(|one| others.iter().map(move |all| one | all)).collect();
        }
        let is_any_wanted =
            |here: Marks| others.iter().any(|&all| is_wanted(here.union(Marks(all))));
        self.walk_below(0, directory, is_any_wanted)
    }

    /// Whether some path below a directory has marks that are wanted, in the automaton that begins at `start`.
    #[cfg(feature = "std")]
    fn walk_below(
        &self,
        start: u16,
        directory: &[u8],
        mut is_wanted: impl FnMut(Marks) -> bool,
    ) -> bool {
        let mut known = BTreeSet::new();
        let mut pending: Vec<u16> = self.inside(start, directory).into_iter().collect();
        while let Some(at) = pending.pop() {
            for next in self.edges_from(at).into_iter().flatten().map(|next| next.get()) {
                if is_wanted(self.marks_in(next).unwrap_or(Marks(u16::MAX))) {
                    return true;
                }
                if known.insert(next) {
                    pending.push(next);
                }
            }
        }
        false
    }

    /// The state of the automaton that begins at `start`, inside a canonical directory.
    fn inside(&self, start: u16, directory: &[u8]) -> Option<u16> {
        let directory = if directory == b"/" { b"" } else { directory };
        self.run(self.run(start, directory)?, b"/")
    }

    /// As [`Self::inside`], for a directory whose path is in parts.
    #[inline(never)] // keeps its stack use apart from that of the comparison
    fn inside_parts(&self, start: u16, parts: &[&[u8]]) -> Option<u16> {
        let run = |at, &part: &&[u8]| self.run(at, if part == b"/" { b"" } else { part });
        self.run(parts.iter().try_fold(start, run)?, b"/")
    }

    /// The class of a byte, if no other byte is in it.
    fn sole_class(&self, byte: u8) -> Option<usize> {
        let class = self.classes.get(usize::from(byte))?;
        let mut bytes = self.classes.iter().filter(|one| *one == class);
        (bytes.next().is_some() && bytes.next().is_none()).then_some(usize::from(*class))
    }

    /// The marks of a path that ends in this state.
    fn marks_in(&self, state: u16) -> Option<Marks> {
        self.states.get(usize::from(state)).map(|state| Marks(state.here.get()))
    }

    /// The next state for each class.
    fn edges_from(&self, state: u16) -> Option<&[U16]> {
        let stride = self.edges.len().checked_div(self.states.len())?;
        self.edges.chunks_exact(stride.max(1)).nth(usize::from(state))
    }

    fn run(&self, from: u16, path: &[u8]) -> Option<u16> {
        if let Some(folds) = &self.folds {
            return self.run_folded(folds, from, path);
        }
        let stride = self.edges.len().checked_div(self.states.len())?;
        path.iter().try_fold(from, |at, &byte| self.step(stride, at, byte))
    }

    /// As [`Self::run`], along the folded path.
    #[cold]
    #[inline(never)]
    fn run_folded(&self, folds: &Folds<'_>, from: u16, path: &[u8]) -> Option<u16> {
        let stride = self.edges.len().checked_div(self.states.len())?;
        let mut at = from;
        folds.each(path, |byte| {
            at = self.step(stride, at, byte)?;
            Some(())
        })?;
        Some(at)
    }

    /// The state after one more byte, if each state has `stride` edges.
    fn step(&self, stride: usize, at: u16, byte: u8) -> Option<u16> {
        let class = usize::from(*self.classes.get(usize::from(byte))?);
        // No index overflows: it is below 2^16 times 2^8.
        let edge = usize::from(at).wrapping_mul(stride).wrapping_add(class);
        self.edges.get(edge).map(|next| next.get())
    }
}

#[cfg(test)]
mod tests;
