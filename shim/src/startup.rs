//! What glibc's loader hands to a constructor: the environment, and behind it the auxiliary vector
//! (getauxval(3)). musl hands over nothing, and a hook that runs first has neither.

use core::ffi::{CStr, c_char};

/// Types of auxiliary vector entries (elf.h).
const AT_NULL: usize = 0;
const AT_PHDR: usize = 3;
const AT_PHNUM: usize = 5;
const AT_EXECFN: usize = 31;

/// The strings and entries above the first stack frame, as they are when constructors run.
#[derive(Clone, Copy)]
pub(crate) struct Startup {
    environment: *const *const c_char,
}

impl Startup {
    /// # Safety
    /// `environment` must be the third argument of a constructor that glibc's loader called.
    pub(crate) const unsafe fn new(environment: *const *const c_char) -> Self {
        Self { environment }
    }

    /// The value of a variable; `name` ends in `=`.
    pub(crate) fn variable(self, name: &[u8]) -> Option<&'static [u8]> {
        let mut at = self.environment;
        loop {
            // SAFETY: the array ends with a null pointer, which has not been passed.
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

    /// The address and the number of the program's own program headers.
    pub(crate) fn program_headers(self) -> Option<(usize, usize)> {
        Some((self.auxiliary(AT_PHDR)?, self.auxiliary(AT_PHNUM)?))
    }

    /// Where the main stack ends: above the arguments and the environment stands the program's name.
    pub(crate) fn stack_top(self) -> Option<usize> {
        self.auxiliary(AT_EXECFN)
    }

    /// The value of an entry of the auxiliary vector.
    fn auxiliary(self, kind: usize) -> Option<usize> {
        let mut end = self.environment;
        // SAFETY: the array ends with a null pointer, which has not been passed.
        while !unsafe { end.read() }.is_null() {
            end = end.wrapping_add(1);
        }
        let mut entry = end.wrapping_add(1).cast::<[usize; 2]>();
        loop {
            // SAFETY: the vector ends with an entry of type `AT_NULL`, which has not been passed.
            match unsafe { entry.read() } {
                [AT_NULL, _] => return None,
                [found, value] if found == kind => return Some(value),
                _ => entry = entry.wrapping_add(1),
            }
        }
    }
}
