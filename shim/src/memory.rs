//! Reads the program's memory without ever faulting in the library.
//!
//! A bad pointer must give `EFAULT`, as from the kernel. The program's own image, the main stack and the heap below the
//! program break are known to be good. For other pointers, [`sys::readable`] asks the kernel once per page, because
//! such memory may be unmapped at any time.

use core::ffi::c_char;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::buffer::Buffer;
use crate::errno::Errno;
#[cfg(target_os = "linux")]
use crate::libc_functions;
use crate::sys;

const PAGE: usize = 4096;
const WORD: usize = 8;
/// A word at any address, read by one instruction. An array would be read byte by byte.
#[derive(Clone, Copy)]
#[repr(C, packed)]
struct Word(u64);

/// Greatest distance below its top at which an address counts as on the main stack. The kernel leaves that much room.
const STACK_REACH: usize = 8 << 20;

/// The end of the main stack, above its frames, the arguments and the environment.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".data"))] // see `sys::calls::COOKIE`
static STACK_TOP: AtomicUsize = AtomicUsize::new(0);

/// Stores the end of the main stack.
pub(crate) fn remember_stack(top: usize) {
    STACK_TOP.store(top, Ordering::Relaxed);
}

/// A segment of the program that stays mapped.
struct Segment {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// The program's readable segments. A program has four or five.
#[cfg_attr(target_os = "linux", unsafe(link_section = ".data"))]
static PROGRAM: [Segment; 6] =
    [const { Segment { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; 6];

/// Stores the bounds of one of the program's own segments, which stays mapped.
#[cfg(target_os = "linux")]
pub(crate) fn remember_segment(index: usize, start: usize, end: usize) {
    if let Some(segment) = PROGRAM.get(index) {
        segment.end.store(end, Ordering::Relaxed);
        segment.start.store(start, Ordering::Relaxed);
    }
}

/// A NUL-terminated string of the program, whose first byte is readable.
#[derive(Clone, Copy)]
pub(crate) struct Text(*const u8);

impl Text {
    /// Checks that the first byte is readable.
    ///
    /// # Errors
    /// `EFAULT` if it is not.
    pub(crate) fn at(text: *const c_char) -> Result<Self, Errno> {
        check(text.addr())?;
        Ok(Self(text.cast()))
    }

    #[cfg(target_os = "linux")]
    pub(crate) const fn as_ptr(self) -> *const c_char {
        self.0.cast()
    }

    pub(crate) fn first(self) -> u8 {
        // SAFETY: `check` found the page readable.
        unsafe { self.0.read_volatile() }
    }

    /// Appends the string. Reads each byte exactly once.
    ///
    /// # Errors
    /// `EFAULT`, or `ENAMETOOLONG` if it does not fit.
    pub(crate) fn copy_to<const N: usize>(self, to: &mut Buffer<N>) -> Result<(), Errno> {
        to.append(|room, len| self.copy_into(room, len))
    }

    /// Copies to `room`, which has `len` bytes. Returns the string's length.
    fn copy_into(self, room: *mut u8, len: usize) -> Result<usize, Errno> {
        let mut copied = 0;
        while copied < len {
            let from = self.0.wrapping_add(copied);
            let to = room.wrapping_add(copied);
            let in_page = from.addr() % PAGE;
            if in_page == 0 && copied > 0 {
                check(from.addr())?;
            }
            let left = len.wrapping_sub(copied);
            if in_page <= PAGE - WORD && left >= WORD {
                // SAFETY: the word lies in one page, which `check` found readable. It needs no alignment.
                let Word(word) = unsafe { from.cast::<Word>().read_volatile() };
                // SAFETY: at least a word of room is left.
                unsafe { to.cast::<Word>().write(Word(word)) };
                if let Some(end) = first_zero(word) {
                    return Ok(copied.wrapping_add(end));
                }
                copied = copied.wrapping_add(WORD);
            } else {
                // SAFETY: `check` found the page readable.
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

/// The index of the first zero byte.
fn first_zero(word: u64) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le(word);
    // A byte is zero if it borrows while its own highest bit was clear. Only the lowest such byte is certain.
    let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
    let bits = usize::try_from(zeros.trailing_zeros()).unwrap_or(0);
    (zeros != 0).then_some(bits / WORD)
}

/// The first byte of a string.
///
/// # Errors
/// `EFAULT` if it cannot be read.
pub(crate) fn first_byte(text: *const c_char) -> Result<u8, Errno> {
    Text::at(text).map(Text::first)
}

/// Appends the NUL-terminated string at `text`. Reads each byte exactly once.
///
/// # Errors
/// `EFAULT`, or `ENAMETOOLONG` if it does not fit.
pub(crate) fn copy_path<const N: usize>(
    text: *const c_char,
    to: &mut Buffer<N>,
) -> Result<(), Errno> {
    Text::at(text)?.copy_to(to)
}

/// Checks that the page of `address` is readable.
///
/// # Errors
/// `EFAULT` if it is not.
pub(crate) fn check(address: usize) -> Result<(), Errno> {
    // The first page is never mapped. For the call that asks the kernel, null means "no set".
    let good = address >= PAGE
        && (is_stack(address)
            || is_heap(address)
            || is_program(address)
            || sys::readable(first_of_word(address)));
    if good { Ok(()) } else { Err(Errno::EFAULT) }
}

/// The address of the eight-byte word that holds `address`. Such a word never straddles two pages.
const fn first_of_word(address: usize) -> usize {
    address & !7
}

/// The start of the heap when the library was loaded; zero if unknown.
#[cfg(target_os = "linux")]
#[unsafe(link_section = ".data")]
static HEAP_START: AtomicUsize = AtomicUsize::new(0);

/// Stores the start of the heap that brk(2) extends.
#[cfg(target_os = "linux")]
pub(crate) fn remember_heap(start: usize) {
    HEAP_START.store(start, Ordering::Relaxed);
}

/// Whether the address lies in the heap that brk(2) extends. If another thread shrinks the heap while a hook uses the
/// address, the program has freed memory that is in use.
#[cfg(target_os = "linux")]
fn is_heap(address: usize) -> bool {
    let start = HEAP_START.load(Ordering::Relaxed);
    start != 0 && address >= start && address < libc_functions::jp_program_break().addr()
}

#[cfg(target_os = "macos")]
const fn is_heap(_: usize) -> bool {
    false
}

fn is_program(address: usize) -> bool {
    PROGRAM.iter().any(|segment| {
        let start = segment.start.load(Ordering::Relaxed);
        address >= start && address < segment.end.load(Ordering::Relaxed)
    })
}

/// Whether the address lies between this frame and the known end of the thread's stack. On the main stack that is the
/// end of the environment; otherwise the end of the page.
fn is_stack(address: usize) -> bool {
    let here = (&raw const address).addr();
    let top = STACK_TOP.load(Ordering::Relaxed);
    let on_main = here < top && top.wrapping_sub(here) < STACK_REACH;
    let end = if on_main { top } else { here.next_multiple_of(PAGE) };
    (here..end).contains(&address)
}
