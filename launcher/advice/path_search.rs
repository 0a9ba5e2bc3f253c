//! Who starts a program by its name looks for it in one folder after another. That one of them, which is not
//! granted, does not have it is no loss to anybody, and no news.

use std::ffi::OsStr;

use jp_confine_policy::Capabilities;

use crate::advice::kernel_obstacles::Past;
use crate::host::context::Context;
use crate::host::workspace::Workspace;
use crate::host::workspace_markers::REPOSITORY;
use crate::record::denial::Denial;
use crate::sys::path::path_of;

/// Whether a denial is of a program that is not there, while `PATH` has one of its name elsewhere.
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

/// Whether a denial is of removing the repository with `rmdir(2)`, which fails in any case: it is not empty. `git stash`
/// tries that each time. Looks at the disk.
pub(crate) fn stays_in_any_case(workspace: &Workspace, denial: &Denial) -> bool {
    denial.call == b"rmdir"
        && path_of(&denial.path) == workspace.root.join(REPOSITORY)
        && Past::default().removal(denial).is_some()
}
