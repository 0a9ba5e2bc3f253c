//! Hooks that open files under names that only glibc has.

use core::ffi::{c_char, c_int, c_uint};

use crate::hooks::open::{creat, jp_open, jp_openat};

#[unsafe(no_mangle)]
extern "C" fn creat64(path: *const c_char, mode: c_uint) -> c_int {
    creat(path, mode)
}

/// `open` in programs built with `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    jp_open(path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    jp_open(path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __openat_2(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    jp_openat(dirfd, path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __openat64_2(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    jp_openat(dirfd, path, flags, 0)
}
