//! glob(3) as glibc has it (glob.h).

use core::ffi::{c_char, c_int, c_void};

use crate::libc_functions;

/// `GLOB_ABORTED`.
pub(crate) const ABORTED: c_int = 2;

/// `GLOB_ALTDIRFUNC`: the table names the functions to list directories with.
pub(crate) const OWN_FUNCTIONS: c_int = 1 << 9;

/// `glob_t`: the part before the functions is POSIX's and the flags.
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

/// Whether the table of the program's libc is this one: musl's has no such functions.
pub(crate) fn has_known_table() -> bool {
    libc_functions::is_glibc()
}
