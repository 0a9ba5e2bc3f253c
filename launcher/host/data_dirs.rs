//! The product's own folders in the user's home, which decide what later runs may do (spec §8.1): what no run may
//! change of them says `control` of the policy.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::canonical::{self, Op};
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace_markers::Marks;
use crate::text::quote;

/// Makes the folder `path` in one of them, and all above it that is missing: what is in it is for nobody else.
///
/// # Errors
/// Those of `mkdir(2)`.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Refuses a workspace at `root`, canonical, that one of them is in by the environment: a run there could have written
/// it, while this user had another home. A home that is the workspace as a whole was named as such.
///
/// # Errors
/// Exit status 125, with what to do.
pub(crate) fn refuse_inside(context: &Context, root: &Path) -> Result<(), Failure> {
    if Marks::of(context).is_too_much(root) {
        return Ok(());
    }
    for (directory, what, variable) in context.homes.named() {
        let found = canonical::resolve(&context.cwd, directory, Op::Content);
        let leads_inside = found.is_ok_and(|found| found.path.starts_with(root));
        if directory.starts_with(root) || leads_inside {
            let [directory, root] =
                [directory, root].map(|path| quote::quoted(path.as_os_str().as_bytes()));
            return Err(Failure::advised(
                format!(
                    "{variable} is {directory}, in the workspace {root}: a run could have written {what}"
                ),
                format!("set {variable} to a directory outside, or name a workspace below with -C"),
            ));
        }
    }
    Ok(())
}

/// Makes the folders that are missing, where the program could make something in their place: the way to
/// a folder is only held where it exists.
pub(crate) fn make_where_reachable(context: &Context, image: &Image<'_>) -> Result<(), Failure> {
    for (folder, _) in context.homes.folders() {
        let Ok(resolved) = canonical::resolve(&context.cwd, &folder, Op::Content) else { continue };
        if resolved.exists || !reaches(image, first_missing(&resolved.path)) {
            continue;
        }
        match make(&resolved.path) {
            // Then no program of this user's can make it either.
            Err(error) if is_refusal(error.kind()) => {}
            Err(error) => {
                let folder = quote::path(&resolved.path.to_string_lossy());
                return Err(Failure::advised(
                    format!("{folder} cannot be made ({error}), and the program might make it"),
                    "grant less than the directory above it",
                ));
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

fn is_refusal(error: ErrorKind) -> bool {
    matches!(error, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

fn first_missing(path: &Path) -> &Path {
    let missing = |path: &&Path| path.symlink_metadata().is_err();
    path.ancestors().take_while(missing).last().unwrap_or(path)
}

fn reaches(image: &Image<'_>, path: &Path) -> bool {
    let request = Request::canonical(path.as_os_str().as_bytes());
    decide::access(image, &request, Capabilities::CREATE) == Verdict::Allow
}
