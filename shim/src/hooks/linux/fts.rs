//! Hook for `fts64_open(3)`.

use core::ffi::{c_int, c_void};

use crate::errno::Reply;
use crate::hooks::fts::open;
use crate::sys::next::Original;
use crate::sys::process::Strings;

static FTS64_OPEN: Original = Original::new(c"fts64_open");

#[unsafe(no_mangle)]
extern "C" fn fts64_open(paths: Strings, options: c_int, compare: *const c_void) -> *mut c_void {
    open(&FTS64_OPEN, paths, options, compare).reply()
}
