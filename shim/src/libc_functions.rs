//! The few functions of libc that the shim calls, none of which takes a path. They are reached
//! through weak references in C (`c/libc.c`).

use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    /// Where the calling thread's `errno` is.
    pub(crate) safe fn jp_errno() -> *mut c_int;
    /// fdopen(3); on success the stream owns the descriptor. `mode` is the program's or a literal.
    pub(crate) safe fn jp_fdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    /// fdopendir(3); on success the stream owns the descriptor.
    pub(crate) safe fn jp_fdopendir(fd: c_int) -> *mut c_void;
    /// readdir(3), for libc to call on a stream that it was given.
    pub(crate) safe fn jp_readdir(stream: *mut c_void) -> *mut c_void;
    /// closedir(3), likewise.
    pub(crate) safe fn jp_closedir(stream: *mut c_void) -> c_int;
    /// dirfd(3) of a stream that the shim made.
    pub(crate) safe fn jp_dirfd(stream: *mut c_void) -> c_int;
    /// fileno(3) of the program's own stream.
    pub(crate) safe fn jp_fileno(stream: *mut c_void) -> c_int;
    safe fn jp_libc_is_glibc() -> c_int;
}

/// Whether the program's libc is glibc.
pub(crate) fn is_glibc() -> bool {
    jp_libc_is_glibc() != 0
}
