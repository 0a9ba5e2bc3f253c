//! Stops a thread as a tracer does (`ptrace(2)`). Used by `prompt::during_run`.

use rustix::io::Errno;

/// Stops one thread of a process. Processes that wait for that process do not see it stop. When the thread is released,
/// a call that it waits in restarts.
///
/// The kernel releases it when the calling thread ends, in whatever way.
///
/// # Errors
/// `EPERM` if another process traces it already, or this process may not. `ESRCH` if it has ended.
pub(crate) fn hold(thread: i32) -> Result<(), Errno> {
    for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
        let (address, options) = (0_usize, 0_usize);
        // SAFETY: no memory is passed, and the numbers are as wide as the kernel expects.
        let result = unsafe { libc::syscall(libc::SYS_ptrace, request, thread, address, options) };
        if result < 0 {
            return Err(super::last_error());
        }
    }
    Ok(())
}
