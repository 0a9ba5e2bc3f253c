//! The product's own folders in the user's home, which decide what later runs may do (spec §8.1): what no run may
//! change of them says `control` of the policy.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use jp_confine_policy::Capabilities;
use jp_confine_policy::canonical::{self, Op};
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::context::Context;
use crate::failure::Failure;
use crate::report;

/// What the file at `path`, in one of them, holds. Nothing else but a file is waited for.
///
/// # Errors
/// Where it is no file, or cannot be read.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// Makes the folder `path` in one of them, and all above it that is missing: what is in it is for nobody else.
///
/// # Errors
/// Those of `mkdir(2)`.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
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
                let folder = report::path(&resolved.path.to_string_lossy());
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
