//! Many patterns as one table, which tells of a path at the price of one step for each byte, however
//! many patterns there are.
//!
//! The table is a deterministic automaton over bytes, made by [`crate::build`]. As everywhere in an
//! image, every index read is checked where it is used; what leads outside denies.

use zerocopy::little_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::tier::Tier;

/// Which lists have a pattern that matches: a bit for each tier, one for the sensitive paths,
/// two for questions and limits that open nothing, and one for what opens sensitive paths by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Marks(u8);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const DENY: Self = Self::of(Tier::Deny);
    pub(crate) const PROMPT: Self = Self::of(Tier::Prompt);
    pub(crate) const WRITE: Self = Self::of(Tier::Write);
    pub(crate) const SENSITIVE: Self = Self(1 << Tier::ALL.len());
    /// A person is asked about what is granted; nothing is opened.
    pub(crate) const ASK: Self = Self(1 << (Tier::ALL.len() + 1));

    /// A pattern that opens names what is sensitive.
    pub(crate) const OUTSPOKEN: Self = Self(1 << (Tier::ALL.len() + 2));
    /// What is granted is left for reading; nothing is opened.
    pub(crate) const LIMIT: Self = Self(1 << (Tier::ALL.len() + 3));

    pub(crate) const fn of(tier: Tier) -> Self {
        Self(1 << tier as u8)
    }

    #[cfg(feature = "std")]
    pub(crate) const fn bits(self) -> u8 {
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

    pub(crate) const fn complement(self) -> Self {
        Self(!self.0)
    }
}

/// What holds in one state.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct State {
    /// The marks of a path that ends here.
    pub(crate) here: u8,
    /// Those of all longer ones.
    pub(crate) ahead: u8,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) here: Marks,
    /// What patterns say somewhere below the path.
    pub(crate) ahead: Marks,
    /// Below two paths of equal place the patterns say the same.
    pub(crate) place: u32,
}

impl Seen {
    /// What a broken table says.
    const EVERYTHING: Self = Self { here: Marks(u8::MAX), ahead: Marks(u8::MAX), place: u32::MAX };
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
}

impl Automaton<'_> {
    /// What the patterns say of an absolute canonical path.
    pub(crate) fn look(&self, path: &[u8]) -> Seen {
        self.seen(0, path).unwrap_or(Seen::EVERYTHING)
    }

    /// The same of the path that is `rest` below a directory, its separator first: `state` is what
    /// [`Self::state_behind`] says of the directory.
    pub(crate) fn look_below(&self, state: u32, rest: &[u8]) -> Seen {
        u16::try_from(state).ok().and_then(|at| self.seen(at, rest)).unwrap_or(Seen::EVERYTHING)
    }

    /// Where the automaton stands behind the canonical path of a directory.
    #[cfg(feature = "std")]
    pub(crate) fn state_behind(&self, directory: &[u8]) -> u32 {
        let directory = if directory == b"/" { b"" } else { directory };
        self.run(0, directory).map_or(u32::MAX, u32::from)
    }

    fn seen(&self, from: u16, path: &[u8]) -> Option<Seen> {
        let end = self.run(from, path)?;
        let inside = if path == b"/" { end } else { self.run(end, b"/")? };
        Some(Seen {
            here: Marks(self.states.get(usize::from(end))?.here),
            ahead: Marks(self.states.get(usize::from(inside))?.ahead),
            place: u32::from(inside),
        })
    }

    /// Whether the marks of some longer path than that of a directory are as wanted.
    #[cfg(feature = "std")]
    pub(crate) fn any_below(&self, directory: &[u8], is_wanted: impl Fn(Marks) -> bool) -> bool {
        let directory = if directory == b"/" { b"" } else { directory };
        let inside = self.run(0, directory).and_then(|end| self.run(end, b"/"));
        let stride = self.edges.len().checked_div(self.states.len()).unwrap_or_default();
        let mut known = std::collections::BTreeSet::new();
        let mut pending: std::vec::Vec<u16> = inside.into_iter().collect();
        while let Some(at) = pending.pop() {
            let edges = self.edges.chunks_exact(stride.max(1)).nth(usize::from(at));
            for next in edges.into_iter().flatten().map(|next| next.get()) {
                let here =
                    self.states.get(usize::from(next)).map_or(Marks(u8::MAX), |it| Marks(it.here));
                if is_wanted(here) {
                    return true;
                }
                if known.insert(next) {
                    pending.push(next);
                }
            }
        }
        false
    }

    fn run(&self, from: u16, path: &[u8]) -> Option<u16> {
        let stride = self.edges.len().checked_div(self.states.len())?;
        // No index overflows: it is below 2^16 times 2^8.
        path.iter().try_fold(from, |at, &byte| {
            let class = usize::from(*self.classes.get(usize::from(byte))?);
            let edge = usize::from(at).wrapping_mul(stride).wrapping_add(class);
            self.edges.get(edge).map(|next| next.get())
        })
    }
}
