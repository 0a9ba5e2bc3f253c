//! Finds the files that a program's name may mean, and their kind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use jp_confine_engine::executable::ExecutableKind;

use crate::error::NotRun;
use crate::files;
use crate::host::context::Context;
use crate::sys::executable::inspect;

/// The files that `name` may mean, in the order of `PATH`.
pub(crate) fn candidates(context: &Context, name: &OsStr) -> Vec<PathBuf> {
    if name.is_empty() {
        return Vec::new();
    }
    if name.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(name)];
    }
    // An empty element of PATH is the working directory (`environ(7)`).
    std::env::split_paths(&context.path).map(|dir| Path::new(".").join(dir).join(name)).collect()
}

/// The path of jp-confine itself.
pub(crate) fn own_path() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("jp-confine"))
}

/// Whether another program, an interpreter or the shell, runs the file by reading it. Looks at the disk.
pub(crate) fn is_script(path: &Path) -> bool {
    matches!(kind(path), Ok((ExecutableKind::Script | ExecutableKind::Other, _)))
}

/// The kind of program that a file is, and the path of its interpreter or loader. An object other than a regular file is
/// an error: reading it might wait.
pub(crate) fn kind(path: &Path) -> Result<(ExecutableKind, Vec<u8>), NotRun> {
    let unknown = |error| NotRun::Unfit(format!("what kind of program it is is unknown: {error}"));
    if !path.metadata().map_err(unknown)?.is_file() {
        return Err(NotRun::Unfit("it is no regular file".to_owned()));
    }
    let file = files::open_file(path).map_err(unknown)?;
    inspect(file).map_err(|errno| unknown(errno.into()))
}
