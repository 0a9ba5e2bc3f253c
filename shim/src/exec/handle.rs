//! The policy's descriptors, as the next program is to find them.

use core::ffi::c_int;

use jp_confine_policy::image::Image;

use crate::errno::Errno;
use crate::session;
use crate::sys::{self, Fd};

/// Descriptors that stay open across exec. What had to be made anew is closed when dropped: the
/// exec failed.
pub(crate) struct Handle {
    image: c_int,
    generation: c_int,
    _made: Option<Fd>,
}

impl Handle {
    /// Finds the image's descriptor, or makes one from the mapping where the program closed it.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE` or `ENOMEM` where that is impossible.
    pub(crate) fn ensure(image: &Image<'_>) -> Result<Self, Errno> {
        let generation = generation();
        let (fd, intact) = session::image_descriptor();
        if intact && keep(fd) {
            return Ok(Self { image: fd, generation, _made: None });
        }
        let made = sys::image::remake(image)?;
        Ok(Self { image: made.raw(), generation, _made: Some(made) })
    }

    /// `JP_CONFINE=IMAGE:GENERATION`, with its NUL.
    pub(crate) fn variable(&self) -> Variable {
        let mut variable = Variable { bytes: [0; 48], len: 0 };
        variable.push(crate::handle::VARIABLE);
        variable.push_number(self.image);
        variable.push(b":");
        variable.push_number(self.generation);
        variable
    }
}

/// Makes sure that exec does not close the descriptor; whether it is open at all.
fn keep(fd: c_int) -> bool {
    sys::fcntl(fd, libc::F_GETFD, 0).is_ok_and(|flags| {
        flags & libc::FD_CLOEXEC == 0
            || sys::fcntl(fd, libc::F_SETFD, flags & !libc::FD_CLOEXEC).is_ok()
    })
}

/// The shared page's descriptor, or -1: the next program then finds the page by its path.
fn generation() -> c_int {
    session::generation_descriptor().filter(|&fd| keep(fd)).unwrap_or(-1)
}

/// An environment entry of the shim's own.
pub(crate) struct Variable {
    bytes: [u8; 48],
    len: usize,
}

impl Variable {
    /// The entry without its NUL.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    pub(crate) const fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    fn push(&mut self, text: &[u8]) {
        let last = self.bytes.len().saturating_sub(1);
        for &byte in text {
            if let Some(slot) = self.bytes.get_mut(self.len).filter(|_| self.len < last) {
                *slot = byte;
                self.len = self.len.saturating_add(1);
            }
        }
    }

    fn push_number(&mut self, value: c_int) {
        if value < 0 {
            self.push(b"-");
        }
        let mut digits = [0_u8; 10];
        let mut rest = value.unsigned_abs();
        let mut used = 0_usize;
        for slot in digits.iter_mut().rev() {
            *slot = b'0'.saturating_add(u8::try_from(rest % 10).unwrap_or(0));
            rest /= 10;
            used = used.saturating_add(1);
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(digits.len().saturating_sub(used)..).unwrap_or(&[]));
    }
}
