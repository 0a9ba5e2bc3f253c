//! Hook for system(3). libc's own function would start the shell inside libc.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::cancellation;
use crate::errno::{Errno, Reply};
use crate::exec::{self, search, shell};
use crate::hooks::interrupts::Ignored;
use crate::spawn::attributes::Attributes;
use crate::spawn::{self, Job};
use crate::sys::process::{self, signal_set};

/// The status of a shell that could not start, as if it had exited with 127 (POSIX).
const NOT_RUN: c_int = 127 << 8;

/// Runs `command` to its end and returns its status.
fn run(command: *const c_char) -> Result<c_int, Errno> {
    let ignored = Ignored::begin();
    let blocked = process::block(signal_set(libc::SIGCHLD))?;
    let argv = [c"sh".as_ptr(), c"-c".as_ptr(), command, ptr::null()];
    let execute = || {
        let argv = argv.as_ptr();
        let path = shell::SHELL.as_ptr();
        exec::execute(c"system", libc::AT_FDCWD, path, argv, search::environ(), 0)
    };
    let attributes = Attributes::of_signals(ignored.to_default(), blocked);
    let started = spawn::spawn(&Job { attributes, prepare: &|| Ok(()), execute: &execute });
    let status = match started {
        Ok(pid) => {
            let running = Running { pid, ignored: &ignored, blocked };
            cancellation::point_undone(abandon, &running, || process::wait(pid))
        }
        Err(errno) => {
            errno.set();
            Ok(NOT_RUN)
        }
    };
    process::set_blocked(blocked);
    status
}

/// A shell that a thread waits for, and the state that changed meanwhile.
struct Running<'a> {
    pid: c_int,
    ignored: &'a Ignored,
    blocked: process::Signals,
}

/// Ends a [`Running`] shell when the thread that waits for it is cancelled (system(3) of glibc).
extern "C" fn abandon(running: *mut c_void) {
    // SAFETY: it lives in the frame of `run`, which has not ended.
    let running = unsafe { &*running.cast::<Running<'_>>() };
    process::kill(running.pid);
    let _ = process::wait(running.pid);
    running.ignored.end();
    process::set_blocked(running.blocked);
}

/// The result of system(3).
pub(super) fn answer(command: *const c_char) -> c_int {
    cancellation::test();
    if command.is_null() {
        // The question is whether there is a shell.
        return c_int::from(run(c"exit 0".as_ptr()) == Ok(0));
    }
    run(command).reply()
}

#[unsafe(no_mangle)]
extern "C" fn system(command: *const c_char) -> c_int {
    answer(command)
}
