//! Unix sockets by path: connecting needs read and update of the socket, binding creates it.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::offset_of;

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::path::Spelling;
use crate::places::DescriptorLink;
use crate::report::{self, Subject};
use crate::sys::next::Original;
use crate::sys::{self, Fd, word};
use crate::{cancellation, libc_functions, memory, resolve, session};

/// A socket address of the program's.
#[derive(Clone, Copy)]
pub(super) struct Address {
    at: *const u8,
    len: usize,
}

impl Address {
    pub(super) const fn new(at: *const c_void, len: libc::socklen_t) -> Self {
        Self { at: at.cast(), len: len as usize }
    }

    /// The path of a unix socket; `None` for any other address, which names no file.
    ///
    /// # Errors
    /// `EFAULT`.
    fn path(self, to: &mut PathBuffer) -> Result<Option<()>, Errno> {
        const FAMILY: usize = size_of::<libc::sa_family_t>();
        let path_len = self.len.saturating_sub(FAMILY);
        if self.at.is_null() || path_len == 0 || path_len > size_of::<libc::sockaddr_un>() {
            return Ok(None);
        }
        memory::check(self.at.addr())?;
        memory::check(self.at.addr().wrapping_add(self.len).wrapping_sub(1))?;
        // SAFETY: the first and the last byte were just found readable, and an address is smaller
        // than a page.
        let bytes = unsafe { core::slice::from_raw_parts(self.at, self.len) };
        let (family, path) = bytes.split_at_checked(FAMILY).unwrap_or((&[], &[]));
        let unix = u16::try_from(libc::AF_UNIX).unwrap_or(0).to_ne_bytes();
        let path = path.split(|&byte| byte == 0).next().unwrap_or(&[]);
        if family != unix || path.is_empty() {
            return Ok(None);
        }
        to.push(path).map(Some)
    }
}

/// The same socket under a name that leads to exactly the object that was judged.
struct Substitute {
    address: libc::sockaddr_un,
    _held: Fd,
}

impl Substitute {
    /// # Errors
    /// As connect(2); `EACCES` or `ENOENT` where the policy refuses.
    fn of(call: &CStr, path: &PathBuffer) -> Result<Self, Errno> {
        let image = session::image()?;
        let mut spelling = Spelling::new();
        spelling.read_own(libc::AT_FDCWD, path.as_bytes())?;
        let need = Capabilities::READ.union(Capabilities::UPDATE);
        let held = resolve::pin_judged(image, call, &mut spelling, 0, |image, request| {
            decide::access(image, request, need)
        })?;
        let mut address = libc::sockaddr_un {
            sun_family: u16::try_from(libc::AF_UNIX).unwrap_or(0),
            sun_path: [0; 108],
        };
        let link = DescriptorLink::new(held.raw());
        for (to, &from) in address.sun_path.iter_mut().zip(link.as_c_str().to_bytes()) {
            *to = c_char::from_ne_bytes([from]);
        }
        Ok(Self { address, _held: held })
    }

    fn register(&self) -> usize {
        (&raw const self.address).expose_provenance()
    }
}

const SUBSTITUTE_LEN: usize = size_of::<libc::sockaddr_un>();

/// Makes a call that waits for a peer: a cancellation point.
fn waiting(number: libc::c_long, args: [usize; 6]) -> Result<usize, Errno> {
    cancellation::point(|| sys::call(number, args))
}

