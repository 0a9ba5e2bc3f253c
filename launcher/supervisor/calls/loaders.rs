//! Judges the program that a dynamic loader starts when it is itself executed (`ld.so PROGRAM`, ld.so(8)). Used by
//! `exec`.
//!
//! The kernel only sees the loader read the program. So any process that may read a file could start it, although no
//! rule allows executing it.

use jp_confine_engine::executable::Libc;
use jp_confine_engine::loader::{self, Start};
use rustix::io::Errno;

use super::exec::{Given, find, may_execute, named};
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::arguments;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;

/// The variable that makes glibc's loader print its libraries and start nothing, as ldd(1) does.
const PRINTS: &[u8] = b"LD_TRACE_LOADED_OBJECTS=";

/// Judges the program that `loader` will start. For a script whose interpreter is a loader, nothing is `given`, because
/// its arguments are not the caller's.
///
/// # Errors
/// As `find`, and `EACCES` if the loader's program is unknown.
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
            let argument = named(task.caller, path.to_vec())?;
            find(task, &argument, false, &may_execute).map(drop)
        }
        Start::Unknown => Err(unknown()),
    }
}

/// Whether the environment makes the loader only print.
fn prints(task: &Task<'_>, libc: Libc, given: Given) -> Result<bool, Errno> {
    let is_known = libc == Libc::Glibc;
    let variables = if is_known { arguments::read(&task.caller, given.envp)? } else { Vec::new() };
    Ok(variables.iter().any(|variable| variable.starts_with(PRINTS)))
}
