//! The words that a program is started with, copied as far as there is room: what was judged is then what
//! the kernel gets, whatever becomes of the program's own.

use super::reader::Reader;
use super::scratch::bytes_of;
use crate::errno::Errno;
use crate::sys::process::Strings;

/// Words of memory: stacks are small, and most command lines short.
const ROOM: usize = 256;

/// Calls `run` with a copy of `argv`; with `argv` itself where that is longer.
#[inline(never)]
pub(super) fn with_copy(argv: Strings, run: impl FnOnce(Strings) -> Errno) -> Errno {
    let mut room = [0; ROOM];
    match copy(argv, &mut room) {
        Ok(list) => run(list.unwrap_or(argv)),
        Err(errno) => errno,
    }
}

/// Fills `room` with pointers and strings; none where they do not fit.
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
            // Cut short meanwhile.
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
