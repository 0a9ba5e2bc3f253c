//! What a file is, as only Linux's libraries have it.

use core::ffi::{c_char, c_int};

use crate::errno::Reply;
use crate::hooks::attributes::{Times, set_some_times, truncate};

#[unsafe(no_mangle)]
extern "C" fn truncate64(path: *const c_char, length: i64) -> c_int {
    truncate(path, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn futimesat(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timeval,
) -> c_int {
    set_some_times(c"futimesat", dirfd, path, Times::from_timeval(times), 0).reply()
}
