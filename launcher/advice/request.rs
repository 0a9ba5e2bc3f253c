//! Requests that the evaluator judges again: denied ones, to find a grant that allows them, and allowed ones, to find
//! out whether other rules would.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jp_confine_engine::build::Grant;
use jp_confine_engine::decide::{self, Destination, Lookup, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::tier::{Restraint, Tier};
use jp_confine_engine::{Capabilities, canonical};

use crate::record::generated_names;
use crate::sys::path::path_of;

/// A request. All paths are canonical and absolute, and have the spelling that the program used, if that is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'d> {
    /// For rights on one path.
    Access(Request<'d>, Capabilities),
    /// For a directory that is missing and is to be filled.
    Directory(Request<'d>, Capabilities),
    /// For an entry with a generated name: `need` on the entry, and to put it in place of `target`, if that is known.
    /// `extent` tells how far below the directory such entries may be.
    Made {
        directory: Request<'d>,
        entry: Request<'d>,
        need: Capabilities,
        target: Option<Request<'d>>,
        extent: Extent,
    },
    /// To delete an entry.
    Removal(Request<'d>),
    /// To see whether something is there.
    ScreenVisibility(Request<'d>),
    /// For a walk through the directory and everything below it.
    Beneath(Request<'d>, Capabilities),
    /// To move an entry.
    Rename { from: Request<'d>, to: Request<'d>, destination: Destination },
    /// To create a hard link.
    Link { old: Request<'d>, new: Request<'d> },
}

impl<'d> Asked<'d> {
    /// The paths that it is about, in order.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Request<'d>> {
        let (first, second, third) = match *self {
            Self::Access(path, _)
            | Self::Directory(path, _)
            | Self::Removal(path)
            | Self::ScreenVisibility(path)
            | Self::Beneath(path, _) => (path, None, None),
            Self::Rename { from: first, to: second, .. }
            | Self::Link { old: first, new: second } => (first, Some(second), None),
            Self::Made { entry, directory, target, .. } => (entry, Some(directory), target),
        };
        std::iter::once(first).chain(second).chain(third)
    }

    /// The same request, with `other` as the entry to replace, if there is one.
    pub(crate) fn to_replace(self, other: Option<&'d Path>) -> Self {
        match self {
            Self::Made { directory, entry, need, extent, .. } => {
                let target = other.map(|path| Request::canonical(path.as_os_str().as_bytes()));
                Self::Made { directory, entry, need, target, extent }
            }
            asked => asked,
        }
    }

    /// All paths that it names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'d Path> {
        self.ends().map(|end| path_of(end.path))
    }

    /// All paths that it names, and their spellings.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &'d Path> {
        self.ends().flat_map(|end| [path_of(end.path), path_of(end.route)])
    }

    /// Whether the answer may depend on entries below one of the paths. It does not unless a directory is deleted,
    /// moved or walked through. A missing entry may have been a directory. Looks at the disk.
    pub(crate) fn may_take_along(&self) -> bool {
        let is_file = |end: Request<'_>| {
            path_of(end.path).symlink_metadata().is_ok_and(|found| !found.is_dir())
        };
        match *self {
            Self::Access(path, need) => need.contains(Capabilities::DELETE) && !is_file(path),
            Self::Removal(path) => !is_file(path),
            Self::Rename { from, to, destination } => {
                !is_file(from) || destination == Destination::Exchange && !is_file(to)
            }
            Self::Made { target, .. } => target.is_some_and(|target| !is_file(target)),
            Self::Directory(..) | Self::ScreenVisibility(_) | Self::Link { .. } => false,
            Self::Beneath(..) => true,
        }
    }

    /// The rights that it needs on one path. For a move or a hard link they follow from its kind.
    pub(crate) const fn need(&self) -> Capabilities {
        match *self {
            Self::Access(_, need)
            | Self::Directory(_, need)
            | Self::Made { need, .. }
            | Self::Beneath(_, need) => need,
            Self::Removal(_) => Capabilities::DELETE,
            Self::ScreenVisibility(_) => Capabilities::READ,
            Self::Rename { .. } | Self::Link { .. } => Capabilities::NONE,
        }
    }

    /// The verdict of a policy.
    pub(crate) fn judge(&self, image: &Image<'_>) -> Verdict {
        match self {
            Self::Access(path, need) | Self::Directory(path, need) => {
                decide::access(image, path, *need)
            }
            Self::Made { entry, need, target, .. } => {
                let made = decide::access(image, entry, *need);
                match target.filter(|_| made == Verdict::Allow) {
                    Some(target) => decide::rename(image, entry, &target, Destination::Exists),
                    None => made,
                }
            }
            Self::Removal(path) => decide::remove(image, path),
            Self::ScreenVisibility(path) => decide::metadata(image, path),
            Self::Beneath(path, need) => decide::beneath(image, path, *need),
            Self::Rename { from, to, destination } => decide::rename(image, from, to, *destination),
            Self::Link { old, new } => decide::link(image, old, new),
        }
    }

    /// The path that a denial of this request is about.
    pub(crate) fn place(&self, denial: &decide::Denial) -> Request<'d> {
        match *self {
            Self::Access(path, _)
            | Self::Directory(path, _)
            | Self::Removal(path)
            | Self::ScreenVisibility(path)
            | Self::Beneath(path, _) => path,
            Self::Made { target: Some(target), .. } if denial.second => target,
            Self::Made { entry, .. } => entry,
            Self::Rename { from: first, to: second, .. }
            | Self::Link { old: first, new: second } => {
                if denial.second {
                    second
                } else {
                    first
                }
            }
        }
    }

    /// The place where a grant lifts a denial of this request, and how far the grant has to reach. For a generated name
    /// the place is a directory, and the grant is for its entries. The name of an entry created since the run `began`
    /// may be generated. Looks at the disk.
    pub(crate) fn grantable_at(
        &self,
        denial: &decide::Denial,
        began: Option<SystemTime>,
    ) -> (Request<'d>, Extent) {
        let place = self.place(denial);
        match *self {
            Self::Made { directory, extent, .. } if !denial.second => (directory, extent),
            Self::Directory(..) => (place, Extent::Whole),
            Self::Rename { .. } | Self::Link { .. } => self.end_at(place, began),
            _ => (place, Extent::Itself),
        }
    }

    /// The same for one end of a move or a hard link.
    pub(crate) fn end_at(
        &self,
        end: Request<'d>,
        began: Option<SystemTime>,
    ) -> (Request<'d>, Extent) {
        let path = path_of(end.path);
        let above = generated_names::holder(path, began).map(|it| (it, Extent::Below));
        let beside = || generated_names::directory(path).filter(|_| self.is_made_up(path, began));
        let found = above.or_else(|| beside().map(|it| (it, Extent::Entries)));
        let on_its_way = |(directory, extent)| (on_the_way(end, directory), extent);
        found.map_or((end, Extent::Itself), on_its_way)
    }

    /// The directory of the first path, or the one that holds such entries.
    pub(crate) fn directory(&self) -> Option<Request<'d>> {
        if let Self::Made { directory, .. } = *self {
            return Some(directory);
        }
        let end = self.ends().next()?;
        Some(on_the_way(end, path_of(end.path).parent()?))
    }

    /// Whether a program generated the name of one end, maybe from that of the other. A file that lasts is moved by its
    /// own name.
    fn is_made_up(&self, end: &Path, began: Option<SystemTime>) -> bool {
        let name = |path: &Path| path.file_name().map_or(Vec::new(), |it| it.as_bytes().to_owned());
        let drawn = name(end);
        let mut others = self.paths().filter(|path| *path != end);
        let mut is_to_other =
            || others.any(|other| generated_names::is_drawn_to(&drawn, &name(other)));
        let is_gone = || end.symlink_metadata().is_err();
        let begins_it =
            |other: &Path| generated_names::begun(&drawn).is_some_and(|it| it == name(other));
        // A suffix to the other name may be a person's choice, unless the entry was created in this run.
        let is_made_to_other =
            || generated_names::was_made_since(end, began) && self.paths().any(begins_it);
        generated_names::is_drawn(&drawn)
            || is_to_other()
            || is_made_to_other()
            || generated_names::is_of_run(end, began)
            || (generated_names::is_another_each_time(&drawn) && is_gone())
    }

    /// Whether a grant at `place` can affect the answer. In an entry's directory only places on the way to the entry
    /// matter.
    pub(crate) fn depends_on(&self, place: &Path) -> bool {
        !self.is_for_entries() || self.paths().any(|path| path.starts_with(place))
    }

    /// Whether the grant is on a directory, for its entries.
    pub(crate) const fn is_for_entries(&self) -> bool {
        matches!(self, Self::Made { .. })
    }
}

