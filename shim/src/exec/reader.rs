//! Reads `argv` and `envp`, which may hold bad pointers.

use core::ffi::c_char;

use crate::errno::Errno;
use crate::memory;
use crate::sys::process::Strings;

const PAGE: usize = 4096;
/// More strings than the kernel accepts (the stack's size bounds `MAX_ARG_STRINGS`). A longer list has no end.
const ENDLESS: usize = 1 << 24;

/// Reads the program's memory. Checks each page once while it stays on it.
pub(crate) struct Reader {
    page: usize,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self { page: usize::MAX }
    }

    fn check(&mut self, address: usize) -> Result<(), Errno> {
        if address / PAGE != self.page {
            memory::check(address)?;
            self.page = address / PAGE;
        }
        Ok(())
    }

    /// The byte `offset` of `text`.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn byte(&mut self, text: *const c_char, offset: usize) -> Result<u8, Errno> {
        let at = text.cast::<u8>().wrapping_add(offset);
        self.check(at.addr())?;
        // SAFETY: `check` found the page readable.
        Ok(unsafe { at.read_volatile() })
    }

    /// The string `index` of a list, or null at its end. A null list is empty, as for the kernel.
    ///
    /// # Errors
    /// `EFAULT`; `E2BIG` for a list that has no end.
    pub(crate) fn string(&mut self, list: Strings, index: usize) -> Result<*const c_char, Errno> {
        if list.is_null() {
            return Ok(core::ptr::null());
        }
        if index > ENDLESS {
            return Err(Errno::E2BIG);
        }
        let at = list.wrapping_add(index);
        self.check(at.addr())?;
        self.check(at.addr().wrapping_add(size_of::<usize>().wrapping_sub(1)))?;
        // SAFETY: `check` found the pages of the first and last byte readable.
        Ok(unsafe { at.read_unaligned() })
    }

    /// How many strings a list has.
    ///
    /// # Errors
    /// As [`Self::string`].
    pub(crate) fn count(&mut self, list: Strings) -> Result<usize, Errno> {
        let mut count = 0_usize;
        while !self.string(list, count)?.is_null() {
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// The rest of `text` after `prefix`, if it begins so.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn after(
        &mut self,
        text: *const c_char,
        prefix: &[u8],
    ) -> Result<Option<*const c_char>, Errno> {
        for (offset, &byte) in prefix.iter().enumerate() {
            if self.byte(text, offset)? != byte {
                return Ok(None);
            }
        }
        Ok(Some(text.wrapping_add(prefix.len())))
    }

    /// Whether `text` is exactly `other`.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn equals(&mut self, text: *const c_char, other: &[u8]) -> Result<bool, Errno> {
        match self.after(text, other)? {
            Some(rest) => Ok(self.byte(rest, 0)? == 0),
            None => Ok(false),
        }
    }

    /// Whether `wanted` is a byte of `text`.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn contains(&mut self, text: *const c_char, wanted: u8) -> Result<bool, Errno> {
        let mut at = 0_usize;
        loop {
            match self.byte(text, at)? {
                0 => return Ok(false),
                byte if byte == wanted => return Ok(true),
                _ => at = at.saturating_add(1),
            }
        }
    }

    /// The length of `text`.
    ///
    /// # Errors
    /// `EFAULT`.
    pub(crate) fn length(&mut self, text: *const c_char) -> Result<usize, Errno> {
        let mut length = 0_usize;
        while self.byte(text, length)? != 0 {
            length = length.saturating_add(1);
        }
        Ok(length)
    }
}
