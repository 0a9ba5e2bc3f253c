//! Stopping a process by one of its threads.

/// Stops the process, all threads of it, by a signal to this one (`tgkill(2)`). A signal to the process
/// goes to its first thread, and is pending for as long as that waits for the supervisor.
pub(crate) fn stop(process: i32, thread: i32) {
    // SAFETY: no memory is passed; whoever has gone meanwhile is not there to be stopped.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGSTOP) };
}
