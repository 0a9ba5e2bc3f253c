//! Hook for sendmmsg(2), which only Linux has, and the socket rules that apply only there.

use core::ffi::{CStr, c_int, c_uint};
use core::mem::offset_of;

use jp_confine_engine::image::Image;

use crate::errno::{Errno, Reply};
use crate::hooks::sockets::{Address, SocketPath, header, send_message, told};
use crate::report::{self, Reason, Subject};
use crate::sys;
use crate::sys::next::Original;
use crate::{cancellation, libc_functions, session};

/// The program's libc sends the message. musl's headers differ from the kernel's in padding that programs need not
/// clear, also in control data. musl clears it in a copy.
pub(in crate::hooks) fn send_by_libc(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    type Send = extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
    static SENDMSG: Original = Original::new(c"sendmsg");
    let original = SENDMSG.address().ok_or(Errno::ENOSYS)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Send>(original) };
    usize::try_from(original(fd, message, flags)).map_err(|_| Errno::last())
}

/// Whether it is an abstract name that only the supervisor can judge.
pub(in crate::hooks) fn is_for_others(address: Address) -> bool {
    matches!(address.name(), Ok(Some([0, ..])))
        && session::image().is_ok_and(Image::judges_abstract_names)
}

/// Connects to an internet address; `None` for any other address.
///
/// The filter sends a connect to the supervisor if its address may belong to a Unix socket. Such addresses have at most
/// `sizeof(struct sockaddr_un)` bytes (`unix(7)`). An internet address may be longer than needed, which avoids that.
pub(in crate::hooks) fn connect_to_host(fd: c_int, address: Address) -> Option<Result<(), Errno>> {
    let bytes = address.bytes().ok()??;
    let family: [u8; 2] = bytes.get(..2)?.try_into().ok()?;
    let least = match c_int::from(u16::from_ne_bytes(family)) {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    if bytes.len() != least {
        return None;
    }
    let mut long = [0; size_of::<libc::sockaddr_storage>()];
    long.get_mut(..least)?.copy_from_slice(bytes);
    let connected = cancellation::point(|| sys::connect(fd, long.as_ptr().cast(), long.len()));
    // A socket of another family would first complain about the length.
    if connected == Err(Errno::EAFNOSUPPORT) { None } else { Some(connected) }
}

/// Reports that the server of an abstract name is outside the run.
#[inline(never)]
pub(in crate::hooks) fn out_of_reach(call: &CStr, name: &[u8]) -> Errno {
    let report = || -> Result<Errno, Errno> {
        let mut shown = SocketPath::new();
        shown.push(b"@")?;
        shown.push(name)?;
        let subject = Subject::new(call, shown.as_bytes());
        Ok(report::refused(session::image()?, Reason::Peer, subject))
    };
    report().unwrap_or(Errno::EACCES)
}

/// sendmmsg(2): one call if no message has a path. Otherwise sends message by message, as musl does.
///
/// # Errors
/// As sendmmsg(2); `EACCES` or `ENOENT` if the policy denies the first message.
pub(in crate::hooks) fn send_messages(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> Result<c_int, Errno> {
    /// The kernel accepts no more messages per call (`UIO_MAXIOV`).
    const MOST: c_uint = 1024;
    let count = count.min(MOST);
    let places = || (0..count).map(|index| messages.wrapping_add(index as usize));
    let mut one_by_one = !libc_functions::is_glibc();
    for message in places() {
        let header = header(message.cast())?;
        let address = Address::new(header.msg_name, header.msg_namelen);
        one_by_one |= address.path(&mut SocketPath::new())?.is_some() || is_for_others(address);
    }
    if !one_by_one {
        let sent = cancellation::point(|| sys::sendmmsg(fd, messages, count, flags));
        return match sent {
            Ok(sent) => Ok(c_int::try_from(sent).unwrap_or(0)),
            Err(errno) => {
                let header = header(messages.cast())?;
                Err(told(c"sendmmsg", errno, Address::new(header.msg_name, header.msg_namelen)))
            }
        };
    }
    let mut sent = 0_i32;
    for message in places() {
        match send_message(fd, message.cast(), flags) {
            Ok(length) => {
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                let place = message.cast::<u8>().wrapping_add(offset_of!(libc::mmsghdr, msg_len));
                // SAFETY: the header before it was found readable. A program that passes memory it cannot write asks
                // for the fault.
                unsafe { place.cast::<u32>().write_unaligned(length) };
                sent = sent.saturating_add(1);
            }
            Err(errno) if sent == 0 => return Err(errno),
            Err(_) => break,
        }
    }
    Ok(sent)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    send_messages(fd, messages, count, flags).reply()
}
