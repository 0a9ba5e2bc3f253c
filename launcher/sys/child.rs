//! What happens in the child between fork and exec.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal};

use super::signals::Inherited;

/// Prepares `command` so that its child keeps `handles` across exec, cannot gain privileges, dies
/// with this process, and starts with the signals `inherited`.
///
/// `PR_SET_PDEATHSIG` reaches the direct child only. A front that is killed can neither report nor
/// clean up, so the program must not run on as if nothing had happened; what it has started is left
/// to it, as when any parent dies.
pub(crate) fn confine(command: &mut Command, handles: [&OwnedFd; 2], inherited: Inherited) {
    let handles: [RawFd; 2] = handles.map(|handle| handle.as_fd().as_raw_fd());
    let front = rustix::process::getpid();
    let prepare = move || {
        rustix::thread::set_no_new_privs(true)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(front) {
            return Err(io::Error::from(rustix::io::Errno::SRCH));
        }
        for handle in handles {
            // SAFETY: the parent holds the descriptor open while it starts the child.
            let handle = unsafe { BorrowedFd::borrow_raw(handle) };
            fcntl_setfd(handle, FdFlags::empty())?;
        }
        inherited.restore();
        Ok(())
    };
    // SAFETY: the closure makes system calls only: no allocation, no lock.
    unsafe { command.pre_exec(prepare) };
}

/// Whether `pid` descends from `ancestor`: whether it belongs to the run.
pub(crate) fn descends(pid: i32, ancestor: Pid) -> bool {
    let parent_of = |pid: i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything, a parenthesis too; what follows the last one is numbers.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok()
    };
    std::iter::successors(Some(pid), |&pid| parent_of(pid).filter(|&parent| parent > 1))
        .any(|pid| pid == ancestor.as_raw_nonzero().get())
}
