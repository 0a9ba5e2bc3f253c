//! Hooks for Unix sockets by path. Connecting needs read and update of the socket; binding creates it.

use core::ffi::{CStr, c_int, c_void};
use core::mem::offset_of;

use jp_confine_engine::Capabilities;
use jp_confine_engine::changes::{self, may_create};
use jp_confine_engine::decide;
use jp_confine_engine::no_entry::Change;
#[cfg(target_os = "linux")]
use jp_confine_engine::views;

use crate::buffer::Buffer;
use crate::errno::{Errno, Reply};
use crate::hooks::entries::{Enforcing, judge_missing, no_entry};
#[cfg(target_os = "linux")]
use crate::hooks::linux::sockets::{connect_to_host, is_for_others, send_by_libc};
#[cfg(target_os = "linux")]
use crate::libc_functions;
use crate::path::Spelling;
use crate::sys::{self, Object};
use crate::{cancellation, memory, resolve, session};

/// Offset of the path in a Unix socket's address.
const PATH_AT: usize = offset_of!(libc::sockaddr_un, sun_path);

/// The path in an address, with its NUL.
pub(super) type SocketPath = Buffer<{ size_of::<libc::sockaddr_un>() }>;

/// A socket address that the program passes.
#[derive(Clone, Copy)]
pub(super) struct Address {
    at: *const u8,
    len: usize,
}

impl Address {
    pub(super) const fn new(at: *const c_void, len: libc::socklen_t) -> Self {
        Self { at: at.cast(), len: len as usize }
    }

    /// The path of a Unix socket; `None` for any other address, which names no file. The descriptor's own type is not
    /// consulted: another layer may give that answer, and the descriptor may be another socket by the time of the call.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(super) fn path(self, to: &mut SocketPath) -> Result<Option<()>, Errno> {
        let path = self.name()?.and_then(|name| name.split(|&byte| byte == 0).next());
        match path {
            None | Some([]) => Ok(None),
            Some(path) => to.push(path).map(Some),
        }
    }

    /// The name of a Unix socket. It begins with a NUL if it is not a path.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(super) fn name(&self) -> Result<Option<&[u8]>, Errno> {
        let named = self.bytes()?.and_then(|bytes| bytes.split_at_checked(PATH_AT));
        Ok(named.filter(|(family, _)| sys::is_unix(family)).map(|(_, name)| name))
    }

    /// The whole address, if it may belong to a Unix socket. Such an address is longer than its family and at most as
    /// long as `sockaddr_un` (`unix_validate_addr` in `net/unix/af_unix.c`).
    ///
    /// # Errors
    /// `EFAULT`.
    pub(super) fn bytes(&self) -> Result<Option<&[u8]>, Errno> {
        if self.at.is_null() || self.len <= PATH_AT || self.len > size_of::<libc::sockaddr_un>() {
            return Ok(None);
        }
        memory::check(self.at.addr())?;
        memory::check(self.at.addr().wrapping_add(self.len).wrapping_sub(1))?;
        // SAFETY: the first and the last byte were just found readable, and an address is smaller than a page.
        Ok(Some(unsafe { core::slice::from_raw_parts(self.at, self.len) }))
    }
}

/// Another name for the socket, which leads to exactly the judged object.
struct Substitute {
    address: libc::sockaddr_un,
    _held: Object,
}

impl Substitute {
    /// Judges and pins the socket at `path`.
    ///
    /// # Errors
    /// As connect(2); `EACCES` or `ENOENT` if the policy denies it.
    fn of(call: &CStr, path: &SocketPath) -> Result<Self, Errno> {
        cancellation::point(|| ());
        let image = session::image()?;
        let mut spelling = Spelling::new();
        spelling.read_own(libc::AT_FDCWD, path.as_bytes())?;
        let need = Capabilities::READ.union(Capabilities::UPDATE);
        let held = resolve::pin_judged(image, call, &mut spelling, 0, |image, request| {
            decide::access(image, request, need)
        })?;
        Ok(Self { address: sys::socket_address(&held)?, _held: held })
    }

    const fn pointer(&self) -> *const c_void {
        (&raw const self.address).cast()
    }
}

/// The errno for a failed call without a path. Landlock denies servers outside the run without a report, and with an
/// errno of its own (spec R18).
pub(super) fn told(call: &CStr, errno: Errno, address: Address) -> Errno {
    #[cfg(target_os = "linux")]
    if errno == Errno::EPERM
        && let Ok(Some([0, name @ ..])) = address.name()
    {
        return crate::hooks::linux::sockets::out_of_reach(call, name);
    }
    #[cfg(target_os = "macos")]
    let _ = (call, address);
    errno
}

const SUBSTITUTE_LEN: usize = size_of::<libc::sockaddr_un>();

