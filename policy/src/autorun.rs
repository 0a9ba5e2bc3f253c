//! Auto-run files: what programs outside a run obey without anybody starting the project's code (spec §10.1). A change
//! of one is a question, whatever is granted. The evaluator asks here, and only where something is to be changed.
//!
//! The list is part of the program, not of an image: an image says where its patterns begin. So they cost nothing at the
//! start of a run, and a look at a path costs a comparison with each beginning.

#[cfg(feature = "std")]
pub mod bases;
#[cfg(feature = "std")]
mod git;
pub mod list;

use self::list::{Entry, Place};
use crate::automaton::Marks;
use crate::capability::Capabilities;
use crate::image::{Base, Image, Rule, Text};
use crate::lookup::{Lookup, Request};
use crate::tier::{Reach, Restraint, Tiers};
use crate::walk::{Components, Walk, leads_to};

/// The entry of the built-in list that the canonical path is of, whether or not anybody names it. Of this image alone.
#[must_use]
pub fn entry(image: &Image<'_>, path: &[u8]) -> Option<&'static Entry> {
    let winner = Walk::along(image, path).winner(path);
    let winner = winner.and_then(|(id, tail)| Some((image.rule(id)?, tail)));
    by_base(image, path).or_else(|| by_anchor(image, path, winner?))
}

/// The entry that the path is of by where the list begins.
fn by_base(image: &Image<'_>, path: &[u8]) -> Option<&'static Entry> {
    image.bases().find_map(|(place, base)| listed(place, below(base, path)?))
}

/// The entry that it is of by the directory outside of the workspace that a rule stands on, where `tail` is below that.
fn by_anchor(
    image: &Image<'_>,
    path: &[u8],
    (rule, tail): (&Rule, &[u8]),
) -> Option<&'static Entry> {
    let counts = Reach::of(rule).is_declared() && !image.autorun().is_empty();
    if !counts || leads_to(image.text(Text::Workspace), path) {
        return None;
    }
    listed(anchored(path, tail), tail)
}

/// Whether the path is a configuration of git of which ordinary changes are harmless, in this run or one around it.
#[must_use]
pub fn is_git_config(image: &Image<'_>, path: &[u8]) -> bool {
    image.levels().any(|image| entry(image, path).is_some_and(|entry| entry.is_git_config))
}

/// Whether something below the canonical directory may be an auto-run file, in this run or one around it.
#[must_use]
pub fn may_ask_below(image: &Image<'_>, directory: &[u8]) -> bool {
    image.levels().any(|image| is_ahead(image, directory))
}

/// Whether a name below the first canonical directory is an auto-run file that below the other, by the same name, is
/// none. Of this image alone.
#[must_use]
pub fn asks_more_below(image: &Image<'_>, one: &[u8], other: &[u8]) -> bool {
    asks_more_by_list(image, one, other) || asks_more_by_pattern(image, one, other)
}

/// Whether a name below the directory of `to` is an auto-run file that below `from`, by the same name, is none; without
/// `from`, that is none below an ordinary directory of the workspace. By the built-in list. Of this image alone.
pub(crate) fn asks_more_at(image: &Image<'_>, to: End<'_>, from: Option<End<'_>>) -> bool {
    if to.is_free() {
        return false;
    }
    let holds_base = |(_, base): (Place, &[u8])| base != to.path && leads_to(to.path, base);
    let is_asked_before = |at: Active| {
        let is_behind = |tail| Positions::behind(at.entry.pattern, tail).contains(at.at);
        let Some(from) = from else { return at.is_everywhere() };
        let is_it = |(place, tail)| {
            let (place, tail) = within_directory(place, tail);
            place == at.place && is_behind(tail)
        };
        !from.is_free() && from.places(image).any(is_it)
    };
    let asks = |(place, tail)| active(place, tail).any(|at| !is_asked_before(at));
    image.bases().any(holds_base) || to.places(image).any(asks)
}

/// A directory, with the rule that decides there and what of the path follows its anchor.
#[derive(Clone, Copy)]
pub(crate) struct End<'e> {
    pub(crate) path: &'e [u8],
    pub(crate) winner: Option<(&'e Rule, &'e [u8])>,
}