/// connect(2).
///
/// # Errors
/// As connect(2); `EACCES` or `ENOENT` where the policy refuses.
pub(super) fn connect_to(fd: c_int, address: Address) -> Result<(), Errno> {
    let mut path = PathBuffer::new();
    if address.path(&mut path)?.is_none() {
        let args = [word(fd), address.at.expose_provenance(), address.len, 0, 0, 0];
        return waiting(libc::SYS_connect, args).map(|_| ());
    }
    let substitute = Substitute::of(c"connect", &path)?;
    let args = [word(fd), substitute.register(), SUBSTITUTE_LEN, 0, 0, 0];
    waiting(libc::SYS_connect, args).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn connect(fd: c_int, address: *const c_void, len: libc::socklen_t) -> c_int {
    connect_to(fd, Address::new(address, len)).reply()
}

/// The name that is bound stays the program's own: peers see it.
fn bind_to(fd: c_int, address: Address) -> Result<(), Errno> {
    let mut path = PathBuffer::new();
    if address.path(&mut path)?.is_some() {
        let image = session::image()?;
        let mut spelling = Spelling::new();
        spelling.read_own(libc::AT_FDCWD, path.as_bytes())?;
        let entry = resolve::entry(image, &mut spelling)?.ok_or(Errno(libc::EADDRINUSE))?;
        let verdict = decide::access(image, &entry.request(), Capabilities::CREATE);
        report::settle(image, verdict, Subject::new(c"bind", entry.path()))?;
    }
    let args = [word(fd), address.at.expose_provenance(), address.len, 0, 0, 0];
    sys::call(libc::SYS_bind, args).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn bind(fd: c_int, address: *const c_void, len: libc::socklen_t) -> c_int {
    bind_to(fd, Address::new(address, len)).reply()
}

fn send_to(fd: c_int, message: [usize; 2], flags: c_int, address: Address) -> Result<usize, Errno> {
    let [bytes, count] = message;
    let mut path = PathBuffer::new();
    if address.path(&mut path)?.is_none() {
        let to = address.at.expose_provenance();
        return waiting(libc::SYS_sendto, [word(fd), bytes, count, word(flags), to, address.len]);
    }
    let substitute = Substitute::of(c"sendto", &path)?;
    let to = substitute.register();
    waiting(libc::SYS_sendto, [word(fd), bytes, count, word(flags), to, SUBSTITUTE_LEN])
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const c_void,
    len: libc::socklen_t,
) -> isize {
    let message = [bytes.expose_provenance(), count];
    send_to(fd, message, flags, Address::new(address, len)).reply()
}

/// The header of a message of the program's.
///
/// # Errors
/// `EFAULT`.
fn header(message: *const libc::msghdr) -> Result<libc::msghdr, Errno> {
    memory::check(message.addr())?;
    memory::check(message.addr().wrapping_add(size_of::<libc::msghdr>()).wrapping_sub(1))?;
    // SAFETY: the first and the last byte were just found readable.
    Ok(unsafe { message.read_unaligned() })
}

/// The program's libc sends the message: musl's headers are the kernel's but for padding that programs
/// need not clear, in what is sent along too, and musl clears it in a copy.
fn send_by_libc(fd: c_int, message: *const libc::msghdr, flags: c_int) -> Result<usize, Errno> {
    type Send = extern "C" fn(c_int, *const libc::msghdr, c_int) -> isize;
    static SENDMSG: Original = Original::new(c"sendmsg");
    let original = SENDMSG.address().ok_or(Errno::ENOSYS)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Send>(original) };
    usize::try_from(original(fd, message, flags)).map_err(|_| Errno::last())
}

fn send_message(fd: c_int, message: *const libc::msghdr, flags: c_int) -> Result<usize, Errno> {
    let send = |message: *const libc::msghdr| {
        if !libc_functions::is_glibc() {
            return send_by_libc(fd, message, flags);
        }
        let args = [word(fd), message.expose_provenance(), word(flags), 0, 0, 0];
        waiting(libc::SYS_sendmsg, args)
    };
    let mut header = header(message)?;
    let address = Address::new(header.msg_name, header.msg_namelen);
    let mut path = PathBuffer::new();
    if address.path(&mut path)?.is_none() {
        return send(message);
    }
    let substitute = Substitute::of(c"sendmsg", &path)?;
    header.msg_name = (&raw const substitute.address).cast_mut().cast();
    header.msg_namelen = u32::try_from(SUBSTITUTE_LEN).unwrap_or(0);
    send(&raw const header)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    send_message(fd, message, flags).reply()
}

/// sendmmsg(2): as one call where no message has a path, else message by message, as musl does.
///
/// # Errors
/// As sendmmsg(2); `EACCES` or `ENOENT` where the policy refuses the first.
pub(super) fn send_messages(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> Result<c_int, Errno> {
    /// The kernel takes no more at a time (`UIO_MAXIOV`).
    const MOST: c_uint = 1024;
    let count = count.min(MOST);
    let places = || (0..count).map(|index| messages.wrapping_add(index as usize));
    let mut one_by_one = !libc_functions::is_glibc();
    for message in places() {
        let header = header(message.cast())?;
        let address = Address::new(header.msg_name, header.msg_namelen);
        one_by_one |= address.path(&mut PathBuffer::new())?.is_some();
    }
    if !one_by_one {
        let args = [word(fd), messages.expose_provenance(), count as usize, word(flags), 0, 0];
        return waiting(libc::SYS_sendmmsg, args).map(|sent| c_int::try_from(sent).unwrap_or(0));
    }
    let mut sent = 0_i32;
    for message in places() {
        match send_message(fd, message.cast(), flags) {
            Ok(length) => {
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                let place = message.cast::<u8>().wrapping_add(offset_of!(libc::mmsghdr, msg_len));
                // SAFETY: the header before it was found readable; a program that passes memory
                // it cannot write asks for the fault.
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
