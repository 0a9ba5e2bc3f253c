//! Denies set-user-ID and set-group-ID bits, and the attribute for capabilities. `policy::set_id` decides. Used by the
//! hooks that change modes and attributes.

use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_engine::set_id;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::{resolve, session};

/// Checks whether an object with this status may get `mode`.
#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "elsewhere it is shorter")
)]
pub(super) fn check(status: libc::stat, mode: c_uint) -> Result<(), ()> {
    if set_id::may_become(status.st_mode.into(), mode) { Ok(()) } else { Err(()) }
}

/// Reports a denial on a path as the program spelled it.
#[cold]
#[inline(never)]
pub(super) fn refuse_at(call: &CStr, dirfd: c_int, path: *const c_char) -> Errno {
    let Ok(image) = session::image() else { return Errno::EACCES };
    let mut spelling = Spelling::new();
    if let Err(errno) = spelling.read(dirfd, path) {
        return errno;
    }
    spelling.collapse();
    report::refused(image, Reason::SetId, Subject::new(call, spelling.lexical()))
}

/// Reports a denial on a descriptor's object.
#[cold]
#[inline(never)]
pub(super) fn refuse_on(call: &CStr, fd: c_int) -> Errno {
    let Ok(image) = session::image() else { return Errno::EACCES };
    let mut path = PathBuffer::new();
    if let Err(errno) = resolve::locate(fd, &mut path) {
        return errno;
    }
    report::refused(image, Reason::SetId, Subject::new(call, path.as_bytes()))
}
