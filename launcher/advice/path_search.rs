//! Finds denials that are not reported, since they cost the program nothing. A program search tries each directory of
//! `PATH`, so a denied one that does not contain the program is no loss.

use std::ffi::OsStr;

use jp_confine_engine::Capabilities;

use crate::advice::system_permissions::is_full;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::host::workspace_markers::REPOSITORY;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// Whether a denial is about a program that does not exist there, while `PATH` has one of that name elsewhere.
pub(crate) fn finds_elsewhere(context: &Context, denial: &Denial) -> bool {
    let path = path_of(&denial.path);
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else { return false };
    if denial.missing != Capabilities::EXECUTE || path.symlink_metadata().is_ok() {
        return false;
    }
    let folders = context.variable(OsStr::new("PATH")).unwrap_or_default();
    let elsewhere = |other: &std::path::PathBuf| other != folder && other.join(name).is_file();
    std::env::split_paths(&folders).any(|other| elsewhere(&other))
}

/// Whether a denial is about removing the repository with `rmdir(2)`. That fails in any case, since it is not empty.
/// `git stash` tries it each time. Looks at the disk.
pub(crate) fn stays_in_any_case(workspace: &Workspace, denial: &Denial) -> bool {
    denial.call == b"rmdir"
        && path_of(&denial.path) == workspace.root.join(REPOSITORY)
        && is_full(denial)
}
