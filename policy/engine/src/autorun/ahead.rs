//! Finds the auto-run files that may be below a directory. Used for moves, which take names along, and by callers that
//! ask about everything below a directory at once.

use super::list::{Entry, Place};
use super::positions::Positions;
use super::stand::{Stand, Winner, of_directory, stands};
use super::{is_free, is_released};
use crate::automaton::Marks;
use crate::image::{Image, TierLayer};
use crate::request::Request;
#[cfg(feature = "std")]
use crate::volume::Names;

/// Whether a path below the canonical directory may be an auto-run file, in this run or one around it.
#[must_use]
pub fn may_ask_below(image: &Image<'_>, directory: &[u8]) -> bool {
    image.forms([directory; 2]).any(|(_, form)| form.is_none_or(|image| is_ahead(image, directory)))
}

/// As [`may_ask_below`], for this image alone.
pub(crate) fn is_ahead(image: &Image<'_>, directory: &[u8]) -> bool {
    let is_within = |stand: Stand<'_>| stand.place == Place::Top || stand.active().next().is_some();
    let by_pattern =
        |tiers: &TierLayer<'_>| tiers.automaton.look(directory).ahead.intersects(Marks::AUTORUN);
    let is_above = |base: &[u8]| directory == b"/" || image.names().lead_to(directory, base);
    image.bases(directory).any(|(_, base)| is_above(base))
        || of_directory(image, directory).any(is_within)
        || image.tiers().is_some_and(by_pattern)
}

/// Whether repositories may be anywhere below the path, if neither the path nor anything below can be an auto-run file,
/// except in these. `None` if that takes more than a look. By the built-in list, for this image alone.
pub(crate) fn ordinary(image: &Image<'_>, path: &[u8], winner: Winner<'_, '_>) -> Option<bool> {
    let has_base_below = image.bases(path).any(|(_, base)| begins_inside(image, base, path));
    let mut is_top = false;
    for stand in stands(image, path, winner) {
        if stand.may_be_listed() {
            return None;
        }
        is_top |= stand.place == Place::Top;
    }
    (!has_base_below).then_some(is_top)
}

/// Whether a name below the directory of `to` is an auto-run file, but the same name below `from` is not. Without
/// `from` the comparison is with an ordinary directory of the workspace. By the built-in list, for this image alone.
#[inline(never)]
pub(crate) fn asks_more_at(image: &Image<'_>, to: End<'_>, from: Option<End<'_>>) -> bool {
    if to.is_free() {
        return false;
    }
    // Repositories may be anywhere below.
    let may_bring = |from: End<'_>| from.is_free() || !from.is_top(image);
    if from.is_some_and(may_bring) && to.is_top(image) {
        return true;
    }
    let from = from.filter(|from| !from.is_free());
    image.bases(to.path).any(|(_, base)| begins_inside(image, base, to.path))
        || to.stands(image).any(|stand| asks_more_by_list(image, stand, from))
}

#[inline(never)] // keeps the stack use of these from adding up
fn asks_more_by_list(image: &Image<'_>, stand: Stand<'_>, from: Option<End<'_>>) -> bool {
    let is_asked_before = |(entry, at): (&Entry, Positions)| {
        from.is_some_and(|from| from.is_as_far(image, stand, entry, at))
    };
    stand.active().any(|one| !is_asked_before(one))
}

/// A directory, with the rule that decides there and the part of the path after its anchor.
#[derive(Clone, Copy)]
pub(crate) struct End<'e> {
    pub(crate) path: &'e [u8],
    pub(crate) winner: Winner<'e, 'e>,
}

impl<'e> End<'e> {
    /// Whether no prompt is needed there for auto-run files.
    fn is_free(self) -> bool {
        self.winner.is_some_and(|(rule, _)| is_free(rule))
    }

    #[inline(never)]
    fn is_top(self, image: &Image<'_>) -> bool {
        self.stands(image).any(|stand| stand.place == Place::Top)
    }

    #[inline(never)]
    fn is_as_far(self, image: &Image<'_>, stand: Stand<'_>, entry: &Entry, at: Positions) -> bool {
        self.stands(image).any(|there| is_as_far(there, stand, entry, at))
    }

    fn stands<'s>(self, image: &'s Image<'_>) -> impl Iterator<Item = Stand<'s>>
    where
        'e: 's,
    {
        stands(image, self.path, self.winner).map(Stand::of_directory)
    }
}

/// Whether a moved directory contains auto-run files that are none at the new place. Looks at this image alone.
#[inline(never)]
pub(crate) fn takes_along(image: &Image<'_>, from: &Request<'_>, to: &[u8]) -> bool {
    let takes = image.bases(from.path).any(|(_, base)| begins_inside(image, base, from.path))
        || takes_along_by_list(image, from.path, to)
        || takes_along_by_pattern(image, from.path, to);
    takes && !is_released(image, from)
}

/// As [`takes_along`], by the built-in list. Leaves out nested repositories, which may go, and a whole directory that
/// is a rule's anchor.
fn takes_along_by_list(image: &Image<'_>, from: &[u8], to: &[u8]) -> bool {
    let is_left = |stand: Stand<'_>, (entry, at): (&Entry, Positions)| {
        !of_directory(image, to).any(|there| is_as_far(there, stand, entry, at))
    };
    let is_base = image.bases(from).any(|(_, base)| image.names().are_same(from, base));
    let is_whole =
        |stand: &Stand<'_>| !is_base && stand.place == Place::Top && stand.tail.is_empty();
    let mut own = of_directory(image, from).filter(|stand| !stand.is_nested && !is_whole(stand));
    own.any(|stand| stand.active().any(|one| !one.0.may_go && is_left(stand, one)))
}

fn takes_along_by_pattern(image: &Image<'_>, from: &[u8], to: &[u8]) -> bool {
    let Some(tiers) = image.tiers() else { return false };
    let asks = |marks: Marks| marks.intersects(Marks::AUTORUN);
    asks(tiers.automaton.look(from).ahead)
        && !tiers.automaton.all_below([from, to], true, |here, there| !asks(here) || asks(there))
}

/// Whether the path `there` is as far along the pattern of an entry as `stand` is, which is at `at`.
fn is_as_far(there: Stand<'_>, stand: Stand<'_>, entry: &Entry, at: Positions) -> bool {
    there.place == stand.place
        && Positions::behind(there.names, entry.pattern, there.tail).contains(at)
}

/// Whether the list begins at `base`, somewhere below the directory.
fn begins_inside(image: &Image<'_>, base: &[u8], directory: &[u8]) -> bool {
    let names = image.names();
    names.lead_to(directory, base) && names.below(base, directory).is_none()
}

/// The entries that may match something below the directory, if the list begins at these `bases`. For messages.
#[cfg(feature = "std")]
pub(crate) fn entries_below(
    bases: &[(Place, std::path::PathBuf)],
    directory: &[u8],
) -> std::vec::Vec<(Place, &'static Entry)> {
    use std::os::unix::ffi::OsStrExt as _;
    let (mut found, exact) = (std::vec::Vec::new(), Names::default());
    for (place, base) in bases.iter().map(|(place, base)| (*place, base.as_os_str().as_bytes())) {
        match exact.below(base, directory) {
            Some(tail) => {
                let stand = Stand::of(place, tail, exact).of_directory();
                found.extend(stand.active().map(|(entry, _)| (stand.place, entry)));
            }
            None if exact.lead_to(directory, base) => {
                found.extend(place.entries().first().map(|entry| (place, entry)));
            }
            None => {}
        }
    }
    found
}
