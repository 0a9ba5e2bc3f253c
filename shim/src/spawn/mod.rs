//! Starting a program as a child: what `posix_spawn(3)`, system(3) and popen(3) share.
//!
//! glibc's own opens the files of the file actions inside libc, where no hook sees it. The child
//! shares the parent's memory until it runs the program, and so keeps to what exec keeps to.

pub(crate) mod actions;
pub(crate) mod attributes;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use crate::errno::Errno;
use crate::remembered;
use crate::sys::process::{self, Disposition, Memory, Signals, signal_set};
use crate::sys::vfork::{vfork, vfork_without_handlers};
use attributes::Attributes;

/// The size of the child's stack, in words: enough for a few paths and an environment.
const STACK: usize = 8192;
const ALL_SIGNALS: Signals = Signals::MAX;
const LAST_SIGNAL: c_int = 64;
/// What a child exits with that could not run its program; nobody sees it.
const NOT_RUN: c_int = 127;

/// A child to be started.
pub(crate) struct Job<'a> {
    pub(crate) attributes: Attributes,
    /// What the child does to its descriptors and directory.
    pub(crate) prepare: &'a dyn Fn() -> Result<(), Errno>,
    /// Runs the program; returns only with an error.
    pub(crate) execute: &'a dyn Fn() -> Errno,
}

/// The job, as the child sees it.
struct Shared<'a> {
    job: &'a Job<'a>,
    /// The signals that the caller has blocked.
    blocked: Signals,
    /// The child has handlers of the program's for signals.
    has_handlers: bool,
    /// The child's error, zero for none.
    error: AtomicI32,
}

/// Starts the child and waits until it runs its program: its pid.
///
/// # Errors
/// What kept the program from running, be it in the child.
pub(crate) fn spawn(job: &Job<'_>) -> Result<c_int, Errno> {
    let stack = Memory::new(STACK)?;
    let blocked = process::block(ALL_SIGNALS)?;
    let mut shared = Shared { job, blocked, has_handlers: false, error: AtomicI32::new(0) };
    // The child may change its directory, and has the memory in which the parent's is remembered.
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
    // SAFETY: `spawn` passes its own `Shared`, which outlives the child's use of its memory.
    let shared: &Shared<'_> = unsafe { &*shared.cast() };
    let errno = run(shared);
    // Whatever went wrong must not look like success.
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

/// Gives every signal that the program handles, and those in `defaulted`, the default action
/// before signals may arrive: a handler would run in the parent's memory.
fn reset_handlers(defaulted: Signals, has_handlers: bool) {
    let is_handled = |signal| {
        has_handlers && process::disposition(signal).is_ok_and(|current| current.is_handler())
    };
    for signal in 1..=LAST_SIGNAL {
        if defaulted & signal_set(signal) != 0 || is_handled(signal) {
            // It fails for SIGKILL and SIGSTOP, which have no other action.
            let _ = process::set_disposition(signal, &Disposition::DEFAULT);
        }
    }
}
