//! Matches paths against patterns of the built-in list, and finds how far along a pattern a directory is.

use super::list::{Entry, Place};
use crate::components::Components;
use crate::volume::Names;

/// The positions of a path in a pattern: a bit for each name of the pattern that may come next, and one for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Positions(u16);

impl Positions {
    /// The positions after all names of `tail`.
    pub(super) fn behind(names: Names<'_>, pattern: &str, tail: &[u8]) -> Self {
        let mut at = Self(1);
        for name in Components::of(tail) {
            at = at.behind_name(names, pattern, name.name);
            if at.0 == 0 {
                break;
            }
        }
        at.closed(pattern)
    }

    fn behind_name(self, names: Names<'_>, pattern: &str, name: &[u8]) -> Self {
        let (mut at, mut next, mut here) = (self.0, 0_u16, 1_u16);
        for part in Components::of(pattern.as_bytes()) {
            let behind = here.wrapping_shl(1);
            if at & here != 0 {
                let is_any = part.name == b"**";
                // It may match no name.
                at |= if is_any { behind } else { 0 };
                next |= if is_any && may_be_any(name, part.end == pattern.len()) {
                    here
                } else if part.name == b"*" || names.are_same(name, part.name) {
                    behind
                } else {
                    0
                };
            }
            here = behind;
        }
        Self(next)
    }

    /// Adds the positions after each `**`, which may match no name.
    fn closed(self, pattern: &str) -> Self {
        let (mut all, mut here) = (self.0, 1_u16);
        for part in Components::of(pattern.as_bytes()) {
            let behind = here.wrapping_shl(1);
            if part.name == b"**" && all & here != 0 {
                all |= behind;
            }
            here = behind;
        }
        Self(all)
    }

    pub(super) fn is_at_end(self, pattern: &str) -> bool {
        self.0 & end(pattern) != 0
    }

    /// The positions after which something may still come.
    pub(super) fn inside(self, pattern: &str) -> Self {
        Self(self.0 & !end(pattern))
    }

    pub(super) const fn is_any(self) -> bool {
        self.0 != 0
    }

    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Whether `**` matches the name. Except at the end of a pattern, it is the name of a submodule.
fn may_be_any(name: &[u8], is_last: bool) -> bool {
    is_last || !matches!(name, b"refs" | b"logs" | b"objects")
}

fn end(pattern: &str) -> u16 {
    Components::of(pattern.as_bytes()).fold(1, |here, _| here.wrapping_shl(1))
}

/// The entry of `place` that `tail` belongs to.
pub(super) fn listed(names: Names<'_>, place: Place, tail: &[u8]) -> Option<&'static Entry> {
    let is_it = |entry: &&Entry| {
        let is_excepted = !entry.except.is_empty() && tail.ends_with(entry.except.as_bytes());
        !is_excepted && Positions::behind(names, entry.pattern, tail).is_at_end(entry.pattern)
    };
    beginning(names, place, tail).find(is_it)
}

/// The entries of `place` that begin as `tail` does.
pub(super) fn beginning<'t>(
    names: Names<'t>,
    place: Place,
    tail: &'t [u8],
) -> impl Iterator<Item = &'static Entry> + use<'t> {
    let entries = if may_begin(names, place, tail) { place.entries() } else { &[] };
    entries.iter().filter(move |entry| begins_alike(names, entry, tail))
}

/// Whether the first name of the entry's pattern may match that of `tail`.
#[inline(never)] // keeps its stack use from adding up
fn begins_alike(names: Names<'_>, entry: &Entry, tail: &[u8]) -> bool {
    let pattern = entry.pattern.as_bytes();
    if names.folds().is_some() || tail.is_empty() || pattern.first() == Some(&b'*') {
        return true;
    }
    let is_first = || {
        let rest = tail.strip_prefix(first_name(pattern));
        rest.is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
    };
    pattern.first() == tail.first() && is_first()
}

/// Whether an entry of `place` may begin as `tail` does. Takes one look.
pub(super) fn may_begin(names: Names<'_>, place: Place, tail: &[u8]) -> bool {
    let end = tail.iter().position(|&byte| byte == b'/').unwrap_or(tail.len());
    let first = tail.get(..end).unwrap_or(tail);
    let all = match place {
        Place::Top => const { beginnings(Place::Top) },
        Place::Repository => const { beginnings(Place::Repository) },
        Place::Hooks => const { beginnings(Place::Hooks) },
        Place::Home => const { beginnings(Place::Home) },
        Place::Config => const { beginnings(Place::Config) },
        Place::Data => const { beginnings(Place::Data) },
        Place::Bare => const { beginnings(Place::Bare) },
        Place::Included => const { beginnings(Place::Included) },
        Place::Commands => const { beginnings(Place::Commands) },
    };
    names.folds().is_some() || first.is_empty() || all & mark(first) != 0
}

/// The [`mark`]s of the first names of all entries of a place.
const fn beginnings(place: Place) -> u64 {
    let mut all = 0;
    let mut entries = place.entries();
    while let [entry, rest @ ..] = entries {
        entries = rest;
        all |= match entry.pattern.as_bytes() {
            [b'*', ..] => u64::MAX,
            pattern => mark(first_name(pattern)),
        };
    }
    all
}

const fn first_name(pattern: &[u8]) -> &[u8] {
    let mut rest = pattern;
    let mut length = 0_usize;
    while let [byte, after @ ..] = rest {
        if *byte == b'/' {
            break;
        }
        length = length.wrapping_add(1);
        rest = after;
    }
    match pattern.split_at_checked(length) {
        Some((first, _)) => first,
        None => pattern,
    }
}

/// One of 64 bits for a name. Different names may share a bit.
const fn mark(name: &[u8]) -> u64 {
    let (second, last) = match name {
        [_, second, .., last] => (*second, *last),
        [.., last] => (0, *last),
        [] => (0, 0),
    };
    let [length, ..] = name.len().to_le_bytes();
    let sum = length.wrapping_mul(11).wrapping_add(second.wrapping_mul(3)).wrapping_add(last);
    1_u64.wrapping_shl(sum as u32)
}