impl<'e> End<'e> {
    /// Whether nobody is asked there about auto-run files.
    fn is_free(self) -> bool {
        self.winner.is_some_and(|(rule, _)| is_free(rule))
    }

    /// Which parts of the list begin above the directory, or there, and what of the path follows.
    fn places(self, image: &'e Image<'e>) -> impl Iterator<Item = (Place, &'e [u8])> {
        let by_base = move |(place, base): (Place, &[u8])| Some((place, below(base, self.path)?));
        let is_outside = |rule: &Rule| {
            let counts = Reach::of(rule).is_declared() && !image.autorun().is_empty();
            counts && !leads_to(image.text(Text::Workspace), self.path)
        };
        let anchor = self.winner.filter(|(rule, _)| is_outside(rule));
        let by_anchor = anchor
            .map(|(_, tail)| (anchored(self.path, tail), tail.strip_prefix(b"/").unwrap_or(tail)));
        image.bases().filter_map(by_base).chain(by_anchor)
    }
}

/// Whether nobody is asked about auto-run files that this rule grants.
pub(crate) fn is_free(rule: &Rule) -> bool {
    rule.names_autorun != 0 || Reach::of(rule) == Reach::Own
}

/// What is left of `found` without a question: of an auto-run file nothing that changes it. `winner` is the rule that
/// decides, and what of the path follows its anchor.
pub(crate) fn restrain(
    image: &Image<'_>,
    request: &Request<'_>,
    winner: Option<(&Rule, &[u8])>,
    found: Lookup,
) -> Lookup {
    let changes = if request.directory { Capabilities::UPDATE } else { Capabilities::WRITE };
    let autorun = found.caps.intersection(changes);
    if autorun.is_empty() || !asks(image, request, winner) {
        return found;
    }
    Lookup {
        caps: found.caps.difference(autorun),
        asks: found.asks.union(autorun),
        withheld: found.withheld.union(autorun),
        restraint: Some(Restraint::Autorun),
        autorun,
        ..found
    }
}

/// Whether a person is asked about changes at `request`.
pub(crate) fn asks(
    image: &Image<'_>,
    request: &Request<'_>,
    winner: Option<(&Rule, &[u8])>,
) -> bool {
    if image.autorun().is_empty() && image.tiers().is_none() {
        return false;
    }
    if winner.is_some_and(|(rule, _)| is_free(rule)) {
        return false;
    }
    let is_spelled = || request.route != request.path && is_listed(image, request.route, None);
    (is_listed(image, request.path, winner) || is_spelled()) && !is_released(image, request)
}

/// Whether the path, be it a spelling, is one of the built-in list, or of a pattern that somebody added.
fn is_listed(image: &Image<'_>, path: &[u8], winner: Option<(&Rule, &[u8])>) -> bool {
    let by_pattern = |tiers: &Tiers<'_>| tiers.automaton.look(path).here.intersects(Marks::AUTORUN);
    by_base(image, path).is_some()
        || winner.and_then(|winner| by_anchor(image, path, winner)).is_some()
        || image.tiers().is_some_and(by_pattern)
}

/// What a directory is that a rule stands on, where `tail` of the path is below it.
fn anchored(path: &[u8], tail: &[u8]) -> Place {
    let anchor = path.strip_suffix(tail).unwrap_or(path);
    if anchor.ends_with(b"/.git") { Place::Repository } else { Place::Top }
}

/// Whether a person allowed this run to change it.
fn is_released(image: &Image<'_>, request: &Request<'_>) -> bool {
    let is_released = |path| {
        image.tiers().is_some_and(|it| it.automaton.look(path).here.intersects(Marks::RELEASED))
    };
    is_released(request.path) || request.route != request.path && is_released(request.route)
}

/// As [`may_ask_below`], of this image alone.
pub(crate) fn is_ahead(image: &Image<'_>, directory: &[u8]) -> bool {
    let by_base = |(place, base): (Place, &[u8])| {
        leads_to(directory, base)
            || directory == b"/"
            || below(base, directory).is_some_and(|tail| active(place, tail).next().is_some())
    };
    let by_pattern = || {
        image
            .tiers()
            .is_some_and(|it| it.automaton.look(directory).ahead.intersects(Marks::AUTORUN))
    };
    image.bases().any(by_base) || by_pattern()
}

