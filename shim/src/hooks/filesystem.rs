//! Hooks for facts about a path's filesystem. They count as metadata, allowed except in hidden areas (R6).

use core::ffi::{c_char, c_int, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::guard::{guards, minus_one};
use crate::hooks::metadata::visible;
use crate::sys;

fn status(path: *const c_char, buffer: *mut c_void) -> Result<(), Errno> {
    visible(libc::AT_FDCWD, path)?;
    let arguments = [path.expose_provenance(), buffer.expose_provenance(), 0, 0, 0, 0];
    sys::call(libc::SYS_statfs, arguments).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn statfs(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

#[unsafe(no_mangle)]
extern "C" fn statfs64(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

#[unsafe(no_mangle)]
extern "C" fn __statfs(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

guards! {
    statvfs(path: *const c_char): visible(libc::AT_FDCWD, path) => minus_one;
    statvfs64(path: *const c_char): visible(libc::AT_FDCWD, path) => minus_one;
    pathconf(path: *const c_char): visible(libc::AT_FDCWD, path) => minus_one;
    ftok(path: *const c_char): visible(libc::AT_FDCWD, path) => minus_one;
}
