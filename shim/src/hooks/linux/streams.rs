//! Hooks for `FILE` streams that exist only on Linux.

use core::ffi::{c_char, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::streams::{ModeText, fopen, freopen, open_stream};
use crate::memory;

/// setmntent(3), with a descriptor that no child inherits.
///
/// # Errors
/// As [`open_stream`].
pub(in crate::hooks) fn open_table(
    path: *const c_char,
    mode: *const c_char,
) -> Result<*mut c_void, Errno> {
    let mut text = ModeText::new();
    memory::copy_path(mode, &mut text)?;
    text.push(b"e")?;
    open_stream(c"setmntent", path, text.c_str(0).as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn setmntent(path: *const c_char, mode: *const c_char) -> *mut c_void {
    open_table(path, mode).reply()
}

#[unsafe(no_mangle)]
extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut c_void {
    fopen(path, mode)
}

#[unsafe(no_mangle)]
extern "C" fn freopen64(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut c_void,
) -> *mut c_void {
    freopen(path, mode, stream)
}
