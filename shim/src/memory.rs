//! The program's memory, read without ever faulting in its place.
//!
//! A bad pointer must give EFAULT, as the kernel gives it. Where a pointer cannot be known to be
//! good, the kernel is asked once per page ([`sys::readable`]); the main program's own image, the
//! stack and the heap are known, so that the common call asks nothing.

use core::ffi::c_char;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::errno::Errno;
use crate::path::{CAPACITY, PathBuffer};
use crate::sys;

const PAGE: usize = 4096;
/// How far above the stack pointer an address counts as stack.
const STACK_REACH: usize = 8 * PAGE;

/// Where the heap of brk(2) was when the shim was loaded, and the end it was last seen at.
static HEAP_START: AtomicUsize = AtomicUsize::new(0);
static HEAP_END: AtomicUsize = AtomicUsize::new(0);

/// Notes where the heap begins, before the program has used it.
pub(crate) fn remember_heap() {
    let end = sys::heap_end();
    HEAP_START.store(end, Ordering::Relaxed);
    HEAP_END.store(end, Ordering::Relaxed);
}

/// The first byte of a string.
///
/// # Errors
/// `EFAULT` where it cannot be read.
pub(crate) fn first_byte(text: *const c_char) -> Result<u8, Errno> {
    check(text.addr())?;
    // SAFETY: the page was just found readable.
    Ok(unsafe { text.cast::<u8>().read_volatile() })
}

/// Appends the NUL-terminated string at `text`, each byte of which is read exactly once.
///
/// # Errors
/// `EFAULT`, or `ENAMETOOLONG` where it does not fit.
pub(crate) fn copy_path(text: *const c_char, to: &mut PathBuffer) -> Result<(), Errno> {
    let mut chunk = [0_u8; 64];
    let mut filled = 0;
    let mut checked = usize::MAX;
    for offset in 0..CAPACITY {
        let at = text.cast::<u8>().wrapping_add(offset);
        if at.addr() / PAGE != checked {
            check(at.addr())?;
            checked = at.addr() / PAGE;
        }
        // SAFETY: the page was found readable.
        let byte = unsafe { at.read_volatile() };
        if byte == 0 {
            return to.push(chunk.get(..filled).unwrap_or(&[]));
        }
        if let Some(slot) = chunk.get_mut(filled) {
            *slot = byte;
        }
        filled = filled.wrapping_add(1);
        if filled == chunk.len() {
            to.push(&chunk)?;
            filled = 0;
        }
    }
    Err(Errno::ENAMETOOLONG)
}

/// Whether the page of `address` can be read.
///
/// # Errors
/// `EFAULT` where it cannot.
pub(crate) fn check(address: usize) -> Result<(), Errno> {
    // The first page is never mapped; to the call that asks the kernel, null means "no set".
    let good = address >= PAGE
        && (is_stack(address) || is_heap(address) || sys::readable(first_of_word(address)));
    if good { Ok(()) } else { Err(Errno::EFAULT) }
}

/// The eight-byte word that holds `address`: it never straddles two pages.
const fn first_of_word(address: usize) -> usize {
    address & !7
}

fn is_stack(address: usize) -> bool {
    let here = (&raw const address).addr();
    address >= here && address.wrapping_sub(here) < STACK_REACH
}

fn is_heap(address: usize) -> bool {
    let start = HEAP_START.load(Ordering::Relaxed);
    if start == 0 || address < start {
        return false;
    }
    if address < HEAP_END.load(Ordering::Relaxed) {
        return true;
    }
    if address.wrapping_sub(start) > 1 << 36 {
        return false;
    }
    let end = sys::heap_end();
    HEAP_END.store(end, Ordering::Relaxed);
    address < end
}
