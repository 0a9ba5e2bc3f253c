//! The process groups and sessions of processes. One that was made outside this PID namespace has no number here
//! (`pid_namespaces(7)`): the kernel answers 0, which `rustix` takes for a number.

use rustix::process::{Pid, RawPid};

/// The group of a process. `None` if it has no number here, or the process has ended.
pub(crate) fn group_of(process: Pid) -> Option<Pid> {
    // SAFETY: the call takes a number, and no memory.
    number(unsafe { libc::getpgid(process.as_raw_pid()) })
}

/// This process's group. `None` if it has no number here.
pub(crate) fn own_group() -> Option<Pid> {
    // SAFETY: the call takes nothing.
    number(unsafe { libc::getpgrp() })
}

/// Whether two processes are in one session, as far as their sessions have numbers here.
pub(crate) fn share_session(one: Pid, other: Pid) -> bool {
    // SAFETY: the call takes a number, and no memory.
    let session = |process: Pid| unsafe { libc::getsid(process.as_raw_pid()) };
    session(one) == session(other)
}

fn number(answer: RawPid) -> Option<Pid> {
    (answer > 0).then(|| Pid::from_raw(answer)).flatten()
}
