//! Hooks for entry points that differ from others in a detail.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::directories;
use crate::hooks::open::{How, open_at};
use crate::hooks::sockets::{Address, SocketPath};
use crate::memory;

/// `__opendir2(3)`. Its flags concern union mounts and whiteouts.
pub(super) extern "C" fn opendir2(path: *const c_char, _flags: c_int) -> *mut c_void {
    directories::opendir(path)
}

/// `open_dprotected_np(2)`, without its variable argument. A Mac does not store the protection classes that the two
/// numbers name.
#[unsafe(no_mangle)]
extern "C" fn jp_open_protected(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    open(c"open_dprotected_np", path, flags, mode)
}

fn open(call: &CStr, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    open_at(call, libc::AT_FDCWD, path, How::new(flags, mode).cancellable()).reply()
}

/// `sa_endpoints_t` (sys/socket.h).
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Endpoints {
    interface: c_uint,
    from: *const c_void,
    from_len: libc::socklen_t,
    to: *const c_void,
    to_len: libc::socklen_t,
}

/// connectx(2). Its additional features do not apply to Unix sockets, and it does not connect to a path.
pub(super) extern "C" fn connectx(
    fd: c_int,
    endpoints: *const Endpoints,
    association: c_uint,
    flags: c_uint,
    parts: *const c_void,
    count: c_uint,
    sent: *mut usize,
    connection: *mut c_uint,
) -> c_int {
    unsafe extern "C" {
        #[link_name = "connectx"]
        fn original(
            fd: c_int,
            endpoints: *const Endpoints,
            association: c_uint,
            flags: c_uint,
            parts: *const c_void,
            count: c_uint,
            sent: *mut usize,
            connection: *mut c_uint,
        ) -> c_int;
    }
    let judged = memory::check(endpoints.addr())
        .and_then(|()| memory::check(endpoints.wrapping_add(1).addr().wrapping_sub(1)))
        .and_then(|()| {
            // SAFETY: the first and the last byte were just found readable.
            let endpoints = unsafe { endpoints.read_unaligned() };
            let to = Address::new(endpoints.to, endpoints.to_len);
            match to.path(&mut SocketPath::new())? {
                Some(()) => Err(Errno(libc::EOPNOTSUPP)),
                None => Ok(()),
            }
        });
    match judged {
        // SAFETY: these are the program's own arguments.
        Ok(()) => unsafe {
            original(fd, endpoints, association, flags, parts, count, sent, connection)
        },
        Err(errno) => Err::<c_int, _>(errno).reply(),
    }
}
