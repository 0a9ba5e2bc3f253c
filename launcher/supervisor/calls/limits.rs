//! prlimit(2) of another process: by its limits a process can be ended, as by a signal, and Landlock scopes
//! signals only.

use rustix::io::Errno;

use crate::supervisor::proc::is_of_this_run;
use crate::supervisor::task::Task;
use crate::sys::notification::Answer;

/// `prlimit64(2)` that sets limits of the process of that number, zero being the caller's own. It is in a
/// register, so that the caller can make the call itself.
///
/// # Errors
/// `EPERM` for a process that is not of the run.
pub(crate) fn set(task: &Task<'_>, process: i32) -> Result<Answer, Errno> {
    if process == 0 || is_of_this_run(task.caller.proc(), process.to_string().as_bytes()) {
        return Ok(Answer::Continue);
    }
    Err(Errno::PERM)
}
