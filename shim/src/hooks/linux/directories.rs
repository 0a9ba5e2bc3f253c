//! Hooks for listing directories that exist only on Linux.

use core::ffi::{c_char, c_int, c_void};

use crate::errno::Reply;
use crate::hooks::directories::{glob, listing, scandir, stream};
use crate::libc_functions;
use crate::sys::Fd;
use crate::sys::glob::GlobTable;

/// scandir(3) of a judged directory. libc's own function would open it again, and Landlock denies that if the run has
/// created the directory since.
pub(in crate::hooks) fn scan(
    directory: Fd,
    list: *mut c_void,
    select: *const c_void,
    compare: *const c_void,
) -> c_int {
    let stream = stream(directory);
    if stream.is_null() {
        return -1;
    }
    let count = libc_functions::jp_scan(stream, list, select, compare);
    libc_functions::jp_closedir(stream);
    count
}

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
    let directory = listing(c"scandirat", dirfd, path);
    directory.map(|directory| scan(directory, list, select, compare)).reply()
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
