//! Where things were moved in the workspace: what is in a directory goes along.

use std::collections::HashSet;

use super::replay::Stage;
use super::tree::{is_below, join};
use crate::record::generated_names;
use crate::record::usage::{How, Part, Use, Uses, directory, name};

/// So many places are looked for where one file stood.
const MOST: usize = 8;

/// The moves of a run.
#[derive(Debug)]
pub(crate) struct Moves<'u> {
    /// From where to where, workspace-relative.
    pairs: Vec<(&'u [u8], &'u [u8])>,
    /// What was made under names that will be others next time.
    drawn: HashSet<&'u [u8]>,
}

impl<'u> Moves<'u> {
    /// All among `uses`.
    pub(crate) fn of(stage: &Stage<'_>, uses: &'u Uses) -> Self {
        let moved = |one: &&Use| matches!(one.how, How::Moved | How::Replaced | How::Exchanged);
        let pair = |one: &'u Use| Some((stage.inside(&one.path)?, stage.inside(&one.other)?));
        let drawn = uses.counts.keys().flat_map(Use::parts).filter(|part| part.drawn);
        let inside = |part: Part<'u>| stage.inside(part.path);
        Self {
            pairs: uses.counts.keys().filter(moved).filter_map(pair).collect(),
            drawn: drawn.filter_map(inside).collect(),
        }
    }

    /// Whether a directory around `path` was moved, or something was moved there.
    pub(crate) fn take_along(&self, path: &[u8]) -> bool {
        self.pairs.iter().any(|(from, to)| is_in(path, from) || is_in(path, to))
    }

    /// Where what is at `path` in the end stood, that place first, as the directories around it were moved, but for
    /// names that will be others next time.
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

    /// Where the directory at `path` stood when something may have been in it, as [`Self::places`].
    pub(crate) fn places_of_directory(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let entries = self.places(&join(path, b"."));
        entries.iter().map(|entry| directory(entry).to_vec()).collect()
    }

    /// What came to be in the directory at `path` by being moved there, or has in it what was, by its name.
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
