//! What the standard streams were when the process began: Rust's runtime opens `/dev/null` for those that were closed,
//! before `main`.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_closed_output() {
    // SAFETY: the call takes a number of a descriptor, be it one that is not open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: `.init_array` holds pointers to C functions, and this is one; it only queries a descriptor.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = note_closed_output;

/// Whether nobody gets what is written to standard output, since it was closed.
pub(crate) fn output_was_closed() -> bool {
    OUTPUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// The descriptor with this number once more, for what this process was given.
///
/// # Errors
/// Those of `fcntl(2)`, as where there is none.
pub(crate) fn duplicate(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call takes a number of a descriptor, be it one that is not open.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
