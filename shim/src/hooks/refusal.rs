//! Denies a call completely, because it cannot be judged or would change the meaning of paths. Used by the hooks.

use core::ffi::{CStr, c_char};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::report::{self, Reason, Subject};
use crate::{memory, session};

/// The reported path of a call that has none, or not as one argument.
pub(super) const EVERYWHERE: *const c_char = c"/".as_ptr();

/// Reports the denial with the path that the program gave.
#[cold]
pub(super) fn refuse(call: &CStr, path: *const c_char) -> Errno {
    let Ok(image) = session::image() else { return Errno::EACCES };
    let mut text = PathBuffer::new();
    let copied = memory::copy_path(path, &mut text);
    let path = if copied.is_ok() { text.as_bytes() } else { b"/" };
    report::refused(image, Reason::Namespace, Subject::new(call, path))
}
