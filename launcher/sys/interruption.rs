//! Ending a call in which another thread of this process waits.

use std::io;

use rustix::thread::Pid;

/// Ignored unless somebody wants it, and used by nothing here else (`signal(7)`).
const SIGNAL: i32 = libc::SIGURG;

extern "C" fn nothing(_: i32) {}

/// Lets calls be interrupted in this process.
///
/// # Errors
/// As `sigaction(2)`.
pub(crate) fn prepare() -> io::Result<()> {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zero is a valid action: no flags, an empty mask, the default handler.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = (nothing as extern "C" fn(i32)) as libc::sighandler_t;
    let action: *const libc::sigaction = &raw mut *action;
    // SAFETY: a valid action, whose handler does nothing; no SA_RESTART, so that calls end.
    let result = unsafe { libc::sigaction(SIGNAL, action, std::ptr::null_mut()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Lets the calling thread be interrupted, whatever its parent had blocked.
pub(crate) fn admit() {
    super::signals::Signals::of(&[SIGNAL]).unblock();
}

/// Interrupts the call that the thread waits in. Should it not wait yet, nothing happens.
pub(crate) fn interrupt(thread: Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let thread = thread.as_raw_nonzero().get();
    // SAFETY: a signal to a thread of this very process, with a handler that does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) };
}
