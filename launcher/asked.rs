//! Requests that are put to the evaluator again: what was denied, to find what would allow it, and what
//! was allowed, to find whether other rules would.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_policy::Capabilities;
use jp_confine_policy::build::Grant;
use jp_confine_policy::canonical;
use jp_confine_policy::decide::{self, Destination, Lookup, Request, Verdict};
use jp_confine_policy::image::Image;
use jp_confine_policy::tier::Restraint;

/// A request; all paths are canonical and absolute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'d> {
    /// For capabilities on one path.
    Access(&'d [u8], Capabilities),
    /// For the removal of an entry.
    Removal(&'d [u8]),
    /// Of a walk: the directory and all below it.
    Beneath(&'d [u8], Capabilities),
    /// For a move.
    Rename { from: &'d [u8], to: &'d [u8], destination: Destination },
    /// For a second name.
    Link { old: &'d [u8], new: &'d [u8] },
}

impl<'d> Asked<'d> {
    /// All that it names.
    pub(crate) fn paths(&self) -> Vec<&'d Path> {
        match *self {
            Self::Access(path, _) | Self::Removal(path) | Self::Beneath(path, _) => {
                vec![path_of(path)]
            }
            Self::Rename { from: first, to: second, .. }
            | Self::Link { old: first, new: second } => vec![path_of(first), path_of(second)],
        }
    }

    /// What a policy says.
    pub(crate) fn judge(&self, image: &Image<'_>) -> Verdict {
        let request = Request::canonical;
        match *self {
            Self::Access(path, need) => decide::access(image, &request(path), need),
            Self::Removal(path) => decide::remove(image, &request(path)),
            Self::Beneath(path, need) => decide::beneath(image, &request(path), need),
            Self::Rename { from, to, destination } => {
                decide::rename(image, &request(from), &request(to), destination)
            }
            Self::Link { old, new } => decide::link(image, &request(old), &request(new)),
        }
    }

    /// The path that a denial of this request is about.
    pub(crate) fn place(&self, denial: &decide::Denial) -> &'d [u8] {
        match *self {
            Self::Access(path, _) | Self::Removal(path) | Self::Beneath(path, _) => path,
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
}

/// Something that lacks at a place.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) place: PathBuf,
    /// What is granted there.
    pub(crate) held: Capabilities,
    pub(crate) missing: Capabilities,
}

/// Where `missing` lacks: at `path`, or at the anchors below it that have less than it has.
pub(crate) fn lacking(
    image: &Image<'_>,
    grants: &[Grant],
    path: &[u8],
    missing: Capabilities,
) -> Vec<Step> {
    let step = |path: &[u8]| {
        let found = decide::lookup(image, &Request::canonical(path));
        let missing = missing.difference(found.caps);
        let place = path_of(path).to_owned();
        (!missing.is_empty()).then_some(Step { place, held: kept(image, &found), missing })
    };
    if let Some(step) = step(path) {
        return vec![step];
    }
    let below = |grant: &&Grant| canonical::below(path_of(path), &grant.anchor).is_some();
    grants
        .iter()
        .filter(below)
        .filter_map(|grant| step(grant.anchor.as_os_str().as_bytes()))
        .collect()
}

/// What a rule in place of the one that was found has to grant, so that nobody has less. A sensitive path is
/// given only what was asked for.
fn kept(image: &Image<'_>, found: &Lookup) -> Capabilities {
    match found.restraint {
        Some(Restraint::Sensitive) => found.caps,
        _ => found.granted(image),
    }
}

/// Bytes as a path.
pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
