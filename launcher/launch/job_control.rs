//! Stops this process together with the program, until either is continued. Used by `front`.
//!
//! A shell that continues its job continues both. A process that continues or ends the program alone leaves the process
//! that the shell waits for stopped: only a signal wakes it, and it cannot send itself one. So a companion process
//! watches the program meanwhile, and continues the stopped process.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process};

use crate::sys::child;
use crate::sys::proc::descendants::{fields, status_of};
use crate::sys::signals::stop_by;

/// Interval at which the companion looks whether the program goes on.
const LOOK: Duration = Duration::from_millis(50);

/// Stops this process as `signal` stopped the `program`, until either is continued or the program ends. Does not stop
/// if the program already goes on, for instance after the whole job was stopped and continued. Returns the companion,
/// now collected, which may have continued this process.
pub(crate) fn stop_with(program: Pid, signal: i32) -> Option<Pid> {
    if is_stopped(program) == Some(false) {
        return None;
    }
    // Without a companion this process waits for its shell.
    let companion = begin(program).ok();
    stop_by(signal);
    if let Some(companion) = companion {
        // The number belongs to the companion until it is collected.
        let _ = kill_process(companion, Signal::KILL);
        let _ = rustix::process::waitpid(Some(companion), WaitOptions::empty());
    }
    companion
}

/// Starts the companion, in its own group, so that a stop of the job does not stop it.
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

/// Continues `front` whenever the `program` is not stopped, until `front` kills this process. A single signal might
/// come before `front` has stopped, and have no effect (`signal(7)`).
fn look_after(program: Pid, front: Pid) {
    while let Some(is_stopped) = is_stopped(program) {
        if !is_stopped && kill_process(front, Signal::CONT).is_err() {
            return;
        }
        thread::sleep(LOOK);
    }
}

/// Whether a thread of the process is stopped, also by a tracer. `None` if that cannot be seen.
fn is_stopped(process: Pid) -> Option<bool> {
    let threads = fs::read_dir(Path::new("/proc").join(process.to_string()).join("task"));
    let Ok(threads) = threads else {
        // The process is hidden, or was collected.
        return rustix::process::test_kill_process(process).is_err().then_some(false);
    };
    let mut found = threads.flatten().filter_map(|thread| status_of(&thread.path()));
    Some(found.any(|stat| {
        let state = fields(&stat).and_then(|mut fields| fields.next());
        matches!(state, Some("T" | "t"))
    }))
}
