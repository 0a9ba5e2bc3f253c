//! Opens and deletes POSIX message queues by the kernel's names for them: without the slash that libc's functions take
//! (`mq_overview(7)`). Used by the supervisor.

use std::ffi::CStr;
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use rustix::io::Errno;

/// `struct mq_attr`, eight `long`s.
pub(crate) type Attributes = [u64; 8];

/// `mq_open(2)`. The descriptor closes on exec.
///
/// # Errors
/// Those of `mq_open(2)`.
pub(crate) fn open(
    name: &CStr,
    flags: i32,
    mode: u32,
    attributes: Option<&Attributes>,
) -> Result<OwnedFd, Errno> {
    let attributes = attributes.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: a terminated string, and null or a structure of the size that the call reads.
    let queue = unsafe { libc::syscall(libc::SYS_mq_open, name.as_ptr(), flags, mode, attributes) };
    let queue = RawFd::try_from(queue).ok().filter(|&queue| queue >= 0);
    // SAFETY: the descriptor is new, and nothing else owns it.
    queue.map(|queue| unsafe { OwnedFd::from_raw_fd(queue) }).ok_or_else(super::last_error)
}

/// `mq_unlink(2)`.
///
/// # Errors
/// Those of `mq_unlink(2)`.
pub(crate) fn remove(name: &CStr) -> Result<(), Errno> {
    // SAFETY: a terminated string.
    let result = unsafe { libc::syscall(libc::SYS_mq_unlink, name.as_ptr()) };
    if result < 0 { Err(super::last_error()) } else { Ok(()) }
}
