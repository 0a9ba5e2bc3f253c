//! Sends a message as bytes, with an address of any family and control data of any kind (`sendmsg(2)`). Receives one,
//! with the address of its sender. Used by the supervisor.

use std::os::fd::{AsFd, AsRawFd as _};

use rustix::io::Errno;

/// A message to send, and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    /// The address. Empty if the socket has one, or is to report that it has none.
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
    /// Control messages as the kernel takes them (`cmsg(3)`).
    pub(crate) control: &'a [u8],
    /// Flags of `send(2)`. No signal is sent to this process whatever they are.
    pub(crate) flags: i32,
}

/// sendmsg(2). Returns the number of bytes sent.
///
/// # Errors
/// Those of `sendmsg(2)`.
pub(crate) fn send(socket: impl AsFd, message: Message<'_>) -> Result<usize, Errno> {
    let socket = socket.as_fd().as_raw_fd();
    let Message { name, data, control, flags } = message;
    let mut piece = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    // SAFETY: a structure of numbers and pointers, all of which may be zero.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if !name.is_empty() {
        header.msg_name = name.as_ptr().cast_mut().cast();
        header.msg_namelen = u32::try_from(name.len()).map_err(|_| Errno::INVAL)?;
    }
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    if !control.is_empty() {
        header.msg_control = control.as_ptr().cast_mut().cast();
        #[allow(clippy::useless_conversion, reason = "the type differs between C libraries")]
        let length = control.len().try_into().map_err(|_| Errno::INVAL)?;
        header.msg_controllen = length;
    }
    // SAFETY: all that the header points to outlives the call, and is only read.
    let sent = unsafe { libc::sendmsg(socket, &raw const header, flags | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| super::last_error())
}

/// recvfrom(2). Returns its result, and the address of the sender.
///
/// # Errors
/// Those of `recvfrom(2)`.
pub(crate) fn receive(
    socket: impl AsFd,
    to: &mut [u8],
    flags: i32,
) -> Result<(usize, Vec<u8>), Errno> {
    let socket = socket.as_fd().as_raw_fd();
    let mut name = vec![0_u8; size_of::<libc::sockaddr_storage>()];
    let mut length = u32::try_from(name.len()).map_err(|_| Errno::INVAL)?;
    let at = name.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most the given lengths of the buffers.
    let count = unsafe {
        libc::recvfrom(socket, to.as_mut_ptr().cast(), to.len(), flags, at, &raw mut length)
    };
    let count = usize::try_from(count).map_err(|_| super::last_error())?;
    name.truncate(usize::try_from(length).unwrap_or(0));
    Ok((count, name))
}