/// The entries that may match something below the directory and not below an ordinary one, where the list begins at these
/// `bases`.
#[cfg(feature = "std")]
pub(crate) fn entries_below(
    bases: &[(Place, std::path::PathBuf)],
    directory: &[u8],
) -> std::vec::Vec<(Place, &'static Entry)> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut found = std::vec::Vec::new();
    for (place, base) in bases.iter().map(|(place, base)| (*place, base.as_os_str().as_bytes())) {
        match below(base, directory) {
            Some(tail) => {
                let narrower = active(place, tail).filter(|at| !at.is_everywhere());
                found.extend(narrower.map(|at| (at.place, at.entry)));
            }
            None if leads_to(directory, base) => {
                found.extend(place.entries().first().map(|entry| (place, entry)));
            }
            None => {}
        }
    }
    found
}

/// The entry that the canonical path is of where the list begins at these `bases`.
#[cfg(feature = "std")]
pub(crate) fn entry_below(
    bases: &[(Place, std::path::PathBuf)],
    path: &[u8],
) -> Option<(Place, &'static Entry)> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut bases = bases.iter().map(|(place, base)| (*place, base.as_os_str().as_bytes()));
    bases.find_map(|(place, base)| placed(place, below(base, path)?))
}

/// The entry that the path is of in whatever directory a rule stands on: for messages.
#[cfg(feature = "std")]
pub(crate) fn entry_somewhere(path: &[u8]) -> Option<(Place, &'static Entry)> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut tails = ends.filter_map(|(at, _)| path.get(at.wrapping_add(1)..));
    tails.find_map(|tail| placed(Place::Top, tail))
}

/// As [`listed`], with the place that has the entry.
#[cfg(feature = "std")]
fn placed(place: Place, tail: &[u8]) -> Option<(Place, &'static Entry)> {
    listed(place, tail).map(|entry| (within(place, tail).0, entry))
}

fn asks_more_by_list(image: &Image<'_>, one: &[u8], other: &[u8]) -> bool {
    image.bases().any(|(place, base)| {
        if leads_to(one, base) && one != base {
            return true;
        }
        let Some(tail) = below(base, one) else { return false };
        active(place, tail).any(|at| !at.is_within(image, other))
    })
}

fn asks_more_by_pattern(image: &Image<'_>, one: &[u8], other: &[u8]) -> bool {
    let Some(tiers) = image.tiers() else { return false };
    let asks = |marks: Marks| marks.intersects(Marks::AUTORUN);
    asks(tiers.automaton.look(one).ahead)
        && !tiers.automaton.all_below([one, other], true, |here, there| !asks(here) || asks(there))
}

/// What of the path is below `base`, without the separator between.
fn below<'p>(base: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    match path.strip_prefix(base)? {
        [] => Some(&[]),
        [b'/', tail @ ..] => Some(tail),
        _ => None,
    }
}

/// The entry of `place` that `tail` is of.
fn listed(place: Place, tail: &[u8]) -> Option<&'static Entry> {
    let (place, tail) = within(place, tail.strip_prefix(b"/").unwrap_or(tail));
    if !may_begin(place, tail) {
        return None;
    }
    let is_it = |entry: &&Entry| {
        let is_excepted = !entry.except.is_empty() && tail.ends_with(entry.except.as_bytes());
        !is_excepted && Positions::behind(entry.pattern, tail).is_at_end(entry.pattern)
    };
    place.entries().iter().find(is_it)
}

/// The repository of a directory has a list of its own.
fn within(place: Place, tail: &[u8]) -> (Place, &[u8]) {
    match (place, tail) {
        (Place::Top, [b'.', b'g', b'i', b't', b'/', rest @ ..]) => (Place::Repository, rest),
        _ => (place, tail),
    }
}

/// An entry that may match something below a directory, and how far its pattern is gone there.
#[derive(Clone, Copy)]
struct Active {
    place: Place,
    entry: &'static Entry,
    at: Positions,
}

impl Active {
    /// Whether it is gone as far below an ordinary directory of the workspace.
    fn is_everywhere(self) -> bool {
        let is_behind = |tail| Positions::behind(self.entry.pattern, tail).contains(self.at);
        self.place == Place::Top && is_behind(b"\x01") && is_behind(b"\x01/\x01")
    }

