//! The system calls that need `unsafe`; the rest goes through `rustix` and `std`.

#[cfg_attr(not(test), expect(dead_code, reason = "until the launcher starts it"))]
pub(crate) mod actions;
pub(crate) mod child;
#[cfg_attr(not(test), expect(dead_code, reason = "until the launcher starts it"))]
pub(crate) mod identity;
#[cfg_attr(not(test), expect(dead_code, reason = "until the launcher starts it"))]
pub(crate) mod interruption;
#[cfg_attr(not(test), expect(dead_code, reason = "until the launcher starts it"))]
pub(crate) mod memory;
#[cfg_attr(not(test), expect(dead_code, reason = "until the launcher starts it"))]
pub(crate) mod notification;
pub(crate) mod signals;
#[cfg(test)]
pub(crate) mod trapped;

use rustix::io::Errno;

/// Why the last call of libc's failed.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
