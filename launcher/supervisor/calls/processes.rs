//! Judges calls on processes by number. Limits can end a process, as a signal can, and a priority can starve it.
//! Landlock only scopes signals and looking into other processes.

use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::{descendants, exists, is_of_this_run};

/// A call on the process or thread with that number. Zero means the caller itself. The number is in a register, so the
/// caller can make the call itself.
///
/// # Errors
/// `EPERM` for a process outside the run, `ESRCH` if there is none.
pub(crate) fn one(task: &Task<'_>, number: i32) -> Result<CallResult, Errno> {
    let proc = task.caller.proc();
    let name = number.to_string();
    // In a pid namespace that the run created, all processes belong to the run.
    if number == 0
        || is_of_this_run(proc, name.as_bytes())
        || proc.is_other_pid_namespace(task.caller.tid())
    {
        return Ok(CallResult::Continue);
    }
    Err(if exists(proc, &name) { refused(task, &format!("/proc/{name}")) } else { Errno::SRCH })
}

/// `perf_event_open(2)`: as [`one`], unless the number is that of a control group.
///
/// # Errors
/// Also `EPERM` for all processes at once, and for those of a control group.
pub(crate) fn count(task: &Task<'_>, number: i32, flags: u64) -> Result<CallResult, Errno> {
    const OF_GROUP: u64 = 4; // PERF_FLAG_PID_CGROUP
    if number < 0 || flags & OF_GROUP != 0 {
        return Err(refused(task, "/proc"));
    }
    one(task, number)
}

/// `setpriority(2)`, `ioprio_set(2)`: as [`one`] if `which` is `process`, a constant of the call.
///
/// # Errors
/// Also `EPERM` for a group, to which the shell may have added other processes, and for all processes of a user.
pub(crate) fn prioritise(
    task: &Task<'_>,
    which: u32,
    process: u32,
    number: i32,
) -> Result<CallResult, Errno> {
    if which == process { one(task, number) } else { Err(refused(task, "/proc")) }
}

/// `setpgid(2)`: a terminal stops and interrupts whole groups, so a member could make it do that to others. The group
/// that the run was started in also counts as the run's. The numbers are in registers, so the caller can make the call
/// itself.
///
/// # Errors
/// `EPERM` for a group without a process of the run.
pub(crate) fn join(task: &Task<'_>, number: i32, group: i32) -> Result<CallResult, Errno> {
    let proc = task.caller.proc();
    let is_own = number == group
        || is_of_this_run(proc, group.to_string().as_bytes())
        || proc.is_other_pid_namespace(task.caller.tid())
        || descendants::have_in_group(group);
    if is_own { Ok(CallResult::Continue) } else { Err(refused(task, &format!("/proc/{group}"))) }
}

/// Reaching into a process, if nothing tells those of the run apart from others. The number is zero if the process is
/// named in another way.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn reach(task: &Task<'_>, number: i32) -> Result<CallResult, Errno> {
    let whose = if number > 0 { format!("/proc/{number}") } else { "/proc".to_owned() };
    Err(refused(task, &whose))
}

/// Reports it. Returns the kernel's errno for other users' processes.
fn refused(task: &Task<'_>, whose: &str) -> Errno {
    task.refused(Reason::OtherProcess, Subject::new(whose.as_bytes()));
    Errno::PERM
}
