//! What must not be granted along with the directory it is in: files that hold secrets or decide what
//! runs, and that nobody used.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_policy::Capabilities;

use super::before::LIMIT;
use super::moves::Moves;
use super::names;
use super::record::{How, Part, Use, Uses};
use super::replay::Stage;
use super::tree::{self, Purpose, Rule, can_be_written, is_below, join, name, nearest};
use crate::made_up;

/// In a directory of more entries no rules are written for each.
pub(crate) const FEW: usize = 12;

/// Adds rules to `rules` that take such files of the workspace out of them again; whether everything that
/// is granted was looked at.
pub(crate) fn protect(stage: &Stage<'_>, uses: &Uses, rules: &mut Vec<Rule>) -> bool {
    let mut search = Search { stage, uses, moves: Moves::of(stage, uses), seen: 0 };
    let anchors: Vec<Vec<u8>> = rules.iter().map(|rule| rule.path.clone()).collect();
    for anchor in &anchors {
        let covered = anchors.iter().any(|other| other != anchor && is_below(anchor, other));
        if !covered {
            search.look(anchor, rules);
        }
    }
    search.seen < LIMIT
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
/// and has no rule as it was: readable where the directory was listed. That is so where these are few, and always for
/// what is on the way to what was used, for what is closed, and at the top of the workspace for what could be changed.
/// Goes before [`protect`], which is to know how little is granted there. Returns where there is too much for that, and
/// how much of it.
pub(crate) fn keep_what_was_there(
    stage: &Stage<'_>,
    uses: &Uses,
    rules: &mut Vec<Rule>,
) -> BTreeMap<Vec<u8>, usize> {
    let passing: Vec<(Vec<u8>, Capabilities)> = rules
        .iter()
        .filter(|rule| matches!(rule.purpose, Purpose::Passing | Purpose::Opened))
        .filter(|rule| !is_moved(stage, uses, &rule.path))
        .map(|rule| (rule.path.clone(), rule.caps))
        .collect();
    let mut crowds = BTreeMap::new();
    let changes_nothing = Capabilities::READ.union(Capabilities::CREATE);
    for (directory, caps) in passing {
        let kept = kept_in(stage, uses, rules, &directory);
        let leads = |kept: &Rule| rules.iter().any(|rule| is_below(&rule.path, &kept.path));
        let is_certain = |kept: &Rule| leads(kept) || is_closed(stage, uses, &kept.path);
        let (certain, unused): (Vec<Rule>, Vec<Rule>) = kept.into_iter().partition(is_certain);
        rules.extend(certain);
        let may_be_all = !directory.is_empty() || changes_nothing.contains(caps);
        if unused.len() <= FEW || !may_be_all {
            rules.extend(unused);
        } else {
            crowds.insert(directory, unused.len());
        }
    }
    crowds
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
    let lists = |part: &Part<'_>| !part.opened && stage.inside(part.path) == Some(directory);
    let caps = parts().filter(lists).fold(Capabilities::NONE, |caps, part| caps.union(part.caps));
    let listed = caps.intersection(Capabilities::READ);
    let kinds = kinds_in(stage, uses, directory);
    let is_of_kinds =
        |path: &[u8]| made_up::kind(name(path)).is_some_and(|kind| kinds.contains(&kind));
    let paths = entries(stage, directory).map(|it| join(directory, it.file_name().as_bytes()));
    paths
        .filter(|path| !stays.contains(&path.as_slice()) && !is_of_kinds(path))
        .filter(|path| !rules.iter().any(|rule| rule.path == *path))
        .map(|path| {
            let caps = if is_closed(stage, uses, &path) { Capabilities::NONE } else { listed };
            Rule { path, caps, purpose: Purpose::Withholds }
        })
        .collect()
}

/// The kinds of made-up names in the directory of which the run made some that stay, or removed some: the directory's
/// rule is for what was there before under such names, too.
fn kinds_in(stage: &Stage<'_>, uses: &Uses, directory: &[u8]) -> HashSet<Vec<u8>> {
    let is_change = |one: &&Use| !matches!(one.how, How::Absent | How::Existed);
    let parts = || uses.counts.keys().filter(is_change).flat_map(Use::parts);
    let made = parts().filter(|part| part.made).filter_map(|part| stage.inside(part.path));
    let made: HashSet<&[u8]> = made.collect();
    let changes = |part: &Part<'_>| part.made || part.caps.contains(Capabilities::DELETE);
    let paths = parts().filter(changes).filter_map(|part| stage.inside(part.path));
    paths
        .filter(|path| tree::directory(path) == directory && made_up::is_made_up(name(path)))
        .filter(|path| made.contains(path) == stage.is_there(path))
        .filter_map(|path| made_up::kind(name(path)))
        .collect()
}

/// Whether what is at `path` is not even read by whoever lists the directory it is in.
fn is_closed(stage: &Stage<'_>, uses: &Uses, path: &[u8]) -> bool {
    stage.is_secret(path) || names::is_history(name(path)) && is_unused(stage, uses, path)
}

/// The search for what is to be taken out.
#[derive(Debug)]
struct Search<'a> {
    stage: &'a Stage<'a>,
    uses: &'a Uses,
    moves: Moves<'a>,
    /// How many entries were looked at.
    seen: usize,
}

