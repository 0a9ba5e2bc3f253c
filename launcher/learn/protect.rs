//! What must not be granted along with the directory it is in: files that hold secrets or decide what
//! runs, and that nobody used.

use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_policy::Capabilities;

use super::before::LIMIT;
use super::names;
use super::record::{How, Part, Use, Uses};
use super::replay::Stage;
use super::tree::{Purpose, Rule, can_be_written, is_below, join, name, nearest};
use crate::made_up;

/// So many places are looked for where one file stood.
const MOVES: usize = 8;

/// In a directory of more entries no rules are written for each.
const FEW: usize = 12;

/// Adds rules to `rules` that take such files of the workspace out of them again; whether everything that
/// is granted was looked at.
pub(crate) fn protect(stage: &Stage<'_>, uses: &Uses, rules: &mut Vec<Rule>) -> bool {
    let mut seen = 0;
    let anchors: Vec<Vec<u8>> = rules.iter().map(|rule| rule.path.clone()).collect();
    for anchor in &anchors {
        let covered = anchors.iter().any(|other| other != anchor && is_below(anchor, other));
        if !covered {
            look(stage, uses, anchor, rules, &mut seen);
        }
    }
    seen < LIMIT
}

/// Takes what options and files denied while it was learned out of what the rules grant beside it: the next run has
/// neither.
pub(crate) fn keep_denied(stage: &Stage<'_>, rules: &mut Vec<Rule>) {
    for path in stage.denied() {
        let rule = nearest(rules, path).and_then(|place| rules.get(place));
        if rule.is_some_and(|rule| rule.path != path && !rule.caps.is_empty()) {
            let (path, caps) = (path.to_vec(), Capabilities::NONE);
            rules.push(Rule { path, caps, purpose: Purpose::Denies });
        }
    }
}

/// Where a directory stands for names that will be others next time, leaves everything in it that was there before
/// and has no rule as it was: readable where the directory was listed. In the workspace itself that is always so,
/// elsewhere where these are few. Goes before [`protect`], which is to know how little is granted there.
pub(crate) fn keep_what_was_there(stage: &Stage<'_>, uses: &Uses, rules: &mut Vec<Rule>) {
    let passing: Vec<Vec<u8>> = rules
        .iter()
        .filter(|rule| rule.purpose == Purpose::Passing && !is_moved(stage, uses, &rule.path))
        .map(|rule| rule.path.clone())
        .collect();
    for directory in passing {
        let kept = kept_in(stage, uses, rules, &directory);
        if directory.is_empty() || kept.len() <= FEW {
            rules.extend(kept);
        }
    }
}

/// Whether the directory, or one around it, was moved or removed: rules for what is in it would not let it go
/// (spec §5.2, R5).
fn is_moved(stage: &Stage<'_>, uses: &Uses, directory: &[u8]) -> bool {
    uses.counts.keys().flat_map(Use::parts).any(|part| {
        let goes = part.caps.contains(Capabilities::DELETE);
        goes && stage.inside(part.path).is_some_and(|path| is_below(directory, path))
    })
}

/// Rules for what was in the directory before and has none.
fn kept_in(stage: &Stage<'_>, uses: &Uses, rules: &[Rule], directory: &[u8]) -> Vec<Rule> {
    let parts = || uses.counts.keys().flat_map(Use::parts);
    let linked = uses.counts.keys().filter(|one| one.how == How::Linked);
    // What got a second name there it has to grant what that may be used for.
    let stays = parts().filter(|part| part.made).map(|part| part.path);
    let stays: Vec<&[u8]> = stays
        .chain(linked.map(|one| one.path.as_slice()))
        .chain(uses.links.iter().map(Vec::as_slice))
        .filter_map(|path| stage.inside(path))
        .collect();
    let lists = |part: &Part<'_>| stage.inside(part.path) == Some(directory);
    let caps = parts().filter(lists).fold(Capabilities::NONE, |caps, part| caps.union(part.caps));
    let listed = caps.intersection(Capabilities::READ);
    let paths = entries(stage, directory).map(|it| join(directory, it.file_name().as_bytes()));
    paths
        .filter(|path| !stays.contains(&path.as_slice()))
        .filter(|path| !rules.iter().any(|rule| rule.path == *path))
        .map(|path| {
            let is_closed = stage.is_secret(&path)
                || names::is_history(name(&path)) && is_unused(stage, uses, &path);
            let caps = if is_closed { Capabilities::NONE } else { listed };
            Rule { path, caps, purpose: Purpose::Withholds }
        })
        .collect()
}