    /// Whether it is gone as far at another directory.
    fn is_within(self, image: &Image<'_>, directory: &[u8]) -> bool {
        let is_it = |(place, base): (Place, &[u8])| {
            let Some(tail) = below(base, directory) else { return false };
            let (place, tail) = within_directory(place, tail);
            place == self.place && Positions::behind(self.entry.pattern, tail).contains(self.at)
        };
        image.bases().any(is_it)
    }
}

/// The entries of `place` that may match something below the directory `tail`.
fn active(place: Place, tail: &[u8]) -> impl Iterator<Item = Active> {
    let (place, tail) = within_directory(place, tail);
    let entries = if may_begin(place, tail) { place.entries() } else { &[] };
    entries.iter().filter_map(move |entry| {
        let at = Positions::behind(entry.pattern, tail).inside(entry.pattern);
        at.is_any().then_some(Active { place, entry, at })
    })
}

/// As [`within`], of a directory, which is the repository itself where it is called so.
fn within_directory(place: Place, tail: &[u8]) -> (Place, &[u8]) {
    if place == Place::Top && tail == b".git" {
        (Place::Repository, &[])
    } else {
        within(place, tail)
    }
}

/// Whether an entry of `place` may begin as `tail` does, at the price of one look.
fn may_begin(place: Place, tail: &[u8]) -> bool {
    let end = tail.iter().position(|&byte| byte == b'/').unwrap_or(tail.len());
    let first = tail.get(..end).unwrap_or(tail);
    let all = match place {
        Place::Top => const { beginnings(Place::Top) },
        Place::Repository => const { beginnings(Place::Repository) },
        Place::Worktree => const { beginnings(Place::Worktree) },
        Place::Hooks => const { beginnings(Place::Hooks) },
        Place::Home => const { beginnings(Place::Home) },
        Place::Config => const { beginnings(Place::Config) },
        Place::Data => const { beginnings(Place::Data) },
        Place::Bare => const { beginnings(Place::Bare) },
        Place::Included => const { beginnings(Place::Included) },
        Place::Commands => const { beginnings(Place::Commands) },
    };
    first.is_empty() || all & mark(first) != 0
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

/// One of 64 bits for a name: different names may have the same.
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

/// How far a path is gone along a pattern: a bit for each name of the pattern that may come next, and one for its end.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Positions(u16);

impl Positions {
    /// Behind all names of `tail`.
    fn behind(pattern: &str, tail: &[u8]) -> Self {
        let mut at = Self(1).closed(pattern);
        for name in Components::of(tail) {
            at = at.behind_name(pattern, name.name);
            if at.0 == 0 {
                break;
            }
        }
        at
    }

    fn behind_name(self, pattern: &str, name: &[u8]) -> Self {
        let (mut next, mut here) = (0_u16, 1_u16);
        for part in Components::of(pattern.as_bytes()) {
            let behind = here.wrapping_shl(1);
            if self.0 & here != 0 {
                next |= match part.name {
                    b"**" => here,
                    b"*" => behind,
                    part if part == name => behind,
                    _ => 0,
                };
            }
            here = behind;
        }
        Self(next).closed(pattern)
    }

    /// With what follows a `**`, which may stand for no name.
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

    fn is_at_end(self, pattern: &str) -> bool {
        self.0 & end(pattern) != 0
    }

    /// Those behind which something may still come.
    fn inside(self, pattern: &str) -> Self {
        Self(self.0 & !end(pattern))
    }

    const fn is_any(self) -> bool {
        self.0 != 0
    }

    const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

fn end(pattern: &str) -> u16 {
    Components::of(pattern.as_bytes()).fold(1, |here, _| here.wrapping_shl(1))
}

impl<'a> Image<'a> {
    /// Where the patterns of the built-in list begin.
    pub(crate) fn bases(&self) -> impl Iterator<Item = (Place, &'a [u8])> {
        let image = *self;
        let base =
            move |base: &Base| Some((Place::of_number(base.place)?, image.string(base.path)));
        self.autorun().iter().filter_map(base)
    }
}
