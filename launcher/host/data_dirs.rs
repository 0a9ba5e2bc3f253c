//! Creates jp-confine's own directories in the user's home, and rejects a workspace that holds one of them. They decide
//! what later runs may do (spec §8.1). `control` of the policy lists the paths in them that no run may change.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use jp_confine_engine::Capabilities;
use jp_confine_engine::canonical::{self, Op};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;

use crate::error::Failure;
use crate::host::context::Context;
use crate::host::workspace_markers::Marks;
use crate::text::quote;

/// Creates the directory `path` in one of them, with missing parents, for this user alone.
///
/// # Errors
/// Those of `mkdir(2)`.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    canonical::forget();
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Rejects the workspace at the canonical `root` if an environment variable puts one of the directories inside it. A
/// run there could have written it while the user had another home. A workspace that is the whole home was named as
/// such.
///
/// # Errors
/// Exit status 125, with a suggestion.
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

/// Creates the missing directories in places where the program could create something itself: only an existing path can
/// be protected.
pub(crate) fn make_where_reachable(context: &Context, image: &Image<'_>) -> Result<(), Failure> {
    for (folder, _) in context.homes.folders() {
        let Ok(resolved) = canonical::resolve(&context.cwd, &folder, Op::Content) else { continue };
        if resolved.exists || !reaches(image, first_missing(&resolved.path)) {
            continue;
        }
        match make(&resolved.path) {
            // Then no program of this user can create it, either.
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
