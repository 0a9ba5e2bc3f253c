//! Memory for one exec, on the stack if it is little.

use crate::errno::Errno;
use crate::sys::process::Memory;

/// Zeroed words for pointers and bytes, up to `NEAR` of them on the stack. A larger piece is a mapping. If a `vfork`
/// child's exec succeeds, the mapping is left to the parent, which is rare and better than failing.
pub(crate) struct Scratch<const NEAR: usize> {
    near: [usize; NEAR],
    far: Option<Memory>,
}

impl<const NEAR: usize> Scratch<NEAR> {
    pub(crate) const fn new() -> Self {
        Self { near: [0; NEAR], far: None }
    }

    /// Room for `words` words.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn words(&mut self, words: usize) -> Result<&mut [usize], Errno> {
        if words <= NEAR {
            return self.near.get_mut(..words).ok_or(Errno::ENOMEM);
        }
        Ok(self.far.insert(Memory::new(words)?).words())
    }
}

/// The words as bytes.
pub(crate) fn bytes_of(words: &mut [usize]) -> &mut [u8] {
    let length = size_of_val(words);
    // SAFETY: the same memory, for as long as the words are borrowed. Bytes need no alignment.
    unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), length) }
}
