//! Calls that nobody in a run may make, whatever the policy (`refused_calls::table`). The filter hands them over
//! so that the report has them. The answer is the kernel's to whoever lacks the privilege.

use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::notification::Answer;

/// Refuses a call about the path at that address, which is told as it reads.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn at(task: &Task<'_>, dirfd: i32, path: u64) -> Result<Answer, Errno> {
    let path = task.argument(dirfd, path).and_then(|argument| {
        let _acting = task.begin()?;
        task.spelled(&argument)
    });
    Err(refuse(task, path.as_deref().unwrap_or(b"/")))
}

/// Refuses a call that names no path.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn anywhere(task: &Task<'_>) -> Result<Answer, Errno> {
    Err(refuse(task, b"/"))
}

/// Refuses a call on what a descriptor is open for.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn on(task: &Task<'_>, fd: i32) -> Result<Answer, Errno> {
    let object = task.caller.object(fd).and_then(|file| Object::of_descriptor(&task.caller, file));
    let path = object.as_ref().ok().and_then(Object::path);
    Err(refuse(task, path.unwrap_or(b"/")))
}

/// `unshare(2)` and `setns(2)` with namespaces that take `CAP_SYS_ADMIN`. Whoever has that, in a user namespace of
/// its own, makes the call itself: the flags are in a register. Root that was left without is told of.
///
/// # Errors
/// `EPERM`; `EACCES` where it cannot be told who calls.
pub(crate) fn namespaces(task: &Task<'_>) -> Result<Answer, Errno> {
    let caller = task.caller.status()?.identity;
    let is_privileged = caller.capabilities & CapabilitySet::SYS_ADMIN.bits() != 0;
    let [effective, _] = caller.user;
    if is_privileged || effective != 0 { Ok(Answer::Continue) } else { anywhere(task) }
}

fn refuse(task: &Task<'_>, path: &[u8]) -> Errno {
    // Of a caller that was killed meanwhile nobody knows who it was, nor what it meant.
    if task.caller.confirm().is_ok() {
        task.refused(Reason::Namespace, Subject::new(path));
    }
    Errno::PERM
}
