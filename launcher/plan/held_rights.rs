//! Computes the rights that the policy grants at each anchor and at the anchors above it. Used by `draft`.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use jp_confine_engine::build::{Grant, GrantKind, Origin};
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::{Capabilities, Capability, autorun, canonical};
use rustix::fs::{Access, access};

/// An anchor of one or more grants.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Standing<'a> {
    pub(super) path: &'a Path,
    /// The rights granted here, by any route.
    pub(super) caps: Capabilities,
    /// A tier may deny some of it, here or below.
    pub(super) restrained: bool,
    /// The list of sensitive paths may cause a prompt, here or below.
    pub(super) asked: bool,
    /// The list of auto-run files may cause a prompt for granted changes below.
    pub(super) autorun: bool,
    /// The rights that a tier denies here and everywhere below.
    pub(super) denied: Capabilities,
    /// The rights that depend on the route.
    pub(super) by_route: Capabilities,
    /// The rights of all anchors above together, because Landlock's rules add up.
    pub(super) above: Capabilities,
    /// A policy file or an option grants it, not only the product.
    pub(super) declared: bool,
    /// Only the product grants it.
    pub(super) own: bool,
    /// The run's own rights are enough to create it anew: see [`renews_itself`].
    pub(super) renewed: bool,
    /// As `renewed`, for programs in it: see [`renews_programs`].
    pub(super) renews_programs: bool,
    /// Programs may be started from it, and the run may give it another name. It may be moved because nothing in it
    /// must stay, or it is a file, which can be linked.
    pub(super) programs_may_leave: bool,
    /// Some of its content is excluded from the grants here.
    pub(super) excludes_below: bool,
}

impl Standing<'_> {
    /// The rights granted above but not here.
    pub(super) fn lost(&self) -> Capabilities {
        self.above.difference(self.caps)
    }

    /// Whether the run may create programs here and start them.
    pub(super) fn may_have_programs(&self) -> bool {
        self.caps.contains(Capabilities::CREATE.union(Capabilities::EXECUTE))
    }

    /// Whether the run may move away or delete the programs that Landlock's rule names, and put others there that
    /// nothing else lets start. (For Landlock, creating implies reading, so reading is inexact there anyway.)
    pub(super) fn may_be_replaced(&self) -> bool {
        self.caps.contains(Capabilities::EXECUTE.union(Capabilities::DELETE))
            && (self.renews_programs || self.above.contains(Capabilities::CREATE))
            && !self.above.contains(Capabilities::EXECUTE)
    }

    /// Whether the run may put programs here that it may not start here.
    fn takes_programs(&self) -> bool {
        let starts_all = self.caps.contains(Capabilities::EXECUTE) && !self.excludes_below;
        self.caps.contains(Capabilities::CREATE) && !starts_all
    }

    /// Whether the run may move or link a program from here to `there`, which takes programs. Landlock's rule would go
    /// along. This needs all rights here that are granted there, so reading is inexact there anyway. Among the product's
    /// own grants only the run's `TMPDIR` could qualify, but its programs are the run's own.
    pub(super) fn may_carry_programs_to(&self, there: &Self) -> bool {
        !self.own && self.programs_may_leave && self.caps.contains(there.caps)
    }

    /// Whether the run may create something readable here. Either nothing exists yet, as `is_absent` says, or the run
    /// may replace the object that Landlock's rule names. For built-in grants the launcher creates the directories
    /// before.
    pub(super) fn may_be_made(&self, is_absent: bool) -> bool {
        self.declared
            && self.caps.contains(Capabilities::READ)
            && (self.renewed || is_absent && self.caps.contains(Capabilities::CREATE))
    }
}

