//! What must not be granted along with the directory it is in: files that hold secrets or decide what
//! runs, and that nobody used.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jp_confine_policy::Capabilities;

use super::moves::Moves;
use super::replay::Stage;
use super::sensitive_names;
use super::tree::{Purpose, Rule, can_be_written, is_below, join, nearest};
use super::tree_before::{self, Found, LIMIT};
use crate::learn::text::readable;
use crate::record::generated_names;
use crate::record::usage::{How, Part, Use, Uses, name};

/// In a directory of more entries no rules are written for each.
pub(crate) const FEW: usize = 12;

/// Directories that no rule opens, and what keeps them from that: what no rule can name; `None` where they cannot be
/// listed.
pub(crate) type Shut = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Adds rules to `rules` that take such files of the workspace out of them again; the directories among what is granted
/// that could not be searched for them.
pub(crate) fn protect(
    stage: &Stage<'_>,
    uses: &Uses,
    shut: &Shut,
    rules: &mut Vec<Rule>,
) -> BTreeSet<Vec<u8>> {
    let granting = rules.iter().filter(|rule| !rule.caps.is_empty());
    let anchors: Vec<Vec<u8>> = granting.map(|rule| rule.path.clone()).collect();
    // Nothing is found by a directory that cannot be listed.
    let ends = |anchor: &[u8], other: &[u8]| {
        shut.keys().any(|shut| is_below(anchor, shut) && is_below(shut, other))
    };
    let covers = |anchor: &[u8], other: &[u8]| {
        other != anchor && is_below(anchor, other) && !ends(anchor, other)
    };
    let is_first = |anchor: &&Vec<u8>| !anchors.iter().any(|other| covers(anchor, other));
    let mut search = Search {
        stage,
        uses,
        moves: Moves::of(stage, uses),
        next: anchors.iter().filter(is_first).cloned().collect(),
        seen: 0,
        left: BTreeSet::new(),
    };
    while let Some(path) = search.next.pop_front() {
        search.look(path, rules);
    }
    let left = stage.left().filter(|path| is_granted_in(rules, path));
    search.left.extend(left.map(<[u8]>::to_vec));
    search.left
}

/// Directories that are not granted, and were not looked at: a link in one may make a secret of what is granted. None
/// where nothing is granted but what was used.
pub(crate) fn unseen(stage: &Stage<'_>, rules: &[Rule]) -> BTreeSet<Vec<u8>> {
    let opens = |rule: &Rule| !rule.caps.is_empty() && stage.place(&rule.path).is_dir();
    let left = stage.left().filter(|path| !is_granted_in(rules, path));
    left.filter(|_| rules.iter().any(opens)).map(<[u8]>::to_vec).collect()
}

/// Directories of which nothing is known that was not used, as they cannot be listed and could not before, or for which
/// no rule can be, as it would open what may hold a secret and was not used: that is named, as no rule can name it.
pub(crate) fn shut(stage: &Stage<'_>, uses: &Uses) -> Shut {
    let moves = Moves::of(stage, uses);
    let is_unknown = |path: &&[u8]| names_in(stage, &moves, path).is_none();
    let unknown = stage.now.closed().chain(stage.before.closed()).filter(is_unknown);
    let is_unnamed = |path: &Vec<u8>| {
        !can_be_written(path) && stage.is_secret(path) && is_unused(stage, uses, path)
    };
    let now = stage.now.paths().filter(is_unnamed).flat_map(|path| moves.places(&path));
    let unnamed = now.chain(stage.before.paths().filter(is_unnamed));
    let paths = unknown.map(<[u8]>::to_vec).chain(unnamed);
    paths.map(|path| (readable(&path).to_vec(), (!can_be_written(&path)).then_some(path))).collect()
}