/// How far a rule or pattern reaches from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The place alone.
    Itself,
    /// Its direct entries.
    Entries,
    /// Everything below it.
    Below,
    /// The place, and everything below it.
    Whole,
    /// The place and everything below it, for a directory that moves. Patterns match names alone, and do not allow
    /// that.
    Along,
}

impl Extent {
    /// Whether it is only for entries of a directory.
    pub(crate) const fn is_for_entries(self) -> bool {
        matches!(self, Self::Entries | Self::Below)
    }

    /// The patterns for this extent from the place that `literal` matches, for the list of `tier`.
    pub(crate) fn patterns(self, tier: Tier, literal: &str) -> Vec<(Tier, String)> {
        let ends: &[&str] = match self {
            Self::Itself => &[""],
            Self::Entries => &["/*"],
            Self::Below => &["/**"],
            Self::Whole => &["", "/**"],
            Self::Along => &[],
        };
        ends.iter().map(|end| (tier, format!("{literal}{end}"))).collect()
    }
}

/// Missing rights at a place.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) place: PathBuf,
    /// The spelling by which the program got there. If two links lead to the place and both have rules, the one on the
    /// link used decides.
    pub(crate) route: PathBuf,
    /// How far from the place the rights are missing.
    pub(crate) extent: Extent,
    /// It is granted there, but the `default` of `file_policy` withholds it, so a pattern is needed.
    pub(crate) by_default: bool,
    /// The rights granted there, the missing ones included.
    pub(crate) held: Capabilities,
    pub(crate) missing: Capabilities,
}

