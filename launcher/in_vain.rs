//! Changes that the kernel refuses whatever is granted, for what stands at their paths (`rmdir(2)`, `unlink(2)`).

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use jp_confine_policy::Capabilities;

use crate::asked::path_of;
use crate::events::{Denial, Reason};
use crate::made_up::is_since;

/// Calls that may remove a directory, if it is empty.
const REMOVING: [&[u8]; 3] = [b"rmdir", b"unlinkat", b"remove"];

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle<'d> {
    /// There is something in the directory.
    NotEmpty(&'d Path),
}

/// What kept the one entry from being removed that `denial` is about, in a run that `began` then; `refused` is all that
/// was refused in it. Looks at the disk, with the user's own rights.
pub(crate) fn removal<'d>(
    denial: &'d Denial,
    began: Option<SystemTime>,
    refused: &[(Denial, u64)],
) -> Option<Obstacle<'d>> {
    let path = path_of(&denial.path);
    let is_one = denial.reason == Reason::Rule && denial.missing == Capabilities::DELETE;
    let removes = is_one && REMOVING.contains(&denial.call.as_slice());
    let stays = removes && is_full(path, began) && !was_to_be_emptied(path, refused);
    stays.then_some(Obstacle::NotEmpty(path))
}

/// Whether a directory holds something that was there before a run `began`, or at all if there was none: what was put
/// there since may not have been in the way yet. Looks at the disk.
fn is_full(directory: &Path, began: Option<SystemTime>) -> bool {
    let is_old = |entry: &fs::DirEntry| {
        entry.path().symlink_metadata().is_ok_and(|found| !is_since(&found, began))
    };
    let is_directory = directory.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_directory
        && fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| is_old(&entry))
}

/// Whether something in the directory would have been removed before, had that not been refused, or nobody could look
/// what there is.
fn was_to_be_emptied(directory: &Path, refused: &[(Denial, u64)]) -> bool {
    let is_in = |path: &Path| path != directory && path.starts_with(directory);
    refused.iter().any(|(denial, _)| {
        let path = path_of(&denial.path);
        let removes = denial.missing.contains(Capabilities::DELETE);
        let lists = denial.missing.contains(Capabilities::READ) && path.is_dir();
        (removes && is_in(path)) || (lists && path.starts_with(directory))
    })
}
