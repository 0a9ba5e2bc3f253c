//! Typed calls for creating and replacing processes.

use core::ffi::{CStr, c_char, c_int};

use super::calls::outcome;
use crate::errno::Errno;

/// A null-terminated list of strings, such as `argv` and `envp`.
pub(crate) type Strings = *const *const c_char;

/// execve(2); macOS has no execveat. Returns only on error.
pub(crate) fn execute(
    _dirfd: c_int,
    path: &CStr,
    argv: Strings,
    envp: Strings,
    _flags: c_int,
    _judged: bool,
) -> Errno {
    // SAFETY: the kernel checks the program's lists.
    unsafe { libc::execve(path.as_ptr(), argv, envp) };
    Errno::last()
}

/// faccessat(2) with the effective ids.
pub(crate) fn accessible(path: &CStr, mode: c_int) -> Result<(), Errno> {
    super::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS)
}

/// Whether the process's effective IDs differ from its real ones, or did so at its start. dyld then ignores its
/// variables.
pub(crate) fn has_borrowed_identity() -> bool {
    // SAFETY: the call has no arguments.
    unsafe { libc::issetugid() != 0 }
}

/// geteuid(2).
///
/// # Errors
/// None occur.
pub(crate) fn effective_user() -> Result<libc::uid_t, Errno> {
    // SAFETY: the call has no arguments.
    Ok(unsafe { libc::geteuid() })
}

/// chdir(2) of the program's own string.
pub(crate) fn change_directory(path: *const c_char) -> Result<(), Errno> {
    // SAFETY: the kernel checks the program's pointer.
    outcome(unsafe { libc::chdir(path) }).map(|_| ())
}

/// fchdir(2).
pub(crate) fn change_directory_to(fd: c_int) -> Result<(), Errno> {
    // SAFETY: the argument is a number.
    outcome(unsafe { libc::fchdir(fd) }).map(|_| ())
}

/// Anonymous memory, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    start: *mut usize,
    words: usize,
}

impl Memory {
    /// Maps `words` zeroed words.
    pub(crate) fn new(words: usize) -> Result<Self, Errno> {
        let length = words.checked_mul(size_of::<usize>()).ok_or(Errno::ENOMEM)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON;
        let anywhere = core::ptr::null_mut();
        // SAFETY: a fresh mapping overlaps nothing.
        let start = unsafe { libc::mmap(anywhere, length, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Self { start: start.cast(), words })
    }

    /// Takes back memory from [`Self::leave`].
    ///
    /// # Safety
    /// `start` must be memory of that many words, and this must be called only once for it.
    pub(crate) const unsafe fn again(start: *mut usize, words: usize) -> Self {
        Self { start, words }
    }

    /// Leaves the mapping to the future owner of this address.
    pub(crate) fn leave(self) -> *mut usize {
        core::mem::ManuallyDrop::new(self).start()
    }

    /// The address of the first word, at the beginning of a page.
    pub(crate) const fn start(&self) -> *mut usize {
        self.start
    }

    pub(crate) fn words(&mut self) -> &mut [usize] {
        // SAFETY: the mapping has that many words, aligned to a page, and belongs to `self`.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.words) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let length = self.words.wrapping_mul(size_of::<usize>());
        // SAFETY: only this value owns the mapping.
        unsafe { libc::munmap(self.start.cast(), length) };
    }
}
