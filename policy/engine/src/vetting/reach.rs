//! Finds out whether a run can change a repository that a remote of the workspace leads to. A push starts hooks there.

use std::vec::Vec;

use crate::capability::Capabilities;
use crate::components::leads_to;
use crate::decide::{self, Request};
use crate::image::Image;
use crate::layout::Text;
use crate::verdict::Verdict;

/// The files of a repository that git obeys, relative to its directory, and other names that git accepts for it.
const OBEYED: &[&str] = &[
    "",
    ".git",
    ".git/hooks/update",
    "/.git",
    "/.git/config",
    "/.git/hooks",
    "/.git/hooks/update",
    "/HEAD",
    "/commondir",
    "/config",
    "/hooks",
    "/hooks/update",
];

/// Whether the run can neither change files in the canonical directory that git obeys, nor replace the directory.
#[must_use]
pub fn is_out_of_reach(image: &Image<'_>, directory: &[u8]) -> bool {
    let parents = directory.iter().enumerate().filter(|(at, byte)| *at > 0 && **byte == b'/');
    let mut parents = parents.filter_map(|(at, _)| directory.get(..at));
    let may_go = |path: &[u8]| possible(image, path, false).intersects(Capabilities::DELETE);
    let changes = |tail: &&str| {
        let path: Vec<u8> = [directory, tail.as_bytes()].concat();
        possible(image, &path, true).intersects(Capabilities::WRITE)
    };
    !parents.any(may_go) && !OBEYED.iter().any(changes)
}

/// Whether a run needs a prompt for each change of the files that git obeys in the canonical directory, and for
/// replacing the repository. The directory is the workspace, or is called `NAME.git` in it.
#[must_use]
pub fn is_guarded(image: &Image<'_>, directory: &[u8]) -> bool {
    let workspace = image.text(Text::Workspace);
    let at = |tail: &str| [directory, tail.as_bytes()].concat();
    let is_free = |tail: &str| {
        let path = at(tail);
        decide::access(image, &Request::canonical(&path), Capabilities::CREATE) == Verdict::Allow
    };
    let is_kept = |tails: &[&str]| !tails.iter().any(|tail| is_free(tail));
    if directory == workspace {
        return is_kept(&["/.git", "/.git/config", "/.git/hooks/update", ".git"])
            && (is_kept(&["/HEAD"]) || is_kept(&["/config", "/hooks/update"]));
    }
    leads_to(workspace, directory)
        && directory.ends_with(b".git")
        && is_kept(&["", ".git", "/.git", "/config", "/commondir", "/hooks/update"])
}

/// The capabilities at a path that this run and every run around it grant, with or without a prompt. With `below`, also
/// at paths below it.
fn possible(image: &Image<'_>, path: &[u8], below: bool) -> Capabilities {
    image.levels().fold(Capabilities::ALL, |all, image| {
        let found = decide::lookup(image, &Request::canonical(path));
        let here = found.caps.union(found.asks);
        all.intersection(if below { here.union(found.below_any) } else { here })
    })
}
