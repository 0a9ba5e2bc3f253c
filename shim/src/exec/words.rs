//! Copies the words of a program as far as there is room. The kernel then gets the words that were judged, even if the
//! program changes its own.

use super::reader::Reader;
use super::scratch::bytes_of;
use crate::errno::Errno;
use crate::sys::process::Strings;

/// Size of the copy in words of memory. Stacks are small, and most command lines are short.
const ROOM: usize = 240;

/// Calls `run` with a copy of `argv`, or with `argv` itself if it is too long.
#[inline(never)]
pub(super) fn with_copy(argv: Strings, run: impl FnOnce(Strings) -> Errno) -> Errno {
    let mut room = [0; ROOM];
    match copy(argv, &mut room) {
        Ok(list) => run(list.unwrap_or(argv)),
        Err(errno) => errno,
    }
}

/// Fills `room` with pointers and strings. Returns none if they do not fit.
fn copy(argv: Strings, room: &mut [usize; ROOM]) -> Result<Option<Strings>, Errno> {
    let mut reader = Reader::new();
    let count = reader.count(argv)?;
    let Some((list, texts)) = room.split_at_mut_checked(count.saturating_add(1)) else {
        return Ok(None);
    };
    let mut texts = bytes_of(texts).iter_mut();
    let mut reader_of_texts = Reader::new();
    for (index, slot) in list.iter_mut().take(count).enumerate() {
        let text = reader.string(argv, index)?;
        if text.is_null() {
            // The list was cut short meanwhile.
            break;
        }
        *slot = texts.as_slice().as_ptr().expose_provenance();
        for offset in 0_usize.. {
            let byte = reader_of_texts.byte(text, offset)?;
            let Some(to) = texts.next() else { return Ok(None) };
            *to = byte;
            if byte == 0 {
                break;
            }
        }
    }
    Ok(Some(list.as_ptr().cast()))
}