/// The anchors of `grants` in byte order, so that each directory precedes its content. The list of sensitive paths
/// counts as a restraint only in a `strict` run. Otherwise it is no reason to judge every call.
pub(super) fn of<'a>(
    grants: &'a [Grant],
    image: &Image<'_>,
    workspace: &Path,
    strict: bool,
) -> Vec<Standing<'a>> {
    let mut sorted: Vec<(&[u8], &Grant)> =
        grants.iter().map(|grant| (spelling(&grant.anchor), grant)).collect();
    sorted.sort_by_key(|(spelling, _)| *spelling);
    let mut standings: Vec<Standing<'a>> = Vec::with_capacity(sorted.len());
    let mut around: Vec<(&[u8], Capabilities)> = Vec::new();
    for same in sorted.chunk_by(|(a, _), (b, _)| a == b) {
        let [(place, first), ..] = same else { continue };
        while around.last().is_some_and(|(last, _)| is_past(place, last)) {
            around.pop();
        }
        let parent = around.iter().rev().find(|(known, _)| is_below(place, known));
        let above = parent.map_or(Capabilities::NONE, |(_, caps)| *caps);
        let (caps, by_route) = held(same, image, workspace);
        let found = decide::lookup(image, &Request::canonical(first.anchor.as_os_str().as_bytes()));
        let asked = found.restrained_below;
        let by_tier = found.withheld.difference(found.autorun_withheld());
        let withheld = !by_tier.is_empty() || found.withheld_below;
        let restrained = withheld || (strict && asked);
        let denied = denied_throughout(image, &first.anchor, &found);
        around.push((place, above.union(caps.difference(denied))));
        let path = first.anchor.as_path();
        let renewed = renews_itself(path, caps, workspace);
        let reads = || {
            let around = around_programs(path, image, workspace, strict);
            around.is_some_and(|around| grants_reading(image, around, strict))
        };
        let renews_programs = renewed && renews_programs(path, caps, reads);
        standings.push(Standing {
            path,
            caps,
            restrained,
            asked,
            autorun: caps.intersects(Capabilities::WRITE)
                && autorun::may_ask_below(image, path.as_os_str().as_bytes()),
            denied,
            by_route,
            above,
            declared: same.iter().any(|(_, grant)| is_declared(&grant.origin)),
            own: same.iter().all(|(_, grant)| matches!(grant.origin, Origin::Product { .. })),
            renewed,
            renews_programs,
            programs_may_leave: caps.contains(Capabilities::EXECUTE)
                && may_leave(path, caps.intersection(found.below_all)),
            excludes_below: decide::excludes_below(image, place),
        });
    }
    standings
}

/// The anchors that take programs: of those with the same rights, the first.
pub(super) fn takers_of_programs<'s, 'a>(standings: &'s [Standing<'a>]) -> Vec<&'s Standing<'a>> {
    let mut takers: Vec<&Standing<'a>> = Vec::new();
    for standing in standings.iter().filter(|it| it.takes_programs()) {
        if takers.iter().all(|taker| taker.caps != standing.caps) {
            takers.push(standing);
        }
    }
    takers
}

/// The part of `found` that a tier denies at `path` and everywhere below.
fn denied_throughout(image: &Image<'_>, path: &Path, found: &decide::Lookup) -> Capabilities {
    let path = path.as_os_str().as_bytes();
    let is_denied = |one: &Capability| !decide::may_be_left(image, path, (*one).into());
    let withheld = found.withheld.iter().filter(is_denied);
    withheld.fold(Capabilities::NONE, |all, one| all.union(one.into()))
}

/// Whether `need` is granted in the directory and everywhere below, as far as Landlock must express it: see [`of`].
pub(super) fn grants_all(
    image: &Image<'_>,
    directory: &Path,
    need: Capabilities,
    strict: bool,
) -> bool {
    let found = decide::lookup(image, &Request::canonical(spelling(directory)));
    let restrained = if strict { found.restrained_below } else { found.withheld_below };
    found.caps.intersection(found.below_all).contains(need)
        && !restrained
        && !decide::excludes_below(image, spelling(directory))
}

const fn is_declared(origin: &Origin) -> bool {
    matches!(origin, Origin::Rule { .. } | Origin::Flag { .. })
}

/// Whether the rights at `path` allow deleting it and creating it anew, as build tools do with their output. Nobody
/// does that with the workspace itself, or outside of it.
fn renews_itself(path: &Path, caps: Capabilities, workspace: &Path) -> bool {
    let replaces = Capabilities::CREATE.union(Capabilities::DELETE);
    caps.contains(replaces) && path != workspace && path.starts_with(workspace)
}

/// Whether the object at `path` may get another name, if `caps` hold on it and everywhere below. A move also needs a
/// user who may change the directory around it. A file can be linked. Looks at the disk.
fn may_leave(path: &Path, caps: Capabilities) -> bool {
    let may_change = |directory| access(directory, Access::WRITE_OK).is_ok();
    let moves = || caps.contains(Capabilities::DELETE) && path.parent().is_some_and(may_change);
    !is_directory(path) || moves()
}

/// Whether programs created anew at `path` should be able to start. For Landlock, the right to execute in the directory
/// around it implies reading there. A directory gets none unless reading is granted anyway, as `reads_around` says.
/// Otherwise every read would have to be judged, even the library's. Looks at the disk.
fn renews_programs(path: &Path, caps: Capabilities, reads_around: impl Fn() -> bool) -> bool {
    caps.contains(Capabilities::EXECUTE) && (!is_directory(path) || reads_around())
}

