//! Filters for the auto-run files of a run (spec §10.1). They match at least what [`crate::autorun`] asks about.

use std::path::{Path, PathBuf};
use std::vec::Vec;

use super::syntax::{self, Filter};
use crate::autorun::list::{Entry, Place};
use crate::lexical::bytes;

/// A repository at any depth.
const REPOSITORIES: &[u8] = b"(/[^/]+)*/[^/]*\\.git";

/// The filters for auto-run files below `within`, if the list begins at these `bases`, and at `anchor`.
pub(super) fn filters(
    bases: &[(Place, PathBuf)],
    anchor: Option<&Path>,
    within: Option<&Path>,
) -> Vec<Filter> {
    let is_near = |base: &Path| {
        within.is_none_or(|within| base.starts_with(within) || within.starts_with(base))
    };
    let mut out = Vec::new();
    let by_anchor = anchor.map(|anchor| {
        let is_repository = bytes(anchor).ends_with(b".git");
        (if is_repository { Place::Repository } else { Place::Top }, anchor)
    });
    let bases = bases.iter().map(|(place, base)| (*place, base.as_path()));
    for (place, base) in bases.chain(by_anchor).filter(|(_, base)| is_near(base)) {
        let way = within.and_then(|within| within.strip_prefix(base).ok()).unwrap_or(Path::new(""));
        let at = syntax::anchored(base);
        out.extend(of_place(place, &at, way));
        if place == Place::Top {
            let inside = [at.as_slice(), REPOSITORIES].concat();
            out.push(Filter::regex(&[inside.as_slice(), b"$"].concat()));
            out.extend(of_place(Place::Repository, &inside, Path::new("")));
        }
    }
    out
}

/// The entries of a place that begins at the expression `at`, as far as they may match at or below the `way` from it.
fn of_place(place: Place, at: &[u8], way: &Path) -> Vec<Filter> {
    let about = |entry: &&Entry| leads(entry.pattern, way);
    let (plain, excepting): (Vec<&Entry>, Vec<&Entry>) =
        place.entries().iter().filter(about).partition(|entry| entry.except.is_empty());
    let regex = |entries: &[&Entry]| {
        let entries: Vec<Vec<u8>> = entries.iter().map(|entry| expression(entry.pattern)).collect();
        Filter::regex(&[at, b"(", &*entries.join(&b'|'), b")$"].concat())
    };
    let mut out = Vec::new();
    if !plain.is_empty() {
        out.push(regex(&plain));
    }
    if let Some(first) = excepting.first() {
        let ending = [&*syntax::literal(first.except.as_bytes()), b"$"].concat();
        let not_excepted = Filter::none([Filter::regex(&ending)].into());
        out.push(Filter::all([regex(&excepting)].into_iter().chain(not_excepted)));
    }
    out
}

/// Whether the pattern may match at or below the `way`.
fn leads(pattern: &str, way: &Path) -> bool {
    let mut names = pattern.split('/').take_while(|name| *name != "**");
    way.iter().all(|part| names.next().is_none_or(|name| name == "*" || part == name))
}

/// The expression of an entry below its place.
fn expression(pattern: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for name in pattern.split('/') {
        match name {
            "**" => out.extend(b"(/[^/]+)*"),
            "*" => out.extend(b"/[^/]+"),
            name => out.extend([b"/", &*syntax::literal(name.as_bytes())].concat()),
        }
    }
    out
}
