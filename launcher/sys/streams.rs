//! Records whether standard output was closed when the process began: Rust's runtime opens `/dev/null` for closed
//! standard streams before `main`. Also takes descriptors that the process was given.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_closed_output() {
    // SAFETY: the call takes any number, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: `.init_array` holds pointers to C functions, and this is one; it only queries a descriptor.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = note_closed_output;

/// Whether standard output was closed when the process began, so that all output to it is lost.
pub(crate) fn output_was_closed() -> bool {
    OUTPUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// A duplicate of a descriptor that this process was given. Programs that this process starts do not inherit the
/// original, unless it is a standard stream.
///
/// # Errors
/// Those of `fcntl(2)`, such as `EBADF` if it is not open. Also `EBADF` for a descriptor of this process's own, which is
/// one that closes at `execve(2)`.
pub(crate) fn take(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes any number, open or not.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if number > libc::STDERR_FILENO {
        if flags & libc::FD_CLOEXEC != 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        // SAFETY: as above.
        unsafe { libc::fcntl(number, libc::F_SETFD, flags | libc::FD_CLOEXEC) };
    }
    // SAFETY: as above.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