/// connect(2).
///
/// # Errors
/// As connect(2); `EACCES` or `ENOENT` if the policy denies it.
pub(super) fn connect_to(fd: c_int, address: Address) -> Result<(), Errno> {
    let mut path = SocketPath::new();
    if address.path(&mut path)?.is_none() {
        #[cfg(target_os = "linux")]
        if let Some(connected) = connect_to_host(fd, address) {
            return connected;
        }
        let connected = cancellation::point(|| sys::connect(fd, address.at.cast(), address.len));
        return connected.map_err(|errno| told(c"connect", errno, address));
    }
    let substitute = Substitute::of(c"connect", &path)?;
    cancellation::point(|| sys::connect(fd, substitute.pointer(), SUBSTITUTE_LEN))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn connect(fd: c_int, address: *const c_void, len: libc::socklen_t) -> c_int {
    connect_to(fd, Address::new(address, len)).reply()
}

/// Keeps the name that the program binds, because peers see it.
fn bind_to(fd: c_int, address: Address) -> Result<(), Errno> {
    let mut path = SocketPath::new();
    if address.path(&mut path)?.is_some() {
        let image = session::image()?;
        let mut spelling = Spelling::new();
        spelling.read_own(libc::AT_FDCWD, path.as_bytes())?;
        #[cfg(target_os = "linux")]
        let bind = || sys::bind_name(fd, address.at.cast(), address.len);
        #[cfg(target_os = "macos")]
        let bind = || sys::bind(fd, address.at.cast(), address.len);
        let entry = match resolve::entry(image, &mut spelling) {
            Ok(Some(entry)) => entry,
            Ok(None) => return Err(no_entry(image, c"bind", &spelling, Change::Bind)),
            Err(errno) => {
                return judge_missing(image, c"bind", &mut spelling, may_create, errno, bind);
            }
        };
        changes::settle_socket(&Enforcing { image, call: c"bind" }, &entry.request())?;
        // The kernel knows no views. The supervisor does.
        #[cfg(target_os = "linux")]
        if views::exist(image) && !image.levels().any(|image| image.behind().supervisor) {
            let address = sys::entry_address(entry.path(), entry.dirfd(), entry.name())?;
            return sys::bind(fd, (&raw const address).cast(), SUBSTITUTE_LEN);
        }
        return bind();
    }
    sys::bind(fd, address.at.cast(), address.len)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn bind(fd: c_int, address: *const c_void, len: libc::socklen_t) -> c_int {
    bind_to(fd, Address::new(address, len)).reply()
}

fn send_to(
    fd: c_int,
    message: (*const c_void, usize),
    flags: c_int,
    address: Address,
) -> Result<usize, Errno> {
    let mut path = SocketPath::new();
    if address.path(&mut path)?.is_none() {
        let to = (address.at.cast(), address.len);
        #[cfg(target_os = "linux")]
        if is_for_others(address) {
            return cancellation::point(|| sys::sendto_name(fd, message, flags, to));
        }
        let sent = cancellation::point(|| sys::sendto(fd, message, flags, to));
        return sent.map_err(|errno| told(c"sendto", errno, address));
    }
    let substitute = Substitute::of(c"sendto", &path)?;
    let to = (substitute.pointer(), SUBSTITUTE_LEN);
    cancellation::point(|| sys::sendto(fd, message, flags, to))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn sendto(
    fd: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const c_void,
    len: libc::socklen_t,
) -> isize {
    send_to(fd, (bytes, count), flags, Address::new(address, len)).reply()
}

/// Reads the header of a message that the program passes.
///
/// # Errors
/// `EFAULT`.
pub(super) fn header(message: *const libc::msghdr) -> Result<libc::msghdr, Errno> {
    memory::check(message.addr())?;
    memory::check(message.addr().wrapping_add(size_of::<libc::msghdr>()).wrapping_sub(1))?;
    // SAFETY: the first and the last byte were just found readable.
    Ok(unsafe { message.read_unaligned() })
}

pub(super) fn send_message(
    fd: c_int,
    message: *const libc::msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    let send = |message: *const libc::msghdr| {
        #[cfg(target_os = "linux")]
        if !libc_functions::is_glibc() {
            return send_by_libc(fd, message, flags);
        }
        cancellation::point(|| sys::sendmsg(fd, message, flags))
    };
    let mut header = header(message)?;
    let address = Address::new(header.msg_name, header.msg_namelen);
    let mut path = SocketPath::new();
    if address.path(&mut path)?.is_none() {
        #[cfg(target_os = "linux")]
        if is_for_others(address) {
            return cancellation::point(|| sys::sendmsg_name(fd, message, flags));
        }
        return send(message).map_err(|errno| told(c"sendmsg", errno, address));
    }
    let substitute = Substitute::of(c"sendmsg", &path)?;
    header.msg_name = (&raw const substitute.address).cast_mut().cast();
    header.msg_namelen = u32::try_from(SUBSTITUTE_LEN).unwrap_or(0);
    send(&raw const header)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize {
    send_message(fd, message, flags).reply()
}
