//! Tracks moves in the workspace: the contents of a directory move along.

use std::collections::HashSet;

use super::replay::ReplayStage;
use super::tree::{is_below, join};
use crate::record::generated_names;
use crate::record::usage::{Use, UseKind, UsePart, Uses, directory, name};

/// Limit on the former places of one file.
const MOST: usize = 8;

/// The moves of a run.
#[derive(Debug)]
pub(crate) struct Moves<'u> {
    /// Source and destination, relative to the workspace.
    pairs: Vec<(&'u [u8], &'u [u8])>,
    /// Entries created under generated names.
    drawn: HashSet<&'u [u8]>,
}

impl<'u> Moves<'u> {
    /// All moves among `uses`.
    pub(crate) fn of(stage: &ReplayStage<'_>, uses: &'u Uses) -> Self {
        let moved =
            |one: &&Use| matches!(one.how, UseKind::Moved | UseKind::Replaced | UseKind::Exchanged);
        let pair = |one: &'u Use| Some((stage.inside(&one.path)?, stage.inside(&one.other)?));
        let drawn = uses.counts.keys().flat_map(Use::parts).filter(|part| part.drawn);
        let inside = |part: UsePart<'u>| stage.inside(part.path);
        Self {
            pairs: uses.counts.keys().filter(moved).filter_map(pair).collect(),
            drawn: drawn.filter_map(inside).collect(),
        }
    }

    /// Whether a directory around `path` was moved, or something was moved there.
    pub(crate) fn take_along(&self, path: &[u8]) -> bool {
        self.pairs.iter().any(|(from, to)| is_in(path, from) || is_in(path, to))
    }

    /// The places of the file that is at `path` in the end, that one first, as the directories around it were moved.
    /// Places with generated names are left out.
    pub(crate) fn places(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let mut places = vec![path.to_vec()];
        let mut next = 0;
        while let Some(place) = places.get(next).filter(|_| next < MOST).cloned() {
            let ways = self.pairs.iter().flat_map(|&(from, to)| [(from, to), (to, from)]);
            for (here, there) in ways.filter(|(here, _)| is_in(&place, here)) {
                let other = [there, place.get(here.len()..).unwrap_or_default()].concat();
                if !self.is_drawn(there) && !places.contains(&other) {
                    places.push(other);
                }
            }
            next += 1;
        }
        places
    }

    /// The places of the directory at `path` when something may have been in it, as in [`Self::places`].
    pub(crate) fn places_of_directory(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let entries = self.places(&join(path, b"."));
        entries.iter().map(|entry| directory(entry).to_vec()).collect()
    }

    /// The names of entries in the directory at `path` that were moved there or from there, or contain a moved entry.
    pub(crate) fn arrived(&self, path: &[u8]) -> impl Iterator<Item = &'u [u8]> {
        let ends = self.pairs.iter().flat_map(|&(from, to)| [from, to]);
        let inside = ends.filter_map(move |end| end.strip_prefix(path));
        let inside =
            inside.filter_map(
                move |end| {
                    if path.is_empty() { Some(end) } else { end.strip_prefix(b"/") }
                },
            );
        inside.filter_map(|end| end.split(|&byte| byte == b'/').next())
    }

    fn is_drawn(&self, directory: &[u8]) -> bool {
        generated_names::is_made_up(name(directory)) || self.drawn.contains(directory)
    }
}

/// Whether `path` is below `directory`.
fn is_in(path: &[u8], directory: &[u8]) -> bool {
    path != directory && is_below(path, directory)
}
