//! getdents(2), which is trapped only in a learning run. Rules concern opening a directory. But a program may open one
//! only to return to it, or to have it written to disk. So a learning run also records which ones are read.

use rustix::io::Errno;

use crate::supervisor::resolve::object::Object;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;

/// getdents(2), getdents64(2). The kernel continues with the call, because there is nothing to judge.
pub(crate) fn list(task: &Task<'_>, fd: i32) -> Result<CallResult, Errno> {
    let object = Object::of_descriptor(&task.caller, task.caller.object(fd)?)?;
    task.caller.confirm()?;
    if let Some(path) = object.path() {
        task.learn_listing(path);
    }
    Ok(CallResult::Continue)
}
