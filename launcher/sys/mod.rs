//! Wraps the system calls that need `unsafe`, and reads `/proc`. The rest goes through `rustix` and `std`.

pub(crate) mod actions;
pub(crate) mod child;
pub(crate) mod executable;
pub(crate) mod exit_status;
pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod identity;
pub(crate) mod interruption;
pub(crate) mod landlock;
pub(crate) mod landlock_bounds;
pub(crate) mod memfd;
pub(crate) mod memory;
pub(crate) mod messages;
pub(crate) mod mount_table;
pub(crate) mod notification;
pub(crate) mod open_canonical;
mod own_number;
pub(crate) mod path;
pub(crate) mod proc;
pub(crate) mod queues;
pub(crate) mod signals;
pub(crate) mod streams;
pub(crate) mod terminals;
pub(crate) mod tracing;
#[cfg(test)]
pub(crate) mod trapped;

use rustix::io::Errno;

/// The error of the last call to libc.
fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
