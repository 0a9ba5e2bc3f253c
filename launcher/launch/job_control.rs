//! Stopping with the program, until either is continued.
//!
//! A shell that continues its job continues both. Whoever continues the program alone, or ends it, leaves the process
//! that the shell waits for stopped: nothing wakes a stopped process but a signal, and it cannot send itself one. So
//! a companion looks after the program meanwhile, and continues the process in its stead.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process};

use crate::sys::child;
use crate::sys::proc::descendants::{fields, status_of};
use crate::sys::signals::stop_by;

/// How often it is looked whether the program goes on.
const LOOK: Duration = Duration::from_millis(50);

/// Stops this process as `signal` stopped the `program`, until either is continued or the program ends. The companion
/// that may have continued this process, which was collected. Where the program goes on by now, as where all of the
/// job was stopped and continued, there is nothing to stop for.
pub(crate) fn stop_with(program: Pid, signal: i32) -> Option<Pid> {
    if is_stopped(program) == Some(false) {
        return None;
    }
    // Without one this process waits for its shell.
    let companion = begin(program).ok();
    stop_by(signal);
    if let Some(companion) = companion {
        // A child until it is collected, so that the number is its own.
        let _ = kill_process(companion, Signal::KILL);
        let _ = rustix::process::waitpid(Some(companion), WaitOptions::empty());
    }
    companion
}

/// Splits off the companion. It is in a group of its own: what stops the job does not stop it.
fn begin(program: Pid) -> std::io::Result<Pid> {
    let front = getpid();
    if let Some(companion) = child::split()? {
        return Ok(companion);
    }
    let is_bound = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    if is_bound && getppid() == Some(front) && rustix::process::setpgid(None, None).is_ok() {
        look_after(program, front);
    }
    child::leave(0)
}

/// Continues `front` once the `program` is stopped no more, until that ends this process: before it has stopped, a
/// signal to go on is lost (`signal(7)`).
fn look_after(program: Pid, front: Pid) {
    while let Some(is_stopped) = is_stopped(program) {
        if !is_stopped && kill_process(front, Signal::CONT).is_err() {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Whether a thread of the process is stopped, be it by who traces it; `None` where that is not to be seen.
fn is_stopped(process: Pid) -> Option<bool> {
    let threads = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
    let Ok(threads) = threads else {
        // It is hidden, or was collected.
        return rustix::process::test_kill_process(process).is_err().then_some(false);
    };
    let mut found = threads.flatten().filter_map(|thread| status_of(&thread.path()));
    Some(found.any(|stat| {
        let state = fields(&stat).and_then(|mut fields| fields.next());
        matches!(state, Some("T" | "t"))
    }))
}
