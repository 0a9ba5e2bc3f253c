//! Finds the sockets that existed before a run and that it inherits. Their earlier owners may receive data sent to
//! them.

use std::collections::HashSet;
use std::io;

use rustix::io::Errno;
use rustix::net::sockopt::socket_cookie;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::sys::child;

/// The cookies of the sockets that the program inherits. They tell them from all others (`SO_COOKIE`, `socket(7)`).
///
/// # Errors
/// Fails if they cannot be determined.
pub(crate) fn cookies() -> io::Result<HashSet<u64>> {
    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let mut cookies = HashSet::new();
    for &number in child::inherited_descriptors() {
        let held = match pidfd_getfd(&own, number, PidfdGetfdFlags::empty()) {
            // Closed meanwhile.
            Err(Errno::BADF) => continue,
            held => held?,
        };
        // Other files have no cookie.
        cookies.extend(socket_cookie(&held).ok());
    }
    Ok(cookies)
}
