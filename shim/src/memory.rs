//! The program's memory, read without ever faulting in its place.
//!
//! A bad pointer must give EFAULT, as the kernel gives it. Where a pointer cannot be known to be
//! good, the kernel is asked once per page ([`sys::readable`]); the program's own image and the main
//! stack are known. The heap is not: it may be given back to the kernel at any time.

use core::ffi::c_char;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::sys;

const PAGE: usize = 4096;
const WORD: usize = 8;
/// How far below its top the main stack is looked for: the kernel leaves that much room.
const STACK_REACH: usize = 8 << 20;

/// Where the main stack ends, above its frames, the arguments and the environment.
static STACK_TOP: AtomicUsize = AtomicUsize::new(0);

/// Notes where the main stack ends.
pub(crate) fn remember_stack(top: usize) {
    STACK_TOP.store(top, Ordering::Relaxed);
}

/// A segment of the program that is mapped for good.
struct Segment {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// The program's readable segments; a program has four or five.
static PROGRAM: [Segment; 6] =
    [const { Segment { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; 6];

/// Notes where one of the program's own segments is: it stays mapped.
#[cfg(target_os = "linux")]
pub(crate) fn remember_segment(index: usize, start: usize, end: usize) {
    if let Some(segment) = PROGRAM.get(index) {
        segment.end.store(end, Ordering::Relaxed);
        segment.start.store(start, Ordering::Relaxed);
    }
}

/// A NUL-terminated string of the program's, the first byte of which can be read.
#[derive(Clone, Copy)]
pub(crate) struct Text(*const u8);

impl Text {
    /// # Errors
    /// `EFAULT` where nothing can be read there.
    pub(crate) fn at(text: *const c_char) -> Result<Self, Errno> {
        check(text.addr())?;
        Ok(Self(text.cast()))
    }

    pub(crate) fn first(self) -> u8 {
        // SAFETY: the page was found readable.
        unsafe { self.0.read_volatile() }
    }

    /// Appends the string, each byte of which is read exactly once.
    ///
    /// # Errors
    /// `EFAULT`, or `ENAMETOOLONG` where it does not fit.
    pub(crate) fn copy_to(self, to: &mut PathBuffer) -> Result<(), Errno> {
        to.append(|room, len| self.copy_into(room, len))
    }

    /// Copies to `room`, of `len` bytes; how many the string has.
    fn copy_into(self, room: *mut u8, len: usize) -> Result<usize, Errno> {
        let mut copied = 0;
        while copied < len {
            let from = self.0.wrapping_add(copied);
            let to = room.wrapping_add(copied);
            if from.addr() % PAGE == 0 && copied > 0 {
                check(from.addr())?;
            }
            let left = len.wrapping_sub(copied);
            if from.addr() % WORD == 0 && left >= WORD {
                // SAFETY: an aligned word lies in one page, which was found readable.
                let word = unsafe { from.cast::<[u8; WORD]>().read_volatile() };
                // SAFETY: at least a word of room is left.
                unsafe { to.cast::<[u8; WORD]>().write(word) };
                if let Some(end) = word.iter().position(|&byte| byte == 0) {
                    return Ok(copied.wrapping_add(end));
                }
                copied = copied.wrapping_add(WORD);
            } else {
                // SAFETY: the page was found readable.
                let byte = unsafe { from.read_volatile() };
                if byte == 0 {
                    return Ok(copied);
                }
                // SAFETY: at least a byte of room is left.
                unsafe { to.write(byte) };
                copied = copied.wrapping_add(1);
            }
        }
        Err(Errno::ENAMETOOLONG)
    }
}

/// The first byte of a string.
///
/// # Errors
/// `EFAULT` where it cannot be read.
pub(crate) fn first_byte(text: *const c_char) -> Result<u8, Errno> {
    Text::at(text).map(Text::first)
}

/// Appends the NUL-terminated string at `text`, each byte of which is read exactly once.
///
/// # Errors
/// `EFAULT`, or `ENAMETOOLONG` where it does not fit.
pub(crate) fn copy_path(text: *const c_char, to: &mut PathBuffer) -> Result<(), Errno> {
    Text::at(text)?.copy_to(to)
}

/// Whether the page of `address` can be read.
///
/// # Errors
/// `EFAULT` where it cannot.
pub(crate) fn check(address: usize) -> Result<(), Errno> {
    // The first page is never mapped; to the call that asks the kernel, null means "no set".
    let good = address >= PAGE
        && (is_stack(address) || is_program(address) || sys::readable(first_of_word(address)));
    if good { Ok(()) } else { Err(Errno::EFAULT) }
}

/// The eight-byte word that holds `address`: it never straddles two pages.
const fn first_of_word(address: usize) -> usize {
    address & !7
}

fn is_program(address: usize) -> bool {
    PROGRAM.iter().any(|segment| {
        let start = segment.start.load(Ordering::Relaxed);
        address >= start && address < segment.end.load(Ordering::Relaxed)
    })
}

/// Whether the address lies between here and the end of the stack the thread runs on, as far as
/// that is known: on the main stack up to the environment's end, else up to the page's end.
fn is_stack(address: usize) -> bool {
    let here = (&raw const address).addr();
    let top = STACK_TOP.load(Ordering::Relaxed);
    let on_main = here < top && top.wrapping_sub(here) < STACK_REACH;
    let end = if on_main { top } else { here.next_multiple_of(PAGE) };
    (here..end).contains(&address)
}
