//! Socket calls in the forms that are not cancellation points.

use core::ffi::{c_char, c_int, c_void};

use super::Object;
use super::calls::{outcome, size};
use crate::buffer::PathBuffer;
use crate::errno::Errno;

mod bare {
    use core::ffi::{c_int, c_void};

    unsafe extern "C" {
        #[link_name = "connect$NOCANCEL"]
        pub(super) fn connect(fd: c_int, to: *const c_void, len: libc::socklen_t) -> c_int;
        #[link_name = "sendto$NOCANCEL"]
        pub(super) fn sendto(
            fd: c_int,
            bytes: *const c_void,
            count: usize,
            flags: c_int,
            to: *const c_void,
            len: libc::socklen_t,
        ) -> isize;
        #[link_name = "sendmsg$NOCANCEL"]
        pub(super) fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    }
}

fn length(len: usize) -> libc::socklen_t {
    libc::socklen_t::try_from(len).unwrap_or(0)
}

/// connect(2).
pub(crate) fn connect(fd: c_int, address: *const c_void, len: usize) -> Result<(), Errno> {
    // SAFETY: the kernel checks the pointer.
    outcome(unsafe { bare::connect(fd, address, length(len)) }).map(|_| ())
}

/// bind(2).
pub(crate) fn bind(fd: c_int, address: *const c_void, len: usize) -> Result<(), Errno> {
    // SAFETY: as above.
    outcome(unsafe { libc::bind(fd, address.cast(), length(len)) }).map(|_| ())
}

/// sendto(2) of the program's bytes.
pub(crate) fn sendto(
    fd: c_int,
    (bytes, count): (*const c_void, usize),
    flags: c_int,
    (address, len): (*const c_void, usize),
) -> Result<usize, Errno> {
    // SAFETY: as above.
    size(unsafe { bare::sendto(fd, bytes, count, flags, address, length(len)) })
}

/// sendmsg(2).
pub(crate) fn sendmsg(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    // SAFETY: as above.
    size(unsafe { bare::sendmsg(fd, message, flags) })
}

/// The canonical address of a Unix socket.
///
/// # Errors
/// `ENAMETOOLONG` if its path does not fit in an address.
pub(crate) fn socket_address(object: &Object) -> Result<libc::sockaddr_un, Errno> {
    let mut path = PathBuffer::new();
    object.place(&mut path)?;
    let mut address = libc::sockaddr_un {
        sun_len: u8::try_from(size_of::<libc::sockaddr_un>()).unwrap_or(0),
        sun_family: UNIX,
        sun_path: [0; 104],
    };
    if path.len() >= address.sun_path.len() {
        return Err(Errno::ENAMETOOLONG);
    }
    for (to, &from) in address.sun_path.iter_mut().zip(path.as_bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    Ok(address)
}

/// `AF_UNIX`.
const UNIX: u8 = 1;
const _: () = assert!(libc::AF_UNIX == UNIX as c_int, "the family of unix sockets");

/// Whether the bytes before the path of a socket address name the family of Unix sockets. They are the length and the
/// family. Old programs put the family where the length should be.
pub(crate) fn is_unix(family: &[u8]) -> bool {
    matches!(family, [_, UNIX] | [UNIX, 0])
}
