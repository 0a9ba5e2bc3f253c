//! Other names that glibc exports for hooked functions. [`super::variadic`] has those with variable arguments.

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::errno::Reply;
use crate::hooks::{linux, popen, sockets, streams, system};

#[unsafe(no_mangle)]
extern "C" fn _IO_fopen(path: *const c_char, mode: *const c_char) -> *mut c_void {
    streams::open_stream(c"fopen", path, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn __setmntent(path: *const c_char, mode: *const c_char) -> *mut c_void {
    linux::streams::open_table(path, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn _IO_popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    popen::open(command, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn __libc_system(command: *const c_char) -> c_int {
    system::answer(command)
}

#[unsafe(no_mangle)]
extern "C" fn __connect(fd: c_int, address: *const c_void, len: libc::socklen_t) -> c_int {
    sockets::connect_to(fd, sockets::Address::new(address, len)).reply()
}

#[unsafe(no_mangle)]
extern "C" fn __sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    linux::sockets::send_messages(fd, messages, count, flags).reply()
}
