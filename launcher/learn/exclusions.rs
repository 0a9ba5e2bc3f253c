//! Finds files that must not be granted along with their directory: unused files that hold secrets or decide what runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jp_confine_engine::Capabilities;

use super::moves::Moves;
use super::replay::ReplayStage;
use super::sensitive_names;
use super::tree::{LearnedRule, RulePurpose, can_be_written, is_below, join, nearest};
use super::tree_before::{self, DirectoryEntry, LIMIT};
use crate::learn::text::readable;
use crate::record::generated_names;
use crate::record::usage::{Use, UseKind, UsePart, Uses, name};

/// A directory with more entries than this gets no rules for each of them.
pub(crate) const FEW: usize = 12;

/// Directories that no rule opens, each with the path that prevents it because no rule can name it. `None` if the
/// directory cannot be listed.
pub(crate) type Shut = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Adds rules to `rules` that take such files of the workspace out of them again. Returns the granted directories that
/// could not be searched for them.
pub(crate) fn protect(
    stage: &ReplayStage<'_>,
    uses: &Uses,
    shut: &Shut,
    rules: &mut Vec<LearnedRule>,
) -> BTreeSet<Vec<u8>> {
    let granting = rules.iter().filter(|rule| !rule.caps.is_empty());
    let anchors: Vec<Vec<u8>> = granting.map(|rule| rule.path.clone()).collect();
    // A search cannot pass a directory that cannot be listed.
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

/// Directories that are not granted and were not searched: a symlink in one may turn a granted file into a secret. None
/// if the rules open no directory.
pub(crate) fn unseen(stage: &ReplayStage<'_>, rules: &[LearnedRule]) -> BTreeSet<Vec<u8>> {
    let opens = |rule: &LearnedRule| !rule.caps.is_empty() && stage.place(&rule.path).is_dir();
    let left = stage.left().filter(|path| !is_granted_in(rules, path));
    left.filter(|_| rules.iter().any(opens)).map(<[u8]>::to_vec).collect()
}

/// Directories that must stay shut. Some cannot be listed, and could not be before, so their unused entries are
/// unknown. Others contain an unused path that may hold a secret and that no rule can name. Each comes with that path.
pub(crate) fn shut(stage: &ReplayStage<'_>, uses: &Uses) -> Shut {
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

/// Keeps rules from opening the directories at `shut`, for which `rules` has none. Files used in them are granted by
/// name.
pub(crate) fn keep_shut(rules: &mut Vec<LearnedRule>, shut: &Shut) {
    let kept = |path: &Vec<u8>| {
        let (path, caps) = (path.clone(), Capabilities::NONE);
        LearnedRule { path, caps, purpose: RulePurpose::Withholds }
    };
    rules.extend(shut.keys().map(kept));
}

/// Takes paths that options and files denied during learning out of the rules around them: the next run has neither.
pub(crate) fn keep_denied(stage: &ReplayStage<'_>, rules: &mut Vec<LearnedRule>) {
    for path in stage.denied() {
        let rule = nearest(rules, path).and_then(|place| rules.get(place));
        if rule.is_some_and(|rule| rule.path != path && !rule.caps.is_empty()) {
            let (path, caps) = (path.to_vec(), Capabilities::NONE);
            rules.push(LearnedRule { path, caps, purpose: RulePurpose::Denies });
        }
    }
}

/// Restricts entries that were in a directory before the run, if the directory's rule is for generated names or only
/// for opening it. An entry without a rule of its own stays readable if the directory was listed, and gets nothing
/// else. This is done if they are few. It is always done for directories on the way to used files, for closed files,
/// and at the top of the workspace if the rule allows changes. Runs before [`protect`], which has to know how little is
/// granted there. Returns the directories with too many entries, and their number.
pub(crate) fn keep_what_was_there(
    stage: &ReplayStage<'_>,
    uses: &Uses,
    rules: &mut Vec<LearnedRule>,
) -> BTreeMap<Vec<u8>, usize> {
    let passing: Vec<LearnedRule> = rules
        .iter()
        .filter(|rule| matches!(rule.purpose, RulePurpose::Passing(_) | RulePurpose::Opened))
        .filter(|rule| !is_moved(stage, uses, &rule.path))
        .cloned()
        .collect();
    let mut crowds = BTreeMap::new();
    let moves = Moves::of(stage, uses);
    let changes_nothing = Capabilities::READ.union(Capabilities::CREATE);
    for rule in passing {
        let found = names_in(stage, &moves, &rule.path).unwrap_or_default();
        let kept = kept_in(stage, uses, rules, &rule, found);
        let leads = |kept: &LearnedRule| rules.iter().any(|rule| is_below(&rule.path, &kept.path));
        let is_certain = |kept: &LearnedRule| leads(kept) || is_closed(stage, uses, &kept.path);
        let (certain, unused): (Vec<LearnedRule>, Vec<LearnedRule>) =
            kept.into_iter().partition(is_certain);
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

/// Whether the directory, or one around it, was moved or deleted: rules for its entries would not let it go (spec §5.2,
/// R5).
fn is_moved(stage: &ReplayStage<'_>, uses: &Uses, directory: &[u8]) -> bool {
    uses.counts.keys().flat_map(Use::parts).any(|part| {
        let goes = part.caps.contains(Capabilities::DELETE);
        goes && stage.inside(part.path).is_some_and(|path| is_below(directory, path))
    })
}

/// Rules for the entries `found` in the directory of `rule` that were there before and have no rule.
fn kept_in(
    stage: &ReplayStage<'_>,
    uses: &Uses,
    rules: &[LearnedRule],
    rule: &LearnedRule,
    found: Vec<DirectoryEntry>,
) -> Vec<LearnedRule> {
    let directory = rule.path.as_slice();
    let parts = || uses.counts.keys().flat_map(Use::parts);
    let linked = uses.counts.keys().filter(|one| one.how == UseKind::Linked);
    // A file that got a hard link there must have the rights of its other name.
    let stays = parts().filter(|part| part.made).map(|part| part.path);
    let stays: Vec<&[u8]> = stays
        .chain(linked.map(|one| one.path.as_slice()))
        .chain(uses.links.iter().map(Vec::as_slice))
        .filter_map(|path| stage.inside(path))
        .collect();
    let lists = |part: &UsePart<'_>| !part.opened && stage.inside(part.path) == Some(directory);
    let caps = parts().filter(lists).fold(Capabilities::NONE, |caps, part| caps.union(part.caps));
    let listed = caps.intersection(Capabilities::READ);
    let is_passing = |path: &[u8]| match &rule.purpose {
        RulePurpose::Passing(kinds) => {
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
            LearnedRule { path, caps, purpose: RulePurpose::Withholds }
        })
        .collect()
}

/// Whether the entry at `path` must not even be readable for programs that list its directory.
fn is_closed(stage: &ReplayStage<'_>, uses: &Uses, path: &[u8]) -> bool {
    stage.is_secret(path) || sensitive_names::is_history(name(path)) && is_unused(stage, uses, path)
}

/// The search for files to exclude.
#[derive(Debug)]
struct Search<'a> {
    stage: &'a ReplayStage<'a>,
    uses: &'a Uses,
    moves: Moves<'a>,
    /// Directories to search, relative to the workspace, from the top down.
    next: VecDeque<Vec<u8>>,
    /// The number of entries seen.
    seen: usize,
    /// Directories that were not searched.
    left: BTreeSet<Vec<u8>>,
}

impl Search<'_> {
    /// Searches the directory at `path`, without following symlinks.
    fn look(&mut self, path: Vec<u8>, rules: &mut Vec<LearnedRule>) {
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

    /// Entries that decide what runs, and that could be created in the directory at `path` in addition to those
    /// `found`. Not for a moved directory: a rule on a missing entry would not let it go (spec §5.2, R5).
    fn missing(
        &self,
        path: &[u8],
        found: &[DirectoryEntry],
        rules: &[LearnedRule],
    ) -> Vec<DirectoryEntry> {
        let is_there = |name: &[u8]| found.iter().any(|entry| entry.name == name);
        let is_repository = if sensitive_names::is_history(name(path)) {
            !found.is_empty()
        } else {
            // Elsewhere the name alone does not identify a repository.
            is_there(b"HEAD") && (is_there(b"objects") || is_there(b"commondir"))
        };
        let is_moved = || self.moves.take_along(&join(path, b"."));
        let may_be_made = || granted(rules, path).intersects(Capabilities::WRITE);
        if !is_repository || is_moved() || !may_be_made() {
            return Vec::new();
        }
        let missing = sensitive_names::deciders(path).iter().filter(|name| !is_there(name));
        missing.map(|name| DirectoryEntry::unknown(name)).collect()
    }

    fn look_at(&mut self, path: Vec<u8>, may_be_directory: bool, rules: &mut Vec<LearnedRule>) {
        if can_be_written(&path) {
            if self.may_be_withheld(&path) {
                self.withhold_where_it_stood(&path, rules);
            }
            if let Some(caps) = self.less(rules, &path) {
                rules.push(LearnedRule { path, caps, purpose: RulePurpose::Withholds });
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

    /// Restricts the final `path` also at the places where it was before, unless it was used at one of them.
    fn withhold_where_it_stood(&self, path: &[u8], rules: &mut Vec<LearnedRule>) {
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
                rules.push(LearnedRule { path: place, caps, purpose: RulePurpose::Withholds });
            }
        }
    }

    /// The rights to grant at `path`, if these are fewer than the rules for other paths grant there.
    fn less(&self, rules: &[LearnedRule], path: &[u8]) -> Option<Capabilities> {
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

    /// Whether git finds the repository of a submodule or linked working tree by the file at `path`
    /// (`gitrepository-layout(5)`), and nobody changed or moved it. Then it decides what runs, too.
    fn leads_git_unchanged(&self, path: &[u8]) -> bool {
        let is_it = |part: &UsePart<'_>| self.stage.inside(part.path) == Some(path);
        let parts = || self.uses.counts.keys().flat_map(Use::parts).filter(is_it);
        name(path) == b".git"
            && self.stage.place(path).is_file()
            && !parts().any(|part| part.caps.intersects(Capabilities::WRITE))
            && !self.moves.take_along(path)
    }

    /// The part of `caps` that stays granted at the unused `path`. That is nothing, or, if a directory around it was
    /// moved, everything but reading. A directory does not move while an entry in it has fewer rights than at its new
    /// place (spec §5.2, R5). A sensitive file keeps `caps`: programs cannot read it by the directory's rule anyway.
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

/// The entries of the directory at `path`, or its former entries if it can no longer be listed. `None` if neither is
/// known. Symlinks are left out: a rule on one counts for its target. The target has its own rule, or is outside, where
/// no such rule is valid.
fn names_in(
    stage: &ReplayStage<'_>,
    moves: &Moves<'_>,
    path: &[u8],
) -> Option<Vec<DirectoryEntry>> {
    let listed = tree_before::list(&stage.place(path)).ok();
    let mut found = listed.or_else(|| were_in(stage, moves, path))?;
    found.retain(|entry| !entry.is_link());
    Some(found)
}

/// The former entries of the directory at `path`, wherever it was, and those that were moved there.
fn were_in(stage: &ReplayStage<'_>, moves: &Moves<'_>, path: &[u8]) -> Option<Vec<DirectoryEntry>> {
    let mut found: Vec<DirectoryEntry> = moves.arrived(path).map(DirectoryEntry::unknown).collect();
    for place in moves.places_of_directory(path) {
        found.extend_from_slice(stage.before.entries(&place)?);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Some(found)
}

/// The rights that `rules` grant at `path`.
fn granted(rules: &[LearnedRule], path: &[u8]) -> Capabilities {
    let rule = nearest(rules, path).and_then(|place| rules.get(place));
    rule.map_or(Capabilities::NONE, |rule| rule.caps)
}

/// Whether `rules` grant anything at `path` or below.
fn is_granted_in(rules: &[LearnedRule], path: &[u8]) -> bool {
    let grants = |rule: &LearnedRule| !rule.caps.is_empty() && is_below(&rule.path, path);
    !granted(rules, path).is_empty() || rules.iter().any(grants)
}

/// Whether no request was about `path` or anything below it, apart from failed deletions.
fn is_unused(stage: &ReplayStage<'_>, uses: &Uses, path: &[u8]) -> bool {
    let is_in = |used: &[u8]| stage.inside(used).is_some_and(|used| is_below(used, path));
    let mut uses = uses.counts.keys().filter(|one| one.how != UseKind::Kept);
    !uses.any(|one| is_in(&one.path) || is_in(&one.other))
}
