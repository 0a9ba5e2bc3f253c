//! Judges what a dynamic loader starts that somebody executes as a program (`ld.so PROGRAM`, ld.so(8)). Used by `programs`.
//!
//! To the kernel the loader only reads the program. So whoever may read a file could start it, although no rule lets it be
//! executed.

use jp_confine_policy::loader::{self, Start};
use rustix::io::Errno;

use super::exec::{Given, find, may_execute, named};
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::arguments;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::executable::Libc;

/// The variable with which glibc's loader prints what it would load, and starts nothing: this is how ldd(1) works.
const PRINTS: &[u8] = b"LD_TRACE_LOADED_OBJECTS=";

/// Judges the program that `loader` is to start. Of a script whose interpreter is a loader nothing is `given`: its words
/// are others than the caller's.
///
/// # Errors
/// As `find`; `EACCES` where nobody can tell what the loader will start.
pub(super) fn judge(
    task: &Task<'_>,
    loader: &Object,
    libc: Libc,
    given: Option<Given>,
) -> Result<(), Errno> {
    let unknown =
        || task.refused(Reason::LoaderWords, Subject::new(loader.path().unwrap_or_default()));
    let given = given.ok_or_else(unknown)?;
    let words = arguments::read(&task.caller, given.argv)?;
    let behind = words.iter().skip(1).map(Vec::as_slice);
    let start = match libc {
        Libc::Glibc => loader::of_glibc(behind),
        Libc::Other => loader::of_musl(behind),
    };
    match start {
        Start::Nothing => Ok(()),
        Start::Program(_) | Start::Unknown if prints(task, libc, given)? => Ok(()),
        Start::Program(path) => {
            let argument = named(task, path.to_vec())?;
            find(task, &argument, false, &may_execute).map(drop)
        }
        Start::Unknown => Err(unknown()),
    }
}

/// Whether the loader only prints, by its environment.
fn prints(task: &Task<'_>, libc: Libc, given: Given) -> Result<bool, Errno> {
    let is_known = libc == Libc::Glibc;
    let variables = if is_known { arguments::read(&task.caller, given.envp)? } else { Vec::new() };
    Ok(variables.iter().any(|variable| variable.starts_with(PRINTS)))
}
