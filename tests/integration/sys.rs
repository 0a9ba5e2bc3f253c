//! The system calls of the tests that no crate offers without `unsafe`.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::Once;

/// Gives up this process's terminal, if it was started at one. The programs that it starts then have none either, so
/// nobody is prompted there. Keys that interrupt still reach this process, whose group stays in the foreground.
pub(crate) fn leave_terminal() {
    static LEFT: Once = Once::new();
    LEFT.call_once(|| {
        // In a PID namespace this may be 0, which `rustix` takes for a number.
        // SAFETY: the call takes no memory.
        let session = unsafe { libc::getsid(0) };
        // SAFETY: likewise.
        let leads_session = session == unsafe { libc::getpid() };
        // If a session's leader gave it up, all processes of the session would lose it.
        if let Ok(terminal) = File::open("/dev/tty")
            && !leads_session
        {
            // SAFETY: the request takes no argument and touches no memory.
            let _ = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
        }
    });
}
