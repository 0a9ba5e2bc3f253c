//! Holding threads as a tracer does (`ptrace(2)`).

use rustix::io::Errno;

/// Holds a thread, and no other of its process: nobody who waits for the process sees it stop, and a
/// call that it waits in begins again once the thread is let go.
///
/// The kernel lets go of it when the calling thread ends, however that ends.
///
/// # Errors
/// `EPERM` where somebody traces it already, or where this process may not; `ESRCH` where it has ended.
pub(crate) fn hold(thread: i32) -> Result<(), Errno> {
    for request in [libc::PTRACE_SEIZE, libc::PTRACE_INTERRUPT] {
        let (address, options) = (0_usize, 0_usize);
        // SAFETY: no memory is passed, and the numbers are as wide as the kernel takes them.
        let result = unsafe { libc::syscall(libc::SYS_ptrace, request, thread, address, options) };
        if result < 0 {
            return Err(super::last_error());
        }
    }
    Ok(())
}
