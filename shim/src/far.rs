//! Large values apart from the stack, which may be small.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::sys::process::Memory;

/// What is empty where all of its memory is zero.
///
/// # Safety
/// Zeroed memory is a value of the type.
pub(crate) unsafe trait Blank {}

// SAFETY: memory that may be anything, and a length.
unsafe impl<const N: usize> Blank for Buffer<N> {}
// SAFETY: such a path, numbers, what is true or false, and what is a name where it is zero.
unsafe impl Blank for Spelling {}

/// A value in a mapping of its own: for what is rare, or lasts longer than one call. A `vfork` child whose
/// exec succeeds leaves it to its parent.
pub(crate) struct Far<T: Blank>(Memory, PhantomData<T>);

impl<T: Blank> Far<T> {
    /// The empty value.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn blank() -> Result<Self, Errno> {
        Memory::new(size_of::<T>().div_ceil(size_of::<usize>())).map(|room| Self(room, PhantomData))
    }
}

impl<T: Blank> Deref for Far<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the mapping has room for one, which zeroed memory is.
        unsafe { &*self.0.start().cast() }
    }
}

impl<T: Blank> DerefMut for Far<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; it is borrowed mutably.
        unsafe { &mut *self.0.start().cast() }
    }
}
