//! Which terminal a descriptor is of, whatever it was opened as.

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::io::Errno;

/// `TIOCGDEV` (`ioctl_tty(2)`).
const GET_DEVICE: libc::c_ulong = 0x8004_5432;

/// The device number of the terminal that `file` is of, as `stat(2)` has it.
///
/// # Errors
/// `ENOTTY` where it is of none, `EIO` where it is of one that is gone.
pub(crate) fn device(file: impl AsFd) -> Result<u64, Errno> {
    let mut packed: libc::c_uint = 0;
    // SAFETY: the call writes one number, to where there is room for it.
    let outcome = unsafe { libc::ioctl(file.as_fd().as_raw_fd(), GET_DEVICE, &raw mut packed) };
    if outcome == 0 { Ok(u64::from(packed)) } else { Err(super::last_error()) }
}
