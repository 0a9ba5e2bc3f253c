//! wordexp(3): libc's own, which would run a shell from inside libc.

use core::ffi::{c_char, c_int, c_void};

use crate::sys::next::Original;

/// `WRDE_NOCMD` and `WRDE_NOSPACE` (wordexp.h).
const NO_COMMANDS: c_int = 1 << 2;
const NO_SPACE: c_int = 1;

static WORDEXP: Original = Original::new(c"wordexp");

type Expand = extern "C" fn(*const c_char, *mut c_void, c_int) -> c_int;

#[unsafe(no_mangle)]
extern "C" fn wordexp(words: *const c_char, to: *mut c_void, flags: c_int) -> c_int {
    let Some(original) = WORDEXP.address() else { return NO_SPACE };
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Expand>(original) };
    original(words, to, flags | NO_COMMANDS)
}
