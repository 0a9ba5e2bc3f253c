//! Listing directories, as only Linux's libraries have it.

use core::ffi::{c_char, c_int, c_void};

use crate::errno::Reply;
use crate::hooks::directories::{glob, scan, scandir};
use crate::sys::glob::GlobTable;

#[unsafe(no_mangle)]
extern "C" fn scandir64(
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    scandir(path, list, select, compare)
}

#[unsafe(no_mangle)]
extern "C" fn scandirat(
    dirfd: c_int,
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    scan(c"scandirat", dirfd, path, list, select, compare).reply()
}

#[unsafe(no_mangle)]
extern "C" fn scandirat64(
    dirfd: c_int,
    path: *const c_char,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    scandirat(dirfd, path, list, select, compare)
}

#[unsafe(no_mangle)]
extern "C" fn glob64(
    pattern: *const c_char,
    flags: c_int,
    on_error: *const c_void,
    table: *mut GlobTable,
) -> c_int {
    glob(pattern, flags, on_error, table)
}
