//! Descriptors that are closed on drop.

use core::ffi::c_int;

use super::close;

/// A descriptor of the library's own, closed on drop.
#[derive(Debug)]
pub(crate) struct Fd(c_int);

impl Fd {
    /// Takes over a descriptor that no other code closes.
    pub(crate) const fn adopt(fd: c_int) -> Self {
        Self(fd)
    }

    pub(crate) const fn raw(&self) -> c_int {
        self.0
    }

    /// Hands the descriptor over to the program.
    pub(crate) const fn into_raw(self) -> c_int {
        let fd = self.0;
        core::mem::forget(self);
        fd
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        close(self.0);
    }
}