/// The directory around `path` in which Landlock should let new programs start. It is the closest one that stays: the
/// run may not delete it and create it anew. Landlock only lets readable programs start, so the policy must grant
/// reading from there to `path`. Otherwise there is none.
///
/// If `path` is a directory and reading is not granted in all of that one, the closest directory around `path` is used:
/// see [`renews_programs`]. Looks at the disk.
pub(super) fn around_programs<'p>(
    path: &'p Path,
    image: &Image<'_>,
    workspace: &Path,
    strict: bool,
) -> Option<&'p Path> {
    let found = |dir: &Path| decide::lookup(image, &Request::canonical(dir.as_os_str().as_bytes()));
    let stays = |dir: &&Path| !renews_itself(dir, found(dir).granted(image), workspace);
    let is_read = |dir: &&Path| found(dir).caps.contains(Capabilities::READ);
    let around = path.ancestors().skip(1).filter(|dir| is_directory(dir));
    let mut around = around.take_while(is_read).peekable();
    let closest = *around.peek()?;
    let staying = around.find(stays);
    let grants_reading = |dir: &&Path| grants_reading(image, dir, strict);
    if is_directory(path) { staying.filter(grants_reading) } else { staying }.or(Some(closest))
}

/// Whether the canonical `path` is a directory.
fn is_directory(path: &Path) -> bool {
    canonical::look(path).is_ok_and(|found| found.is_dir())
}

/// Whether everything in the directory may be read. A strict run judges reads of possibly sensitive files anyway.
fn grants_reading(image: &Image<'_>, directory: &Path, strict: bool) -> bool {
    strict || grants_all(image, directory, Capabilities::READ, false)
}

/// The standing whose anchor is `path`, if there is one.
pub(super) fn at<'s, 'a>(standings: &'s [Standing<'a>], path: &Path) -> Option<&'s Standing<'a>> {
    let wanted = spelling(path);
    let found = standings.binary_search_by(|standing| spelling(standing.path).cmp(wanted));
    standings.get(found.ok()?)
}

/// A path's bytes such that those of all paths below begin with them and a slash.
fn spelling(path: &Path) -> &[u8] {
    match path.as_os_str().as_bytes() {
        b"/" => b"",
        bytes => bytes,
    }
}

/// Whether nothing that sorts at or after `place` is below `known`, which sorts before it.
fn is_past(place: &[u8], known: &[u8]) -> bool {
    place.strip_prefix(known).is_none_or(|rest| rest.first().is_some_and(|&next| next > b'/'))
}

fn is_below(place: &[u8], known: &[u8]) -> bool {
    place.strip_prefix(known).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// The rights at the anchor of these grants, according to the evaluator: by any route, and those that not every route
/// has.
fn held(
    same: &[(&[u8], &Grant)],
    image: &Image<'_>,
    workspace: &Path,
) -> (Capabilities, Capabilities) {
    let Some((_, first)) = same.first() else { return Default::default() };
    let path = first.anchor.as_os_str().as_bytes();
    let plain = decide::lookup(image, &Request::canonical(path)).granted(image);
    let mut either = (plain, plain);
    for (_, grant) in same {
        if let GrantKind::External { lexical_path }
        | GrantKind::Tombstone { lexical_path: Some(lexical_path) } = &grant.kind
        {
            let route = workspace.join(lexical_path);
            let request = Request::by_route(path, route.as_os_str().as_bytes());
            let caps = decide::lookup(image, &request).granted(image);
            either = (either.0.union(caps), either.1.intersection(caps));
        }
    }
    (either.0, either.0.difference(either.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_that_sort_between_do_not_hide_the_directory() {
        let mut sorted =
            ["/a", "/a-b", "/a-b/c", "/a/c", "/a/c/d", "/a0", "/", "/b"].map(Path::new);
        sorted.sort_by_key(|path| spelling(path));
        let mut around: Vec<&[u8]> = Vec::new();
        for path in sorted {
            let place = spelling(path);
            while around.last().is_some_and(|last| is_past(place, last)) {
                around.pop();
            }
            let parent = around.iter().rev().find(|known| is_below(place, known));
            let expected = path.ancestors().skip(1).find(|dir| sorted.contains(dir));
            assert_eq!(parent.copied(), expected.map(spelling), "{}", path.display());
            around.push(place);
        }
    }
}