impl Search<'_> {
    /// Goes through the directory at `path`, workspace-relative, without following links.
    fn look(&mut self, path: &[u8], rules: &mut Vec<Rule>) {
        for entry in entries(self.stage, path) {
            self.seen += 1;
            if self.seen >= LIMIT {
                return;
            }
            let path = join(path, entry.file_name().as_bytes());
            if self.may_be_withheld(&path) {
                self.withhold_where_it_stood(&path, rules);
            }
            if let Some(caps) = self.less(rules, &path) {
                rules.push(Rule { path, caps, purpose: Purpose::Withholds });
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.look(&path, rules);
            }
        }
    }

    fn may_be_withheld(&self, path: &[u8]) -> bool {
        self.stage.is_apart(path) || names::is_history(name(path))
    }

    /// Withholds what is at `path` in the end where else it stood, unless it was used in one of these places.
    fn withhold_where_it_stood(&self, path: &[u8], rules: &mut Vec<Rule>) {
        let places = self.moves.places(path);
        let is_used = |place: &Vec<u8>| {
            rules.iter().any(|rule| rule.path == *place)
                || !self.stage.is_secret(place) && !is_unused(self.stage, self.uses, place)
        };
        if places.iter().any(is_used) {
            return;
        }
        for place in places.into_iter().skip(1) {
            if let Some(caps) = self.less(rules, &place) {
                rules.push(Rule { path: place, caps, purpose: Purpose::Withholds });
            }
        }
    }

    /// What is to be granted at `path` where that is less than what the rules grant that are for others.
    fn less(&self, rules: &[Rule], path: &[u8]) -> Option<Capabilities> {
        if !self.may_be_withheld(path) {
            return None;
        }
        let rule = nearest(rules, path).and_then(|place| rules.get(place))?;
        let left = if self.stage.is_secret(path) || is_unused(self.stage, self.uses, path) {
            self.left_to_moves(path, rule.caps)
        } else if names::decides_what_runs(path) {
            rule.caps.difference(Capabilities::WRITE)
        } else {
            return None;
        };
        (rule.path != path && rule.caps != left).then_some(left)
    }

    /// What stays granted at `path`, of `caps`, that was not used: nothing, or where a directory around it was moved
    /// all but reading it. That goes nowhere over what may be used for less in it than where it goes to (spec §5.2,
    /// R5); what a person is asked about nobody reads by the directory's rule anyway.
    fn left_to_moves(&self, path: &[u8], caps: Capabilities) -> Capabilities {
        let reading = Capabilities::READ.union(Capabilities::EXECUTE);
        let is_read = caps.intersects(reading) && !self.stage.is_sensitive(path);
        match (self.moves.take_along(path), is_read) {
            (false, _) => Capabilities::NONE,
            (true, false) => caps,
            (true, true) => caps.difference(reading).union(Capabilities::DELETE),
        }
    }
}

/// What is in the directory at `path`, but for what no rule can name, and links: a rule on one is about what it leads
/// to, which has a rule of its own, or is outside, where no such rule can stand.
fn entries(stage: &Stage<'_>, path: &[u8]) -> impl Iterator<Item = DirEntry> {
    let all = fs::read_dir(stage.place(path)).into_iter().flatten().flatten();
    let is_link = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    all.filter(move |entry| can_be_written(entry.file_name().as_bytes()) && !is_link(entry))
}

/// Whether nothing asked for `path`, or for what would be below it, but to take it away in vain.
fn is_unused(stage: &Stage<'_>, uses: &Uses, path: &[u8]) -> bool {
    let is_in = |used: &[u8]| stage.inside(used).is_some_and(|used| is_below(used, path));
    let mut uses = uses.counts.keys().filter(|one| one.how != How::Kept);
    !uses.any(|one| is_in(&one.path) || is_in(&one.other))
}
