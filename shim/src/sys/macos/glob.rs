//! glob(3) as libSystem has it (glob.h).

use core::ffi::{c_char, c_int, c_void};

/// `GLOB_ABORTED`.
pub(crate) const ABORTED: c_int = -2;

/// `GLOB_ALTDIRFUNC`: the table names the functions to list directories with.
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

/// Whether the table of the program's libc is this one.
pub(crate) const fn has_known_table() -> bool {
    true
}
