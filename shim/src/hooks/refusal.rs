//! Denies whole calls whose effect cannot be checked or would change the meaning of paths.

use core::ffi::{CStr, c_char};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::report::{self, Reason, Subject};
use crate::{memory, session};

/// Stands for the path of a call that has none, or has it in another form.
pub(super) const EVERYWHERE: *const c_char = c"/".as_ptr();

/// Reports a denial with the path that the program gave.
#[cold]
pub(super) fn refuse(call: &CStr, path: *const c_char) -> Errno {
    let Ok(image) = session::image() else { return Errno::EACCES };
    let mut text = PathBuffer::new();
    let copied = memory::copy_path(path, &mut text);
    let path = if copied.is_ok() { text.as_bytes() } else { b"/" };
    report::refused(image, Reason::Namespace, Subject::new(call, path))
}
