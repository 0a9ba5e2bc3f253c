//! Starts a program as a child, for `posix_spawn(3)`, system(3) and popen(3).
//!
//! It replaces glibc's own code, which opens the files of the file actions inside libc, where no hook sees it. The
//! child shares the parent's memory until it runs the program, so the rules of exec apply to it.

pub(crate) mod actions;
pub(crate) mod attributes;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use crate::errno::Errno;
use crate::remembered;
use crate::sys::process::{self, Disposition, Memory, Signals, signal_set};
use crate::sys::vfork::{vfork, vfork_without_handlers};
use attributes::Attributes;

/// Size of the child's stack in words: enough for a few paths and an environment.
const STACK: usize = 8192;
const ALL_SIGNALS: Signals = Signals::MAX;
const LAST_SIGNAL: c_int = 64;
/// Exit status of a child that could not run its program. Nobody sees it.
const NOT_RUN: c_int = 127;

/// A child to be started.
pub(crate) struct Job<'a> {
    pub(crate) attributes: Attributes,
    /// Sets up the child's descriptors and directory.
    pub(crate) prepare: &'a dyn Fn() -> Result<(), Errno>,
    /// Runs the program. Returns only on error.
    pub(crate) execute: &'a dyn Fn() -> Errno,
}

/// The data that parent and child share.
struct Shared<'a> {
    job: &'a Job<'a>,
    /// The signals that the caller has blocked.
    blocked: Signals,
    /// Whether the child has the program's signal handlers.
    has_handlers: bool,
    /// The child's error. Zero means none.
    error: AtomicI32,
}

/// Starts the child, waits until it runs its program, and returns its pid.
///
/// # Errors
/// The reason why the program could not run, even if it arose in the child.
pub(crate) fn spawn(job: &Job<'_>) -> Result<c_int, Errno> {
    let stack = Memory::new(STACK)?;
    let blocked = process::block(ALL_SIGNALS)?;
    let mut shared = Shared { job, blocked, has_handlers: false, error: AtomicI32::new(0) };
    // The child may change its directory, and it shares the memory that holds the parent's.
    remembered::suspend();
    // SAFETY: `child` writes only its own frames and the error; all signals are blocked.
    let mut outcome = unsafe { vfork_without_handlers(child, (&raw const shared).cast(), &stack) };
    if let Err(Errno::ENOSYS | Errno::EINVAL | Errno::EPERM) = outcome {
        shared.has_handlers = true;
        // SAFETY: as above.
        outcome = unsafe { vfork(child, (&raw const shared).cast(), &stack) };
    }
    remembered::resume();
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
    // SAFETY: `spawn` passes its own `Shared`, which outlives the child's use of this memory.
    let shared: &Shared<'_> = unsafe { &*shared.cast() };
    let errno = run(shared);
    // An error must never look like success.
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

/// Resets every signal that the program handles, and those in `defaulted`, to the default action before signals may
/// arrive: a handler would run in the parent's memory.
fn reset_handlers(defaulted: Signals, has_handlers: bool) {
    let is_handled = |signal| {
        has_handlers && process::disposition(signal).is_ok_and(|current| current.is_handler())
    };
    for signal in 1..=LAST_SIGNAL {
        if defaulted & signal_set(signal) != 0 || is_handled(signal) {
            // Fails for SIGKILL and SIGSTOP, which only have the default action.
            let _ = process::set_disposition(signal, &Disposition::DEFAULT);
        }
    }
}
