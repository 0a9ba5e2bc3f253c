//! Keeps large values off the stack, which may be small.

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

/// A value in a mapping of its own, for values that are rare or outlive one call. If a `vfork` child's exec succeeds,
/// the mapping is left to its parent.
pub(crate) struct MmapBox<T: Blank>(ManuallyDrop<Memory>, PhantomData<T>);

/// Words of each mapping: two pages, which hold any of these values.
const WORDS: usize = 1024;

/// Mappings of dropped values, kept for the next ones. Creating a mapping takes the kernel longer than most calls take
/// in total, and few calls need more than two.
static SPARE: [AtomicPtr<usize>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

/// Takes a spare mapping, which is then the caller's alone.
fn spare() -> Option<Memory> {
    let mut starts = SPARE.iter().map(|spare| spare.swap(null_mut(), Ordering::Acquire));
    let start = starts.find(|start| !start.is_null())?;
    // SAFETY: `keep` left it there, and the swap gives it to only one caller.
    Some(unsafe { Memory::again(start, WORDS) })
}

/// Keeps the mapping for later if there is a free slot.
fn keep(room: Memory) {
    let is_empty = |spare: &&AtomicPtr<usize>| spare.load(Ordering::Relaxed).is_null();
    if let Some(spare) = SPARE.iter().find(is_empty) {
        let start = spare.swap(room.leave(), Ordering::AcqRel);
        // SAFETY: as in `spare`. Another thread has left it meanwhile.
        drop((!start.is_null()).then(|| unsafe { Memory::again(start, WORDS) }));
    }
}

impl<T: Blank> MmapBox<T> {
    /// The empty value.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn blank() -> Result<Self, Errno> {
        const { assert!(size_of::<T>() <= WORDS * size_of::<usize>()) };
        let room = spare().map_or_else(|| Memory::new(WORDS), Ok)?;
        // SAFETY: the mapping has room for one value and belongs to this value alone.
        unsafe { room.start().cast::<T>().write(T::blank()) };
        Ok(Self(ManuallyDrop::new(room), PhantomData))
    }
}

impl<T: Blank> Drop for MmapBox<T> {
    fn drop(&mut self) {
        // SAFETY: the value is being dropped, and nobody uses the memory after this.
        keep(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}

impl<T: Blank> Deref for MmapBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: `blank` wrote a value there.
        unsafe { &*self.0.start().cast() }
    }
}

impl<T: Blank> DerefMut for MmapBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`; it is borrowed mutably.
        unsafe { &mut *self.0.start().cast() }
    }
}
