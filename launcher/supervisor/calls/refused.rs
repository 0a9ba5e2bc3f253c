//! Denies calls that no program in a run may make, whatever the policy. The filter traps them so
//! that the report lists them. The errno is the kernel's for callers without the privilege.

use rustix::io::Errno;
use rustix::thread::CapabilitySet;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;

/// Denies a call about the path at that address. The report shows the path as spelled.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn at(task: &Task<'_>, dirfd: i32, path: u64) -> Result<CallResult, Errno> {
    let path = task.argument(dirfd, path).and_then(|argument| {
        let _acting = task.begin()?;
        task.spelled(&argument)
    });
    Err(refuse(task, path.as_deref().unwrap_or(b"/")))
}

/// Denies a call that names no path.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn anywhere(task: &Task<'_>) -> Result<CallResult, Errno> {
    Err(refuse(task, b"/"))
}

/// Denies a call on the object of a descriptor.
///
/// # Errors
/// Always `EPERM`.
pub(crate) fn on(task: &Task<'_>, fd: i32) -> Result<CallResult, Errno> {
    let object = task.caller.object(fd).and_then(|file| Object::of_descriptor(&task.caller, file));
    let path = object.as_ref().ok().and_then(Object::path);
    Err(refuse(task, path.unwrap_or(b"/")))
}

/// `unshare(2)` and `setns(2)` with namespaces that need `CAP_SYS_ADMIN`. A caller with that capability, in its own
/// user namespace, makes the call itself: the flags are in a register. The denial is reported for root that lacks the
/// capability.
///
/// # Errors
/// `EPERM`, and `EACCES` if the caller's identity is unknown.
pub(crate) fn namespaces(task: &Task<'_>) -> Result<CallResult, Errno> {
    let caller = task.caller.status()?.identity;
    let is_privileged = caller.capabilities & CapabilitySet::SYS_ADMIN.bits() != 0;
    let [effective, _] = caller.user;
    if is_privileged || effective != 0 { Ok(CallResult::Continue) } else { anywhere(task) }
}

fn refuse(task: &Task<'_>, path: &[u8]) -> Errno {
    // If the caller was killed meanwhile, its identity and arguments are unknown.
    if task.caller.confirm().is_ok() {
        task.refused(Reason::Namespace, Subject::new(path));
    }
    Errno::PERM
}
