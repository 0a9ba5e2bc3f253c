//! Paths in fixed buffers on the stack.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use crate::errno::Errno;

/// The longest path that the kernel accepts, with the NUL.
pub(crate) const CAPACITY: usize = libc::PATH_MAX as usize;

/// A NUL-terminated path of at most `N` bytes with the NUL. Creating one does not clear its memory.
///
/// Stacks may be small, so at most two full-size buffers are alive on one at any time in a call. A third is a
/// [`MmapBox`](crate::mmap_box::MmapBox).
pub(crate) struct Buffer<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
    len: usize,
}

/// A buffer for any path the kernel accepts.
pub(crate) type PathBuffer = Buffer<CAPACITY>;

impl<const N: usize> Buffer<N> {
    /// An empty path.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else the 4 KiB are copied to the caller")]
    pub(crate) fn new() -> Self {
        let mut buffer = Self { bytes: [const { MaybeUninit::uninit() }; N], len: 0 };
        buffer.finish(0);
        buffer
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The path without its NUL.
    pub(crate) const fn as_bytes(&self) -> &[u8] {
        // SAFETY: the first `len` bytes, and the NUL behind them, are initialised at all times.
        unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }

    /// The path from byte `at` on, for the kernel.
    pub(crate) fn c_str(&self, at: usize) -> &CStr {
        let start = self.bytes.as_ptr().cast::<u8>();
        let at = at.min(self.len);
        // SAFETY: `at` is at most `len`, and the NUL stands at `len`.
        let start = unsafe { start.add(at) };
        // SAFETY: the buffer is NUL-terminated at `len`; a NUL before that only shortens it.
        unsafe { CStr::from_ptr(start.cast()) }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `ENAMETOOLONG` where they and a NUL do not fit.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<(), Errno> {
        self.append(|room, len| {
            if text.len() > len {
                return Err(Errno::ENAMETOOLONG);
            }
            // SAFETY: the buffer's own memory has room for that many bytes.
            unsafe { room.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
            Ok(text.len())
        })
    }

    /// Appends the bytes that `fill` writes. `fill` gets the remaining room and returns how much it used.
    ///
    /// # Errors
    /// Those of `fill`, and `ENAMETOOLONG`.
    pub(crate) fn append(
        &mut self,
        fill: impl FnOnce(*mut u8, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        let left = N.saturating_sub(self.len);
        let room = self.bytes.as_mut_ptr().cast::<u8>().wrapping_add(self.len);
        let used = fill(room, left)?;
        if used >= left {
            return Err(Errno::ENAMETOOLONG);
        }
        self.finish(self.len.saturating_add(used));
        Ok(())
    }

    /// Replaces the first `consumed` bytes with `prefix`.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    pub(crate) fn replace_start(&mut self, consumed: usize, prefix: &[u8]) -> Result<(), Errno> {
        self.replace(0, consumed, prefix)
    }

    /// Replaces the bytes from `from` up to `end` with `text`.
    ///
    /// # Errors
    /// `ENAMETOOLONG`.
    pub(crate) fn replace(&mut self, from: usize, end: usize, text: &[u8]) -> Result<(), Errno> {
        let end = end.min(self.len);
        let from = from.min(end);
        let rest = self.len.saturating_sub(end);
        let len = from.saturating_add(text.len()).saturating_add(rest);
        if len >= N {
            return Err(Errno::ENAMETOOLONG);
        }
        let start = self.bytes.as_mut_ptr().cast::<u8>();
        let place = start.wrapping_add(from);
        // SAFETY: both ranges lie in the buffer, the source is initialised, and `copy_from` allows overlap.
        unsafe { place.wrapping_add(text.len()).copy_from(start.wrapping_add(end), rest) };
        // SAFETY: as above; `text` is not in this mutably borrowed buffer.
        unsafe { place.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
        self.finish(len);
        Ok(())
    }

    /// Calls `act` with only the bytes from `from` up to `end`.
    pub(crate) fn with_part<T>(
        &mut self,
        from: usize,
        end: usize,
        act: impl FnOnce(&CStr) -> T,
    ) -> T {
        let end = end.min(self.len);
        let cut = self.get(end);
        self.set(end, 0);
        let result = act(self.c_str(from.min(end)));
        self.set(end, cut);
        result
    }

    /// The path itself, for a function that writes into it.
    #[cfg(target_os = "macos")]
    pub(crate) const fn as_mut_ptr(&mut self) -> *mut core::ffi::c_char {
        self.bytes.as_mut_ptr().cast()
    }

    pub(crate) fn clear(&mut self) {
        self.finish(0);
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.finish(len.min(self.len));
    }

    /// Appends a slash unless the path ends in one, so that a name can follow.
    pub(crate) fn push_separator(&mut self) -> Result<(), Errno> {
        if self.as_bytes().last() == Some(&b'/') { Ok(()) } else { self.push(b"/") }
    }

    /// Replaces the contents with the bytes that `fill` writes. `fill` gets the memory and returns the length.
    pub(crate) fn fill(
        &mut self,
        fill: impl FnOnce(*mut u8, usize) -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        self.clear();
        self.append(fill)
    }

    fn finish(&mut self, len: usize) {
        self.len = len;
        if let Some(end) = self.bytes.get_mut(len) {
            end.write(0);
        }
    }

    pub(crate) fn set(&mut self, at: usize, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(at) {
            slot.write(byte);
        }
    }

    pub(crate) fn get(&self, at: usize) -> u8 {
        self.as_bytes().get(at).copied().unwrap_or(0)
    }
}