impl Step {
    /// For all of `held`, at the path of `request` and below.
    pub(crate) fn of(request: Request<'_>, held: Capabilities) -> Self {
        let [place, route] = [request.path, request.route].map(|it| path_of(it).to_owned());
        Self { place, route, extent: Extent::Itself, by_default: false, held, missing: held }
    }
}

/// The steps where `missing` is lacking for `request`: at its path, or else at anchors below that have fewer rights.
/// Anchors count whichever route leads there.
pub(crate) fn lacking(
    image: &Image<'_>,
    grants: &[Grant],
    request: Request<'_>,
    missing: Capabilities,
) -> Vec<Step> {
    let step = |request: Request<'_>| {
        let found = decide::lookup(image, &request);
        let missing = missing.difference(found.caps);
        let step = Step { missing, ..Step::of(request, kept(image, request, &found)) };
        (!missing.is_empty()).then_some(step)
    };
    if let Some(step) = step(request) {
        return vec![step];
    }
    let below = |grant: &&Grant| canonical::below(path_of(request.path), &grant.anchor).is_some();
    grants
        .iter()
        .filter(below)
        .filter_map(|grant| step(Request::canonical(grant.anchor.as_os_str().as_bytes())))
        .collect()
}

/// The rights that a rule must grant in place of the one found, so that no program loses any. For a sensitive path only
/// the requested rights count, unless only the name of a link is sensitive.
fn kept(image: &Image<'_>, request: Request<'_>, found: &Lookup) -> Capabilities {
    match found.restraint {
        Some(Restraint::Sensitive) => decide::lookup(image, &Request::canonical(request.path)).caps,
        _ => found.granted(image),
    }
}

/// A directory on the way to `end`, spelled like `end` as far as that is known.
pub(crate) fn on_the_way<'d>(end: Request<'d>, directory: &'d Path) -> Request<'d> {
    let route = path_of(end.route);
    let rest = path_of(end.path).strip_prefix(directory).ok().filter(|rest| route.ends_with(rest));
    let above = rest.and_then(|rest| route.ancestors().nth(rest.components().count()));
    let [path, route] = [directory, above.unwrap_or(directory)].map(|it| it.as_os_str().as_bytes());
    Request::by_route(path, route)
}
