//! Large values apart from the stack, which may be small.

use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::buffer::Buffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::sys::process::Memory;

/// A value that begins empty.
pub(crate) trait Blank {
    /// The empty value.
    fn blank() -> Self;
}

impl<const N: usize> Blank for Buffer<N> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else the buffer is copied to its place")]
    fn blank() -> Self {
        Self::new()
    }
}

impl Blank for Spelling {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "else the buffer is copied to its place")]
    fn blank() -> Self {
        Self::new()
    }
}

/// A value in a mapping of its own: for what is rare, or lasts longer than one call. A `vfork` child whose
/// exec succeeds leaves it to its parent.
pub(crate) struct Far<T: Blank>(ManuallyDrop<Memory>, PhantomData<T>);

/// Words of each mapping: two pages, in which each of these values has room.
const WORDS: usize = 1024;

/// The mappings of values that were dropped, for the next: the kernel takes longer to make one than most calls take in
/// all, and few calls need more than two.
static SPARE: [AtomicPtr<usize>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

/// A spare mapping, which nobody else has from here on.
fn spare() -> Option<Memory> {
    let mut starts = SPARE.iter().map(|spare| spare.swap(null_mut(), Ordering::Acquire));
    let start = starts.find(|start| !start.is_null())?;
    // SAFETY: `keep` left it, and the exchange gives it to one caller.
    Some(unsafe { Memory::again(start, WORDS) })
}

/// Keeps the mapping for later, if there is a place for it.
fn keep(room: Memory) {
    let is_empty = |spare: &&AtomicPtr<usize>| spare.load(Ordering::Relaxed).is_null();
    if let Some(spare) = SPARE.iter().find(is_empty) {
        let start = spare.swap(room.leave(), Ordering::AcqRel);
        // SAFETY: as in `spare`: another thread has left it meanwhile.
        drop((!start.is_null()).then(|| unsafe { Memory::again(start, WORDS) }));
    }
}

impl<T: Blank> Far<T> {
    /// The empty value.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn blank() -> Result<Self, Errno> {
        const { assert!(size_of::<T>() <= WORDS * size_of::<usize>()) };
        let room = spare().map_or_else(|| Memory::new(WORDS), Ok)?;
        // SAFETY: the mapping has room for one, and is this value's alone.
        unsafe { room.start().cast::<T>().write(T::blank()) };
        Ok(Self(ManuallyDrop::new(room), PhantomData))
    }
}

impl<T: Blank> Drop for Far<T> {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, and nobody uses the memory after this.
        keep(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

impl<T: Blank> Deref for Far<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `blank` put one there.
        unsafe { &*self.0.start().cast() }
    }
}

impl<T: Blank> DerefMut for Far<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; it is borrowed mutably.
        unsafe { &mut *self.0.start().cast() }
    }
}
