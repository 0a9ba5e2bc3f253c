//! Auto-run files: files that programs outside a run obey without anybody starting the project's code (spec §10.1).
//! Changing one takes a prompt, whatever is granted. The evaluator asks here, and only about changes.
//!
//! The list is part of the program. An image only says where the list's patterns begin. So the list costs nothing when
//! a run starts, and looking at a path takes one comparison per beginning.

mod ahead;
pub mod list;
mod positions;
mod stand;

#[cfg(feature = "std")]
pub(crate) use self::ahead::entries_below;
pub use self::ahead::may_ask_below;
pub(crate) use self::ahead::{End, asks_more_at, is_ahead, ordinary, takes_along};
use self::list::Entry;
#[cfg(feature = "std")]
use self::list::Place;
use self::stand::{Stand, Winner, stands, winner};
use crate::automaton::Marks;
use crate::capability::Capabilities;
use crate::image::{Image, walk};
use crate::layout::Rule;
use crate::request::{Lookup, Request};
use crate::tier::{Reach, Restraint};
#[cfg(feature = "std")]
use crate::volume::Names;

/// The entry of the built-in list that the canonical path belongs to, whether or not a rule names the path. Judges this
/// image alone.
#[must_use]
pub fn entry(image: &Image<'_>, path: &[u8]) -> Option<&'static Entry> {
    stands(image, path, winner(image, path)).find_map(Stand::entry)
}

/// Whether the path is a configuration of git, of which ordinary changes are harmless, in this run or one around it.
#[must_use]
pub fn is_git_config(image: &Image<'_>, path: &[u8]) -> bool {
    image.levels().any(|image| entry(image, path).is_some_and(|entry| entry.is_git_config))
}

/// Whether the path has a name through which git finds a repository elsewhere.
#[must_use]
pub fn may_be_git_link(path: &[u8]) -> bool {
    path.ends_with(b"/.git") || path.ends_with(b"/commondir")
}

/// Whether no prompt is needed for auto-run files that this rule grants.
pub(crate) fn is_free(rule: &Rule) -> bool {
    rule.names_autorun != 0 || Reach::of(rule) == Reach::Own
}

/// Reduces `found` to the capabilities that need no prompt: of an auto-run file, none that changes it. `winner` is the
/// rule that decides, and the part of the path after its anchor.
pub(crate) fn restrain(
    image: &Image<'_>,
    request: &Request<'_>,
    winner: Winner<'_, '_>,
    found: &mut Lookup,
) {
    let able = if request.directory { Capabilities::UPDATE } else { Capabilities::WRITE };
    let able = able.intersection(found.caps);
    if able.is_empty() {
        return;
    }
    let autorun = asked(image, request, winner).intersection(able);
    if autorun.is_empty() {
        return;
    }
    found.caps = found.caps.difference(autorun);
    found.asks = found.asks.union(autorun);
    found.withheld = found.withheld.union(autorun);
    found.restraint = Some(Restraint::Autorun);
    found.autorun = autorun;
}

/// The changes at `request` that a person is asked about.
fn asked(image: &Image<'_>, request: &Request<'_>, winner: Winner<'_, '_>) -> Capabilities {
    if image.autorun().is_empty() && image.tiers().is_none() {
        return Capabilities::NONE;
    }
    if winner.is_some_and(|(rule, _)| is_free(rule)) {
        return Capabilities::NONE;
    }
    let mut asked = listed(image, request.path, winner);
    // Changes at the place of a view do not land there.
    let is_led = || walk::alias(image, request.route).is_some_and(|alias| alias.is_view);
    if !request.is_by_own_name() && !is_led() {
        asked = asked.union(listed(image, request.route, None));
    }
    if asked.is_empty() || is_released(image, request) { Capabilities::NONE } else { asked }
}

/// The changes that need a prompt at the path, which may be a spelling. Looks at the built-in list and the patterns
/// that somebody added.
fn listed(image: &Image<'_>, path: &[u8], winner: Winner<'_, '_>) -> Capabilities {
    let mut asked = asked_by_anchor(image, path, winner);
    for (place, base) in image.bases(path) {
        if let Some(tail) = image.names().below(base, path) {
            asked = asked.union(Stand::of(place, tail, image.names()).asked());
        }
    }
    asked.with_if(has_mark(image, path, Marks::AUTORUN), Capabilities::WRITE)
}

#[inline(never)] // keeps its stack use from adding up with the rest
fn asked_by_anchor(image: &Image<'_>, path: &[u8], winner: Winner<'_, '_>) -> Capabilities {
    stand::by_anchor(image, path, winner).map_or(Capabilities::NONE, Stand::asked)
}

/// Whether a person allowed this run to change it.
fn is_released(image: &Image<'_>, request: &Request<'_>) -> bool {
    let is_released = |path| has_mark(image, path, Marks::RELEASED);
    is_released(request.path) || !request.is_by_own_name() && is_released(request.route)
}

#[inline(never)]
fn has_mark(image: &Image<'_>, path: &[u8], mark: Marks) -> bool {
    image.tiers().is_some_and(|tiers| tiers.automaton.look(path).here.intersects(mark))
}

/// The entry that the canonical path belongs to, and its place, if the list begins at these `bases`.
#[cfg(feature = "std")]
pub(crate) fn entry_below(
    bases: &[(Place, std::path::PathBuf)],
    path: &[u8],
) -> Option<(Place, &'static Entry)> {
    use std::os::unix::ffi::OsStrExt as _;
    let exact = Names::default();
    let mut bases = bases.iter().map(|(place, base)| (*place, base.as_os_str().as_bytes()));
    bases.find_map(|(place, base)| placed(Stand::of(place, exact.below(base, path)?, exact)))
}

/// The entry that the path belongs to in any directory that a rule may stand on. For messages.
#[cfg(feature = "std")]
pub(crate) fn entry_somewhere(path: &[u8]) -> Option<(Place, &'static Entry)> {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut tails = ends.filter_map(|(at, _)| path.get(at.wrapping_add(1)..));
    tails.find_map(|tail| placed(Stand::of(Place::Top, tail, Names::default())))
}

#[cfg(feature = "std")]
fn placed(stand: Stand<'_>) -> Option<(Place, &'static Entry)> {
    Some((stand.place, stand.entry()?))
}
