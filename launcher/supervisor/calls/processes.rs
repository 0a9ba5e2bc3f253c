//! What is done to processes by their numbers: by its limits a process can be ended, as by a signal, and by its
//! priority be starved. Landlock scopes signals and looking into others only.

use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::task::Task;
use crate::sys::notification::Answer;
use crate::sys::proc::{descendants, exists, is_of_this_run};

/// A call about the process or thread of that number, zero being the caller's own. The number is in a
/// register, so that the caller can make the call itself.
///
/// # Errors
/// `EPERM` for a process that is not of the run, `ESRCH` for none.
pub(crate) fn one(task: &Task<'_>, number: i32) -> Result<Answer, Errno> {
    let proc = task.caller.proc();
    let name = number.to_string();
    // In a pid namespace that the run made there are processes of the run only.
    if number == 0
        || is_of_this_run(proc, name.as_bytes())
        || proc.is_other_pid_namespace(task.caller.tid())
    {
        return Ok(Answer::Continue);
    }
    Err(if exists(proc, &name) { refused(task, &format!("/proc/{name}")) } else { Errno::SRCH })
}

/// `perf_event_open(2)`: as [`one`], where the number is not that of a control group.
///
/// # Errors
/// `EPERM` too for all processes at once, and for those of a control group.
pub(crate) fn count(task: &Task<'_>, number: i32, flags: u64) -> Result<Answer, Errno> {
    const OF_GROUP: u64 = 4; // PERF_FLAG_PID_CGROUP
    if number < 0 || flags & OF_GROUP != 0 {
        return Err(refused(task, "/proc"));
    }
    one(task, number)
}

/// `setpriority(2)`, `ioprio_set(2)`: as [`one`] where `which` is `process`, of the call's own numbers.
///
/// # Errors
/// `EPERM` too for a group, to which the shell may have given others, and for all processes of a user.
pub(crate) fn prioritise(
    task: &Task<'_>,
    which: u32,
    process: u32,
    number: i32,
) -> Result<Answer, Errno> {
    if which == process { one(task, number) } else { Err(refused(task, "/proc")) }
}

/// `setpgid(2)`: a terminal stops and interrupts groups, and whoever is in one can have it do so. That which the run
/// was started in is its own, too. The numbers are in registers, so that the caller can make the call itself.
///
/// # Errors
/// `EPERM` for a group in which nobody is of the run.
pub(crate) fn join(task: &Task<'_>, number: i32, group: i32) -> Result<Answer, Errno> {
    let proc = task.caller.proc();
    let is_own = number == group
        || is_of_this_run(proc, group.to_string().as_bytes())
        || proc.is_other_pid_namespace(task.caller.tid())
        || descendants::have_in_group(group);
    if is_own { Ok(Answer::Continue) } else { Err(refused(task, &format!("/proc/{group}"))) }
}

/// Reaching into a process where nothing tells those of the run apart from others; its number, or zero where
/// it is named otherwise.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn reach(task: &Task<'_>, number: i32) -> Result<Answer, Errno> {
    let whose = if number > 0 { format!("/proc/{number}") } else { "/proc".to_owned() };
    Err(refused(task, &whose))
}

/// Reports it; the answer is what the kernel says of processes of others.
fn refused(task: &Task<'_>, whose: &str) -> Errno {
    task.refused(Reason::OtherProcess, Subject::new(whose.as_bytes()));
    Errno::PERM
}
