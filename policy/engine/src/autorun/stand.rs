//! Finds the positions of a path in the built-in list: the places below which it lies.

use super::list::{Entry, Place};
use super::positions::{Positions, beginning, listed, may_begin};
use crate::capability::Capabilities;
use crate::components::{Components, leads_to};
use crate::image::Image;
use crate::image::walk::Walk;
use crate::layout::{Base, Rule, Text};
use crate::tier::Reach;
use crate::volume::Names;

/// The rule that decides about a path, and the part of the path after its anchor.
pub(super) type Winner<'i, 'p> = Option<(&'i Rule, &'p [u8])>;

/// The changes that need a prompt at a file that may be deleted.
const TO_MAKE: Capabilities = Capabilities::CREATE.union(Capabilities::UPDATE);

/// The name of a repository in its working tree, and the end of the name of a bare one.
const REPOSITORY: &[u8; 4] = b".git";

/// A place at which the list begins, and the part of a path below it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stand<'p> {
    pub(super) place: Place,
    pub(super) tail: &'p [u8],
    pub(super) names: Names<'p>,
    /// The path is in a nested repository, which may be removed.
    pub(super) is_nested: bool,
}

impl<'p> Stand<'p> {
    /// The position of a path that is `tail` below a `place`. A repository has a list of its own, at any depth.
    #[inline(never)] // keeps the stack use of these from adding up
    pub(super) fn of(place: Place, tail: &'p [u8], names: Names<'p>) -> Self {
        let tail = tail.strip_prefix(b"/").unwrap_or(tail);
        let whole = Self { place, tail, names, is_nested: false };
        if place != Place::Top {
            return whole;
        }
        let Some(end) = repository(tail, names) else { return whole };
        let is_nested = end > REPOSITORY.len();
        match tail.get(end..) {
            Some([b'/', rest @ ..]) => {
                Self { place: Place::Repository, tail: rest, is_nested, ..whole }
            }
            _ => Self { tail: REPOSITORY, is_nested, ..whole },
        }
    }

    /// The position inside a directory. Paths in a repository are below the list of that repository.
    pub(super) fn of_directory(self) -> Self {
        if self.place != Place::Top || !self.tail.ends_with(REPOSITORY) {
            return self;
        }
        let is_nested = self.is_nested || self.tail != REPOSITORY;
        Self { place: Place::Repository, tail: &[], is_nested, ..self }
    }

    /// The entry that the path belongs to.
    pub(super) fn entry(self) -> Option<&'static Entry> {
        listed(self.names, self.place, self.tail)
    }

    /// The changes that need a prompt there.
    #[inline(never)]
    pub(super) fn asked(self) -> Capabilities {
        match self.entry() {
            None => Capabilities::NONE,
            Some(entry) if self.is_nested || entry.may_go => TO_MAKE,
            Some(_) => Capabilities::WRITE,
        }
    }

    /// Whether the path, or something below it, may belong to an entry. Takes one look.
    pub(super) fn may_be_listed(self) -> bool {
        let is_in_repository = self.place == Place::Repository || self.tail.ends_with(REPOSITORY);
        is_in_repository || may_begin(self.names, self.place, self.tail)
    }

    /// The entries that paths below the directory may belong to, and the directory's positions in their patterns.
    pub(super) fn active(self) -> impl Iterator<Item = (&'static Entry, Positions)> {
        let Self { place, tail, names, .. } = self;
        beginning(names, place, tail).filter_map(move |entry| {
            let at = Positions::behind(names, entry.pattern, tail).inside(entry.pattern);
            at.is_any().then_some((entry, at))
        })
    }
}

/// The end of the name of the innermost repository that contains the path. A name `.git` comes before a name
/// `NAME.git`.
#[inline(never)]
fn repository(tail: &[u8], names: Names<'_>) -> Option<usize> {
    if names.folds().is_none() && !tail.windows(REPOSITORY.len()).any(|part| part == REPOSITORY) {
        return None;
    }
    let mut found = None;
    let mut is_certain = false;
    for name in Components::of(tail) {
        let is_exact = names.are_same(name.name, REPOSITORY);
        if is_exact || !is_certain && names.ends_with(name.name, *REPOSITORY) {
            found = Some(name.end);
            is_certain |= is_exact;
        }
    }
    found
}

/// The positions of the path.
pub(super) fn stands<'p>(
    image: &'p Image<'_>,
    path: &'p [u8],
    winner: Winner<'_, 'p>,
) -> impl Iterator<Item = Stand<'p>> {
    let names = image.names();
    let by_base = image
        .bases(path)
        .filter_map(move |(place, base)| Some(Stand::of(place, names.below(base, path)?, names)));
    by_base.chain(by_anchor(image, path, winner))
}

/// The positions inside the directory, for the rule that decides there.
pub(super) fn of_directory<'p>(
    image: &'p Image<'_>,
    path: &'p [u8],
) -> impl Iterator<Item = Stand<'p>> {
    stands(image, path, winner(image, path)).map(Stand::of_directory)
}

/// The rule that decides about the path.
pub(super) fn winner<'i, 'p>(image: &Image<'i>, path: &'p [u8]) -> Winner<'i, 'p> {
    let (id, tail) = Walk::along(image, path).winner(path)?;
    Some((image.rule(id)?, tail))
}

/// The position below the anchor of a rule outside the workspace, where the list begins, too.
pub(super) fn by_anchor<'p>(
    image: &'p Image<'_>,
    path: &'p [u8],
    winner: Winner<'_, 'p>,
) -> Option<Stand<'p>> {
    let (_, tail) = winner.filter(|(rule, _)| Reach::of(rule).is_declared())?;
    if image.autorun().is_empty() || leads_to(image.text(Text::Workspace), path) {
        return None;
    }
    let anchor = path.strip_suffix(tail).unwrap_or(path);
    let is_repository = image.names().ends_with(anchor, *REPOSITORY);
    let place = if is_repository { Place::Repository } else { Place::Top };
    Some(Stand::of(place, tail, image.names()))
}

impl<'a> Image<'a> {
    /// The places where the built-in list begins that can concern the canonical `path`, or paths below it.
    pub(super) fn bases<'s>(
        &'s self,
        path: &[u8],
    ) -> impl Iterator<Item = (Place, &'a [u8])> + use<'a, 's> {
        let base = |base: &Base| Some((Place::of_number(base.place)?, self.string(base.path)));
        self.autorun_about(path).iter().filter_map(base)
    }
}
