//! Signals to one thread (`tgkill(2)`): of the calls that are made for it the kernel sends its own to the thread that
//! made them.

/// Stops the process, all threads of it, by a signal to this one. A signal to the process goes to its first thread,
/// and is pending for as long as that waits for the supervisor.
pub(crate) fn stop(process: i32, thread: i32) {
    signal(process, thread, libc::SIGSTOP);
}

/// Sends a thread what it gets for a file that would be longer than its limit allows (`setrlimit(2)`).
pub(crate) fn tell_of_length(process: i32, thread: i32) {
    signal(process, thread, libc::SIGXFSZ);
}

/// Sends a thread what it gets for sending to nobody (`send(2)`).
pub(crate) fn tell_of_hangup(process: i32, thread: i32) {
    signal(process, thread, libc::SIGPIPE);
}

fn signal(process: i32, thread: i32, signal: i32) {
    // SAFETY: no memory is passed; whoever has gone meanwhile is not there to be told.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}
