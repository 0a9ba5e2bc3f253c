//! system(3): libc's own starts the shell from inside libc.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use crate::cancellation;
use crate::errno::{Errno, Reply};
use crate::exec::{self, search, shell};
use crate::spawn::attributes::Attributes;
use crate::spawn::{self, Job};
use crate::sys::process::{self, Disposition, signal_set};

/// The status of a shell that could not be run: as if it had exited with 127 (POSIX).
const NOT_RUN: c_int = 127 << 8;

/// Runs `command` to its end: its status.
fn run(command: *const c_char) -> Result<c_int, Errno> {
    let interrupt = Ignored::begin(libc::SIGINT)?;
    let quit = Ignored::begin(libc::SIGQUIT)?;
    let blocked = process::block(signal_set(libc::SIGCHLD))?;
    let argv = [c"sh".as_ptr(), c"-c".as_ptr(), command, ptr::null()];
    let execute = || {
        let argv = argv.as_ptr();
        let path = shell::SHELL.as_ptr();
        exec::execute(c"system", libc::AT_FDCWD, path, argv, search::environ(), 0)
    };
    let defaults = interrupt.to_default() | quit.to_default();
    let attributes = Attributes::of_signals(defaults, blocked);
    let started = spawn::spawn(&Job { attributes, prepare: &|| Ok(()), execute: &execute });
    let status = match started {
        Ok(pid) => {
            let running = Running { pid, ignored: [&interrupt, &quit], blocked };
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

/// A shell that is waited for, and what changed meanwhile.
struct Running<'a> {
    pid: c_int,
    ignored: [&'a Ignored; 2],
    blocked: process::Signals,
}

/// What becomes of a [`Running`] shell when the thread that waits for it is cancelled (system(3)
/// of glibc).
extern "C" fn abandon(running: *mut c_void) {
    // SAFETY: the frame of `run` that it lives in has not ended.
    let running = unsafe { &*running.cast::<Running<'_>>() };
    process::kill(running.pid);
    let _ = process::wait(running.pid);
    for ignored in running.ignored {
        ignored.end();
    }
    process::set_blocked(running.blocked);
}

/// A signal that is ignored for as long as this lives.
struct Ignored {
    signal: c_int,
    before: Disposition,
}

impl Ignored {
    fn begin(signal: c_int) -> Result<Self, Errno> {
        let before = process::disposition(signal)?;
        process::set_disposition(signal, &Disposition::IGNORE)?;
        Ok(Self { signal, before })
    }

    fn end(&self) {
        let _ = process::set_disposition(self.signal, &self.before);
    }

    /// The signal, if the shell is to start with its default action: unless the caller ignored it.
    fn to_default(&self) -> process::Signals {
        if self.before.is_ignored() { 0 } else { signal_set(self.signal) }
    }
}

impl Drop for Ignored {
    fn drop(&mut self) {
        self.end();
    }
}

/// What system(3) returns.
pub(super) fn answer(command: *const c_char) -> c_int {
    cancellation::test();
    if command.is_null() {
        // Whether there is a shell.
        return c_int::from(run(c"exit 0".as_ptr()) == Ok(0));
    }
    run(command).reply()
}

#[unsafe(no_mangle)]
extern "C" fn system(command: *const c_char) -> c_int {
    answer(command)
}
