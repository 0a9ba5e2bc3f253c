//! Interrupts a call in which another thread of this process waits.

use std::io;

use rustix::thread::Pid;

/// Ignored by default (`signal(7)`), and otherwise used only for the same purpose by `signals::Interrupting`.
const SIGNAL: i32 = libc::SIGURG;

extern "C" fn nothing(_: i32) {}

/// Makes calls in this process interruptible, by installing the signal's handler.
///
/// # Errors
/// Those of `sigaction(2)`.
pub(crate) fn prepare() -> io::Result<()> {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zero is a valid action: no flags, an empty mask, the default handler.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = (nothing as extern "C" fn(i32)) as libc::sighandler_t;
    let action: *const libc::sigaction = &raw mut *action;
    // SAFETY: a valid action, whose handler does nothing. Without SA_RESTART, calls end.
    let result = unsafe { libc::sigaction(SIGNAL, action, std::ptr::null_mut()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes the calling thread interruptible, whatever its parent had blocked.
pub(crate) fn admit() {
    super::signals::Signals::of(&[SIGNAL]).unblock();
}

/// Interrupts the call that the thread waits in. If it does not wait yet, nothing happens.
pub(crate) fn interrupt(thread: Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let thread = thread.as_raw_nonzero().get();
    // SAFETY: a signal to a thread of this process, with a handler that does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) };
}
