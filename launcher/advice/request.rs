//! What was asked for, as far as the record of a denial tells.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{Destination, Request};
use jp_confine_policy::telling::EXCHANGE;

use crate::asked::{Asked, path_of};
use crate::events::Denial;
use crate::made_up;

/// What was asked for when `denial` was the answer.
pub(super) fn asked_by(denial: &Denial) -> Asked<'_> {
    let Denial { other, missing, .. } = denial;
    let path = Request::by_route(&denial.path, &denial.route);
    // Of the other path the spelling is not known.
    let beside = Request::canonical(other);
    let (first, second) = if denial.second { (beside, path) } else { (path, beside) };
    match denial.call.as_slice() {
        // One path alone where the other leads nowhere.
        _ if other.is_empty() && *missing == Capabilities::DELETE => Asked::Removal(path),
        b"rename" | b"renameat" | b"renameat2" if !other.is_empty() => {
            Asked::Rename { from: first, to: second, destination: destination(denial, second.path) }
        }
        call if call == EXCHANGE.to_bytes() && !other.is_empty() => {
            Asked::Rename { from: first, to: second, destination: Destination::Exchange }
        }
        b"link" | b"linkat" if !other.is_empty() => Asked::Link { old: first, new: second },
        b"fts_open" => Asked::Beneath(path, *missing),
        _ if is_made_up(denial) => made(path),
        _ if *missing == Capabilities::DELETE => Asked::Removal(path),
        _ => Asked::Access(path, *missing),
    }
}

/// Whether the denied entry was to be made, and will have another name next time.
fn is_made_up(denial: &Denial) -> bool {
    let name = path_of(&denial.path).file_name().map_or(&b""[..], OsStr::as_bytes);
    let is_drawn = [b"mkstemp", b"mkdtemp"].iter().any(|call| denial.call.starts_with(*call));
    denial.missing.contains(Capabilities::CREATE)
        && (is_drawn || made_up::is_another_each_time(name))
}

/// As asked by whoever makes up the name of `entry`.
fn made(entry: Request<'_>) -> Asked<'_> {
    let directory = path_of(entry.path).parent().map_or(entry.path, |it| it.as_os_str().as_bytes());
    Asked::Made { directory: Request::canonical(directory), entry }
}

/// What the rename was to do at `to`: what was missing there tells, or else what is there now.
fn destination(denial: &Denial, to: &[u8]) -> Destination {
    let missing = if denial.second { denial.missing } else { Capabilities::NONE };
    let exists = path_of(to).symlink_metadata().is_ok();
    if missing.contains(Capabilities::UPDATE) || exists && !missing.contains(Capabilities::CREATE) {
        Destination::Exists
    } else {
        Destination::Missing
    }
}
