//! Reads variables from the environment that the loader gives a constructor. Used by `startup`.

use core::ffi::{CStr, c_char};

/// The value of a variable in `environment`; `name` ends in `=`.
///
/// # Safety
/// `environment` must be an array of strings that ends with a null pointer. Array and strings must live as long as the
/// process.
pub(super) unsafe fn variable(
    environment: *const *const c_char,
    name: &[u8],
) -> Option<&'static [u8]> {
    let mut at = environment;
    loop {
        // SAFETY: the array ends with a null pointer, and this is not past it.
        let text = unsafe { at.read() };
        if text.is_null() {
            return None;
        }
        // SAFETY: the loader's strings are NUL-terminated and live as long as the process.
        let text = unsafe { CStr::from_ptr(text) };
        if let Some(value) = text.to_bytes().strip_prefix(name) {
            return Some(value);
        }
        at = at.wrapping_add(1);
    }
}
