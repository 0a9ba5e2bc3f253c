//! Hooks for walks under names that only glibc has.

use core::ffi::{c_char, c_int};

use crate::hooks::walk::{Visit, ftw, nftw};

#[unsafe(no_mangle)]
extern "C" fn nftw64(
    start: *const c_char,
    visit: Visit,
    descriptors: c_int,
    flags: c_int,
) -> c_int {
    nftw(start, visit, descriptors, flags)
}

#[unsafe(no_mangle)]
extern "C" fn ftw64(start: *const c_char, visit: Visit, descriptors: c_int) -> c_int {
    ftw(start, visit, descriptors)
}
