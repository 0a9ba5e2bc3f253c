//! Stopping processes by their threads.

use libc::c_int;

/// Stops the process, all threads of it, by a signal to this one (`tgkill(2)`). A signal to the process
/// goes to its first thread, and is pending for as long as that waits for the supervisor.
pub(crate) fn stop(process: i32, thread: i32) {
    send(process, thread, libc::SIGSTOP);
}

/// Gives a traced thread a signal that means nothing, and that nobody but its tracer sees: who does not
/// trace ignores it from the start (`signal(7)`), and runtimes that use it expect it at any time.
pub(crate) fn rouse(process: i32, thread: i32) {
    send(process, thread, libc::SIGURG);
}

fn send(process: i32, thread: i32, signal: c_int) {
    // SAFETY: no memory is passed; whoever has gone meanwhile is not there to get the signal.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}
