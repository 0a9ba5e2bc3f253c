//! Which files a program's name means.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::error::Refusal;
use crate::files;
use crate::host::context::Context;
use crate::sys::executable::{Kind, inspect, read_at};

/// The files that `name` can mean, in the order of `PATH`.
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

/// This program, who starts what was typed.
pub(crate) fn own_path() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("jp-confine"))
}

/// Whether the file is a program that another one reads: an interpreter, or the shell. Looks at the disk.
pub(crate) fn is_script(path: &Path) -> bool {
    matches!(kind(path), Ok(Kind::Script(_) | Kind::Other))
}

/// What kind of program a file is; of what is no regular file nobody can tell without waiting for it.
pub(crate) fn kind(path: &Path) -> Result<Kind, Refusal> {
    let unknown = |error| Refusal::Unfit(format!("what kind of program it is is unknown: {error}"));
    if !path.metadata().map_err(unknown)?.is_file() {
        return Err(Refusal::Unfit("it is no regular file".to_owned()));
    }
    let file = files::open_file(path).map_err(unknown)?;
    inspect(|offset, to| read_at(&file, offset, to)).map_err(|errno| unknown(errno.into()))
}
