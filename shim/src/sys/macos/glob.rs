//! Constants and types of glob(3) in libSystem (glob.h).

use core::ffi::{c_char, c_int, c_void};

/// `GLOB_ABORTED`.
pub(crate) const ABORTED: c_int = -2;

/// `GLOB_ALTDIRFUNC`: the table holds the functions for listing directories.
pub(crate) const OWN_FUNCTIONS: c_int = 0x40;

/// `glob_t`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GlobTable {
    count: usize,
    matches: c_int,
    offset: usize,
    flags: c_int,
    paths: *mut *mut c_char,
    on_error: *const c_void,
    pub(crate) close: *const c_void,
    pub(crate) read: *const c_void,
    pub(crate) open: *const c_void,
    pub(crate) lstat: *const c_void,
    pub(crate) stat: *const c_void,
}

/// Whether the program's libc uses this table.
pub(crate) const fn has_known_table() -> bool {
    true
}