/// Goes through the directory at `path`, workspace-relative, without following links.
fn look(stage: &Stage<'_>, uses: &Uses, path: &[u8], rules: &mut Vec<Rule>, seen: &mut usize) {
    for entry in entries(stage, path) {
        *seen += 1;
        if *seen >= LIMIT {
            return;
        }
        let path = join(path, entry.file_name().as_bytes());
        for place in stood(stage, uses, rules, &path) {
            let caps = less(stage, uses, rules, &place);
            rules.extend(caps.map(|caps| withheld(place, caps)));
        }
        if let Some(caps) = less(stage, uses, rules, &path) {
            rules.push(withheld(path, caps));
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(stage, uses, &path, rules, seen);
        }
    }
}

fn withheld(path: Vec<u8>, caps: Capabilities) -> Rule {
    Rule { path, caps, purpose: Purpose::Withholds }
}

/// What is in the directory at `path`, but for what no rule can name, and links: a rule on one is about what it leads
/// to, which has a rule of its own, or is outside, where no such rule can stand.
fn entries(stage: &Stage<'_>, path: &[u8]) -> impl Iterator<Item = DirEntry> {
    let all = fs::read_dir(stage.place(path)).into_iter().flatten().flatten();
    let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    all.filter(move |entry| can_be_written(entry.file_name().as_bytes()) && !is_link(entry))
}

/// What is to be granted at `path` where that is less than what the rules grant that are for others.
fn less(stage: &Stage<'_>, uses: &Uses, rules: &[Rule], path: &[u8]) -> Option<Capabilities> {
    let rule = nearest(rules, path).and_then(|place| rules.get(place))?;
    let is_apart = names::is_history(name(path)) || names::decides_what_runs(path);
    let left = if stage.is_secret(path) || is_apart && is_unused(stage, uses, path) {
        left_to_moves(stage, uses, path, rule.caps)
    } else if names::decides_what_runs(path) {
        rule.caps.difference(Capabilities::WRITE)
    } else {
        return None;
    };
    (rule.path != path && rule.caps != left).then_some(left)
}

/// What stays granted at `path`, of `caps`, that was not used: nothing, or where a directory around it was moved all
/// but reading it. That goes nowhere over what may be used for less in it than where it goes to (spec §5.2, R5).
fn left_to_moves(stage: &Stage<'_>, uses: &Uses, path: &[u8], caps: Capabilities) -> Capabilities {
    let reading = Capabilities::READ.union(Capabilities::EXECUTE);
    let goes_along = moves(stage, uses).any(|(from, to)| is_in(path, from) || is_in(path, to));
    match (goes_along, caps.intersects(reading)) {
        (false, _) => Capabilities::NONE,
        (true, false) => caps,
        (true, true) => caps.difference(reading).union(Capabilities::DELETE),
    }
}

/// Where else what is at `path` in the end stood, as the directories around it were moved, but for names that will be
/// others next time; nowhere, where it has a rule in one of these places.
fn stood(stage: &Stage<'_>, uses: &Uses, rules: &[Rule], path: &[u8]) -> Vec<Vec<u8>> {
    let mut places = vec![path.to_vec()];
    let mut next = 0;
    while let Some(place) = places.get(next).filter(|_| next < MOVES).cloned() {
        let moved = |(from, to)| [(from, to), (to, from)];
        for (here, there) in moves(stage, uses).flat_map(moved).filter(|it| is_in(&place, it.0)) {
            let rest = place.get(here.len()..).unwrap_or_default();
            let other = [there, rest].concat();
            if !is_drawn(stage, uses, there) && !places.contains(&other) {
                places.push(other);
            }
        }
        next += 1;
    }
    let is_ruled = |place: &Vec<u8>| rules.iter().any(|rule| rule.path == *place);
    if places.iter().any(is_ruled) { Vec::new() } else { places.split_off(1) }
}

/// Whether the directory has a name that will be another next time.
fn is_drawn(stage: &Stage<'_>, uses: &Uses, directory: &[u8]) -> bool {
    let drawn = |part: Part<'_>| part.drawn && stage.inside(part.path) == Some(directory);
    made_up::is_made_up(name(directory)) || uses.counts.keys().flat_map(Use::parts).any(drawn)
}

/// What was moved, in the workspace: from where to where.
fn moves<'u>(stage: &Stage<'u>, uses: &'u Uses) -> impl Iterator<Item = (&'u [u8], &'u [u8])> {
    let moved = |one: &&Use| matches!(one.how, How::Moved | How::Replaced | How::Exchanged);
    let all = uses.counts.keys().filter(moved);
    all.filter_map(|one| Some((stage.inside(&one.path)?, stage.inside(&one.other)?)))
}

/// Whether `path` is below `directory`.
fn is_in(path: &[u8], directory: &[u8]) -> bool {
    path != directory && is_below(path, directory)
}

/// Whether nothing asked for `path`, or for what would be below it.
fn is_unused(stage: &Stage<'_>, uses: &Uses, path: &[u8]) -> bool {
    let is_in = |used: &[u8]| stage.inside(used).is_some_and(|used| is_below(used, path));
    !uses.counts.keys().any(|one| is_in(&one.path) || is_in(&one.other))
}
