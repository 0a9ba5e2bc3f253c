//! The policy's descriptors, prepared for the next program. Used by `environment`.

use core::ffi::c_int;

use jp_confine_engine::image::LEVELS;

use crate::errno::Errno;
use crate::session;
use crate::sys::{self, Fd};

/// Descriptors that stay open across exec. Dropping this closes recreated ones, because the exec has failed.
pub(crate) struct ChildHandle {
    images: [c_int; LEVELS],
    count: usize,
    generation: c_int,
    /// Closed when dropped.
    made: [Option<Fd>; LEVELS],
}

impl ChildHandle {
    /// Finds the images' descriptors. Recreates those that the program closed from their mappings.
    ///
    /// # Errors
    /// `EMFILE`, `ENFILE` or `ENOMEM` where that is impossible.
    pub(crate) fn ensure() -> Result<Self, Errno> {
        let generation = generation();
        let mut handle =
            Self { images: [-1; LEVELS], count: 0, generation, made: [const { None }; LEVELS] };
        let places = handle.images.iter_mut().zip(&mut handle.made);
        for (loaded, (number, made)) in session::images().zip(places) {
            *number = loaded.fd;
            if !loaded.intact || !keep(loaded.fd) {
                *number = made.insert(sys::image::remake(loaded.image)?).raw();
            }
            handle.count = handle.count.saturating_add(1);
        }
        Ok(handle)
    }

    /// `JP_CONFINE=IMAGE:GENERATION[:IMAGE]…`, with its NUL.
    pub(crate) fn variable(&self) -> Variable {
        let mut variable = Variable { bytes: [0; ROOM], len: 0 };
        variable.push(crate::handle::VARIABLE);
        for (level, &image) in self.images.iter().take(self.count).enumerate() {
            variable.push_number(image);
            if level == 0 {
                variable.push(b":");
                variable.push_number(self.generation);
            }
            if level.saturating_add(1) < self.count {
                variable.push(b":");
            }
        }
        variable
    }
}

/// Clears close-on-exec on the descriptor. Returns whether it is open at all.
fn keep(fd: c_int) -> bool {
    sys::fcntl(fd, libc::F_GETFD, 0).is_ok_and(|flags| {
        flags & libc::FD_CLOEXEC == 0
            || sys::fcntl(fd, libc::F_SETFD, flags & !libc::FD_CLOEXEC).is_ok()
    })
}

/// The shared page's descriptor, or -1; then the next program finds the page by its path.
fn generation() -> c_int {
    session::generation_descriptor().filter(|&fd| keep(fd)).unwrap_or(-1)
}

/// Enough for the variable's name and each number with its colon.
const ROOM: usize = 16 + 12 * (LEVELS + 1);

/// An environment entry of the library's own.
pub(crate) struct Variable {
    bytes: [u8; ROOM],
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
