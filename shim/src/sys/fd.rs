//! A descriptor type that closes when dropped.

use core::ffi::c_int;

use super::close;

/// A descriptor of the library's own, closed when dropped.
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

    /// Gives the descriptor to the program, without closing it.
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
