//! Starts a program as a child. Used by the hooks for `posix_spawn(3)`, system(3) and popen(3).
//!
//! glibc's own functions would open the files of file actions inside libc, where no hook sees it. The child shares the
//! parent's memory until it runs the program, so it follows the same restrictions as exec.

pub(crate) mod actions;
pub(crate) mod attributes;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use crate::errno::Errno;
use crate::path_cache;
use crate::sys::process::{self, Disposition, Memory, Signals, signal_set};
use crate::sys::vfork::{vfork, vfork_without_handlers};
use attributes::Attributes;

/// The size of the child's stack in words, enough for a few paths and an environment.
const STACK: usize = 8192;
const ALL_SIGNALS: Signals = Signals::MAX;
const LAST_SIGNAL: c_int = 64;
/// The exit status of a child that could not run its program. Nobody sees it.
const NOT_RUN: c_int = 127;

/// A child to start.
pub(crate) struct Job<'a> {
    pub(crate) attributes: Attributes,
    /// Prepares the child's descriptors and directory.
    pub(crate) prepare: &'a dyn Fn() -> Result<(), Errno>,
    /// Runs the program. Returns only on error.
    pub(crate) execute: &'a dyn Fn() -> Errno,
}

/// The job, and the state that it shares with the child.
struct Shared<'a> {
    job: &'a Job<'a>,
    /// The signals that the caller has blocked.
    blocked: Signals,
    /// Whether the child has inherited the program's signal handlers.
    has_handlers: bool,
    /// The child's error, or zero.
    error: AtomicI32,
}

/// Starts the child and waits until it runs its program. Returns its pid.
///
/// # Errors
/// The reason why the program did not run, even if it occurred in the child.
pub(crate) fn spawn(job: &Job<'_>) -> Result<c_int, Errno> {
    let stack = Memory::new(STACK)?;
    let blocked = process::block(ALL_SIGNALS)?;
    let mut shared = Shared { job, blocked, has_handlers: false, error: AtomicI32::new(0) };
    // The child may change its directory, and it shares the memory that stores the parent's.
    path_cache::suspend();
    // SAFETY: `child` writes only its own frames and the error, and all signals are blocked.
    let mut outcome = unsafe { vfork_without_handlers(child, (&raw const shared).cast(), &stack) };
    if let Err(Errno::ENOSYS | Errno::EINVAL | Errno::EPERM) = outcome {
        shared.has_handlers = true;
        // SAFETY: as above.
        outcome = unsafe { vfork(child, (&raw const shared).cast(), &stack) };
    }
    path_cache::resume();
    process::set_blocked(blocked);
    let pid = outcome?;
    match shared.error.load(Ordering::Acquire) {
        0 => Ok(pid),
        error => {
            let _ = process::wait(pid);
            Err(Errno(error))
        }
    }
}

extern "C" fn child(shared: *const c_void) -> ! {
    // SAFETY: `spawn` passes its own `Shared`, which outlives the child's use of that memory.
    let shared: &Shared<'_> = unsafe { &*shared.cast() };
    let errno = run(shared);
    // A failure must never look like success.
    shared.error.store(if errno.0 == 0 { libc::EACCES } else { errno.0 }, Ordering::Release);
    process::exit(NOT_RUN)
}

fn run(shared: &Shared<'_>) -> Errno {
    let attributes = &shared.job.attributes;
    reset_handlers(attributes.defaulted(), shared.has_handlers);
    let prepared = attributes.apply().and_then(|()| (shared.job.prepare)());
    if let Err(errno) = prepared {
        return errno;
    }
    process::set_blocked(attributes.blocked().unwrap_or(shared.blocked));
    (shared.job.execute)()
}

/// Resets the signals in `defaulted`, and those with a handler, before any signal can arrive. A handler would run in
/// the parent's memory.
fn reset_handlers(defaulted: Signals, has_handlers: bool) {
    let is_handled = |signal| {
        has_handlers && process::disposition(signal).is_ok_and(|current| current.is_handler())
    };
    for signal in 1..=LAST_SIGNAL {
        if defaulted & signal_set(signal) != 0 || is_handled(signal) {
            // This fails for SIGKILL and SIGSTOP, which have no other action.
            let _ = process::set_disposition(signal, &Disposition::DEFAULT);
        }
    }
}
