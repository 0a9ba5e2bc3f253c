//! Whether a program may be started with its arguments (spec §11.3).

use core::ffi::{CStr, c_char};

use jp_confine_engine::image::Image;
use jp_confine_engine::invocation::{self, Admission, Invocation};
use jp_confine_engine::report_protocol;

use super::reader::Reader;
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::report::{self, Reason, Subject};
use crate::resolve;
use crate::sys::Object;
use crate::sys::process::Strings;

/// Longer than any name of a file (`NAME_MAX`).
const NAME: usize = 264;

/// Judges the start of the pinned `program` with the words `argv`. Returns the rules that allow it.
///
/// # Errors
/// `EACCES` if no rule allows it; `EFAULT`.
pub(super) fn judge(
    image: &Image<'_>,
    call: &CStr,
    program: &Object,
    argv: Strings,
) -> Result<Admission, Errno> {
    if !invocation::is_limited(image) {
        return Ok(Admission::FREE);
    }
    judge_limited(image, call, program, argv)
}

#[inline(never)]
fn judge_limited(
    image: &Image<'_>,
    call: &CStr,
    program: &Object,
    argv: Strings,
) -> Result<Admission, Errno> {
    let mut reader = Reader::new();
    let mut path = PathBuffer::new();
    resolve::place_of(program, &mut path)?;
    let mut called = Buffer::<NAME>::new();
    let first = reader.string(argv, 0)?;
    copy_name(&mut reader, first, &mut called)?;
    let arguments = reader.count(argv)?.saturating_sub(1);
    let started = Invocation { program: path.as_bytes(), called: called.as_bytes(), arguments };
    let mut fault = None;
    let mut is = |place: usize, word: &[u8]| {
        let text = reader.string(argv, place.saturating_add(1));
        let same = text.and_then(|text| reader.equals(text, word));
        same.unwrap_or_else(|errno| {
            fault = Some(errno);
            false
        })
    };
    let judged = invocation::judge(image, &started, &mut is);
    match (judged, fault) {
        (_, Some(errno)) => Err(errno),
        (Ok(admission), None) => Ok(admission),
        (Err(_), None) => Err(refuse(image, call, path.as_bytes(), argv)),
    }
}

/// Copies the last part of `text` to `to`. Copies nothing if it is longer than any name.
fn copy_name(reader: &mut Reader, text: *const c_char, to: &mut Buffer<NAME>) -> Result<(), Errno> {
    if text.is_null() {
        return Ok(());
    }
    let mut fits = true;
    for offset in 0_usize.. {
        match reader.byte(text, offset)? {
            0 => break,
            b'/' => {
                to.clear();
                fits = true;
            }
            byte => fits &= to.push(&[byte]).is_ok(),
        }
    }
    if !fits {
        to.clear();
    }
    Ok(())
}

#[inline(never)]
fn refuse(image: &Image<'_>, call: &CStr, path: &[u8], argv: Strings) -> Errno {
    let mut line = Buffer::<{ report_protocol::MAX_COMMAND_LINE + 1 }>::new();
    let _ = copy_line(argv, &mut line);
    report::refused(image, Reason::Command, Subject { call, path, route: line.as_bytes() })
}

/// Copies the words to `to`, each with its NUL, as far as there is room.
fn copy_line<const N: usize>(argv: Strings, to: &mut Buffer<N>) -> Result<(), Errno> {
    let mut reader = Reader::new();
    for index in 0_usize.. {
        let text = reader.string(argv, index)?;
        if text.is_null() {
            break;
        }
        for offset in 0_usize.. {
            let byte = reader.byte(text, offset)?;
            to.push(&[byte])?;
            if byte == 0 {
                break;
            }
        }
    }
    Ok(())
}
