//! What must not be granted along with the directory it is in: files that hold secrets or decide what
//! runs, and that nobody used.

use std::fs::{self, DirEntry};
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_policy::Capabilities;

use super::names;
use super::record::{Part, Use, Uses};
use super::replay::Stage;
use super::tree::{Purpose, Rule, is_below, join, nearest};

/// So many entries are looked at.
const LIMIT: usize = 100_000;

/// Adds rules to `rules` that take such files of the workspace out of them again; whether everything that
/// is granted was looked at.
pub(crate) fn protect(stage: &Stage<'_>, rules: &mut Vec<Rule>) -> bool {
    let mut seen = 0;
    let anchors: Vec<Vec<u8>> = rules.iter().map(|rule| rule.path.clone()).collect();
    for anchor in &anchors {
        let covered = anchors.iter().any(|other| other != anchor && is_below(anchor, other));
        if !covered {
            look(stage, anchor, rules, &mut seen);
        }
    }
    seen < LIMIT
}

/// Where the workspace itself stands for names that will be others next time, leaves everything in it
/// that was there before and has no rule as it was: readable where the workspace was listed. Goes before
/// [`protect`], which is to know how little is granted there.
pub(crate) fn keep_what_was_there(stage: &Stage<'_>, uses: &Uses, rules: &mut Vec<Rule>) {
    let gathers = |rule: &Rule| rule.path.is_empty() && rule.caps.intersects(Capabilities::WRITE);
    if !rules.iter().any(gathers) {
        return;
    }
    let parts = || uses.counts.keys().flat_map(Use::parts);
    let made: Vec<&[u8]> =
        parts().filter(|part| part.made).filter_map(|part| stage.inside(part.path)).collect();
    let lists = |part: &Part<'_>| stage.inside(part.path) == Some(b"");
    let caps = parts().filter(lists).fold(Capabilities::NONE, |caps, part| caps.union(part.caps));
    let caps = caps.intersection(Capabilities::READ);
    for entry in entries(stage, b"") {
        let path = entry.file_name().as_bytes().to_vec();
        if !made.contains(&path.as_slice()) && !rules.iter().any(|rule| rule.path == path) {
            let caps = if stage.is_secret(&path) { Capabilities::NONE } else { caps };
            rules.push(Rule { path, caps, purpose: Purpose::Withholds });
        }
    }
}

/// Goes through the directory at `path`, workspace-relative, without following links.
fn look(stage: &Stage<'_>, path: &[u8], rules: &mut Vec<Rule>, seen: &mut usize) {
    for entry in entries(stage, path) {
        *seen += 1;
        if *seen >= LIMIT {
            return;
        }
        let name = entry.file_name();
        let path = join(path, name.as_bytes());
        if let Some(caps) = less(stage, rules, &path) {
            rules.push(Rule { path, caps, purpose: Purpose::Withholds });
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(stage, &path, rules, seen);
        }
    }
}

/// What is in the directory at `path`, but for links: a rule on one is about what it leads to, which has a rule
/// of its own, or is outside, where no such rule can stand.
fn entries(stage: &Stage<'_>, path: &[u8]) -> impl Iterator<Item = DirEntry> {
    let all = fs::read_dir(stage.place(path)).into_iter().flatten().flatten();
    all.filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_symlink()))
}

/// What is to be granted at `path` where that is less than what the rules grant that are for others.
fn less(stage: &Stage<'_>, rules: &[Rule], path: &[u8]) -> Option<Capabilities> {
    let rule = nearest(rules, path).and_then(|place| rules.get(place))?;
    let left = if stage.is_secret(path) {
        Capabilities::NONE
    } else if names::decides_what_runs(path) {
        rule.caps.difference(Capabilities::WRITE)
    } else {
        return None;
    };
    (rule.path != path && rule.caps != left).then_some(left)
}
