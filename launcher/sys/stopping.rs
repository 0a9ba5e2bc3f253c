//! Stopping processes by one of their threads, and the signal of one that would end them.

/// Stops the process, all threads of it, by a signal to this one (`tgkill(2)`). A signal to the process
/// goes to its first thread, and is pending for as long as that waits for the supervisor.
pub(crate) fn stop(process: i32, thread: i32) {
    // SAFETY: no memory is passed; whoever has gone meanwhile is not there to be stopped.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGSTOP) };
}

/// Sends a thread what it gets for a file that would be longer than its limit allows (`setrlimit(2)`).
pub(crate) fn tell_of_length(process: i32, thread: i32) {
    // SAFETY: no memory is passed; whoever has gone meanwhile is not there to be told.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGXFSZ) };
}