/// Has no rule around open the directories at `shut`, which none among `rules` is on: what was used in them is granted
/// by its name.
pub(crate) fn keep_shut(rules: &mut Vec<Rule>, shut: &Shut) {
    let kept = |path: &Vec<u8>| {
        let (path, caps) = (path.clone(), Capabilities::NONE);
        Rule { path, caps, purpose: Purpose::Withholds }
    };
    rules.extend(shut.keys().map(kept));
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
    let passing: Vec<Rule> = rules
        .iter()
        .filter(|rule| matches!(rule.purpose, Purpose::Passing(_) | Purpose::Opened))
        .filter(|rule| !is_moved(stage, uses, &rule.path))
        .cloned()
        .collect();
    let mut crowds = BTreeMap::new();
    let moves = Moves::of(stage, uses);
    let changes_nothing = Capabilities::READ.union(Capabilities::CREATE);
    for rule in passing {
        let found = names_in(stage, &moves, &rule.path).unwrap_or_default();
        let kept = kept_in(stage, uses, rules, &rule, found);
        let leads = |kept: &Rule| rules.iter().any(|rule| is_below(&rule.path, &kept.path));
        let is_certain = |kept: &Rule| leads(kept) || is_closed(stage, uses, &kept.path);
        let (certain, unused): (Vec<Rule>, Vec<Rule>) = kept.into_iter().partition(is_certain);
        rules.extend(certain);
        let may_be_all = !rule.path.is_empty() || changes_nothing.contains(rule.caps);
        if unused.len() <= FEW || !may_be_all {
            rules.extend(unused);
        } else {
            crowds.insert(rule.path, unused.len());
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

/// Rules for what was in the directory that `rule` is about before, `found` there, and has none.
fn kept_in(
    stage: &Stage<'_>,
    uses: &Uses,
    rules: &[Rule],
    rule: &Rule,
    found: Vec<Found>,
) -> Vec<Rule> {
    let directory = rule.path.as_slice();
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
    let is_passing = |path: &[u8]| match &rule.purpose {
        Purpose::Passing(kinds) => {
            generated_names::kind(name(path)).is_some_and(|it| kinds.contains(&it))
        }
        _ => false,
    };
    let paths = found.into_iter().map(|entry| join(directory, &entry.name));
    paths
        .filter(|path| can_be_written(path))
        .filter(|path| !stays.contains(&path.as_slice()) && !is_passing(path))
        .filter(|path| !rules.iter().any(|rule| rule.path == *path))
        .map(|path| {
            let caps = if is_closed(stage, uses, &path) { Capabilities::NONE } else { listed };
            Rule { path, caps, purpose: Purpose::Withholds }
        })
        .collect()
}

/// Whether what is at `path` is not even read by whoever lists the directory it is in.
fn is_closed(stage: &Stage<'_>, uses: &Uses, path: &[u8]) -> bool {
    stage.is_secret(path) || sensitive_names::is_history(name(path)) && is_unused(stage, uses, path)
}

/// The search for what is to be taken out.
#[derive(Debug)]
struct Search<'a> {
    stage: &'a Stage<'a>,
    uses: &'a Uses,
    moves: Moves<'a>,
    /// Directories, workspace-relative, that are to be looked at: what is at the top comes first.
    next: VecDeque<Vec<u8>>,
    /// How many entries were looked at.
    seen: usize,
    /// Directories that were not.
    left: BTreeSet<Vec<u8>>,
}

impl Search<'_> {
    /// Goes through the directory at `path`, without following links.
    fn look(&mut self, path: Vec<u8>, rules: &mut Vec<Rule>) {
        let found = (self.seen < LIMIT).then(|| names_in(self.stage, &self.moves, &path));
        let Some(mut found) = found.flatten() else {
            if !granted(rules, &path).is_empty() {
                self.left.insert(path);
            }
            return;
        };
        self.seen += found.len();
        found.extend(self.missing(&path, &found, rules));
        for entry in found {
            self.look_at(join(&path, &entry.name), entry.may_be_directory(), rules);
        }
    }

    /// What decides what runs and could be made in the directory at `path`, beside what was `found` there. A rule on what
    /// is not there would not let a directory around it go (spec §5.2, R5).
    fn missing(&self, path: &[u8], found: &[Found], rules: &[Rule]) -> Vec<Found> {
        let is_there = |name: &[u8]| found.iter().any(|entry| entry.name == name);
        let is_repository = if sensitive_names::is_history(name(path)) {
            !found.is_empty()
        } else {
            // Elsewhere a name alone does not tell.
            is_there(b"HEAD") && (is_there(b"objects") || is_there(b"commondir"))
        };
        let is_moved = || self.moves.take_along(&join(path, b"."));
        let may_be_made = || granted(rules, path).intersects(Capabilities::WRITE);
        if !is_repository || is_moved() || !may_be_made() {
            return Vec::new();
        }
        let missing = sensitive_names::deciders(path).iter().filter(|name| !is_there(name));
        missing.map(|name| Found::unknown(name)).collect()
    }

    fn look_at(&mut self, path: Vec<u8>, may_be_directory: bool, rules: &mut Vec<Rule>) {
        if can_be_written(&path) {
            if self.may_be_withheld(&path) {
                self.withhold_where_it_stood(&path, rules);
            }
            if let Some(caps) = self.less(rules, &path) {
                rules.push(Rule { path, caps, purpose: Purpose::Withholds });
                return;
            }
        }
        if may_be_directory {
            self.next.push_back(path);
        }
    }

    fn may_be_withheld(&self, path: &[u8]) -> bool {
        self.stage.is_apart(path) || sensitive_names::is_history(name(path))
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
        } else if sensitive_names::decides_what_runs(path) || self.leads_git_unchanged(path) {
            rule.caps.difference(Capabilities::WRITE)
        } else {
            return None;
        };
        (rule.path != path && rule.caps != left).then_some(left)
    }

    /// Whether a file is at `path` by which git finds the repository of a submodule or of a further working tree
    /// (`gitrepository-layout(5)`), and nobody changed or moved it: that decides what runs, too.
    fn leads_git_unchanged(&self, path: &[u8]) -> bool {
        let is_it = |part: &Part<'_>| self.stage.inside(part.path) == Some(path);
        let parts = || self.uses.counts.keys().flat_map(Use::parts).filter(is_it);
        name(path) == b".git"
            && self.stage.place(path).is_file()
            && !parts().any(|part| part.caps.intersects(Capabilities::WRITE))
            && !self.moves.take_along(path)
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

/// What is in the directory at `path`, or was where it cannot be listed any more; `None` where neither can be told.
/// Links are left out: a rule on one is about what it leads to, which has a rule of its own, or is outside, where no such
/// rule can stand.
fn names_in(stage: &Stage<'_>, moves: &Moves<'_>, path: &[u8]) -> Option<Vec<Found>> {
    let listed = tree_before::list(&stage.place(path)).ok();
    let mut found = listed.or_else(|| were_in(stage, moves, path))?;
    found.retain(|entry| !entry.is_link());
    Some(found)
}

/// What was in the directory at `path`, wherever that stood, and what was moved there.
fn were_in(stage: &Stage<'_>, moves: &Moves<'_>, path: &[u8]) -> Option<Vec<Found>> {
    let mut found: Vec<Found> = moves.arrived(path).map(Found::unknown).collect();
    for place in moves.places_of_directory(path) {
        found.extend_from_slice(stage.before.entries(&place)?);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Some(found)
}

/// What `rules` grant at `path`.
fn granted(rules: &[Rule], path: &[u8]) -> Capabilities {
    let rule = nearest(rules, path).and_then(|place| rules.get(place));
    rule.map_or(Capabilities::NONE, |rule| rule.caps)
}

/// Whether `rules` grant anything at `path` or below.
fn is_granted_in(rules: &[Rule], path: &[u8]) -> bool {
    let grants = |rule: &Rule| !rule.caps.is_empty() && is_below(&rule.path, path);
    !granted(rules, path).is_empty() || rules.iter().any(grants)
}

/// Whether nothing asked for `path`, or for what would be below it, but to take it away in vain.
fn is_unused(stage: &Stage<'_>, uses: &Uses, path: &[u8]) -> bool {
    let is_in = |used: &[u8]| stage.inside(used).is_some_and(|used| is_below(used, path));
    let mut uses = uses.counts.keys().filter(|one| one.how != How::Kept);
    !uses.any(|one| is_in(&one.path) || is_in(&one.other))
}
