//! Large values apart from the stack, which may be small.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicPtr, Ordering};

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
pub(crate) struct Far<T: Blank>(ManuallyDrop<Memory>, PhantomData<T>);

/// Words of each mapping: two pages, in which each of these values has room.
const WORDS: usize = 1024;

/// The mapping of the value that was dropped last, for the next: the kernel takes longer to make one than most calls
/// take in all.
static SPARE: AtomicPtr<usize> = AtomicPtr::new(core::ptr::null_mut());

/// The spare mapping, which nobody else has from here on.
fn spare() -> Option<Memory> {
    let start = SPARE.swap(core::ptr::null_mut(), Ordering::Acquire);
    // SAFETY: who dropped a value left it, and the exchange gives it to one caller.
    (!start.is_null()).then(|| unsafe { Memory::again(start, WORDS) })
}

impl<T: Blank> Far<T> {
    /// The empty value.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn blank() -> Result<Self, Errno> {
        const { assert!(size_of::<T>() <= WORDS * size_of::<usize>()) };
        let room = match spare() {
            Some(mut used) => {
                used.words()
                    .iter_mut()
                    .take(size_of::<T>().div_ceil(size_of::<usize>()))
                    .for_each(|word| *word = 0);
                used
            }
            None => Memory::new(WORDS)?,
        };
        Ok(Self(ManuallyDrop::new(room), PhantomData))
    }
}

impl<T: Blank> Drop for Far<T> {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, and nobody uses the memory after this.
        let room = unsafe { ManuallyDrop::take(&mut self.0) };
        let before = SPARE.swap(room.leave(), Ordering::AcqRel);
        // SAFETY: as in `spare`.
        drop((!before.is_null()).then(|| unsafe { Memory::again(before, WORDS) }));
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
