//! Constants and types of glob(3) in glibc (glob.h).

use core::ffi::{c_char, c_int, c_void};

use crate::libc_functions;

/// `GLOB_ABORTED`.
pub(crate) const ABORTED: c_int = 2;

/// `GLOB_ALTDIRFUNC`: the table holds the functions for listing directories.
pub(crate) const OWN_FUNCTIONS: c_int = 1 << 9;

/// `glob_t`. The fields before the functions are POSIX's and the flags.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GlobTable {
    count: usize,
    paths: *mut *mut c_char,
    offset: usize,
    flags: c_int,
    pub(crate) close: *const c_void,
    pub(crate) read: *const c_void,
    pub(crate) open: *const c_void,
    pub(crate) lstat: *const c_void,
    pub(crate) stat: *const c_void,
}

/// Whether the program's libc uses this table. musl's has no such functions.
pub(crate) fn has_known_table() -> bool {
    libc_functions::is_glibc()
}
