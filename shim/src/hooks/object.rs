//! What attribute calls share: the object of a path or descriptor, judged and held.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Request};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::Object;
use crate::{resolve, session};

/// Holds what `path` leads to, if `need` is granted on it; with `O_NOFOLLOW` in `flags` a link at
/// the end itself.
///
/// # Errors
/// As openat(2) with `O_PATH`; `EACCES` or `ENOENT` where the policy refuses.
pub(crate) fn at_path(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    need: Capabilities,
) -> Result<Object, Errno> {
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(dirfd, path)?;
    resolve::pin_judged(image, call, &mut spelling, flags, |image, request| {
        decide::access(image, request, need)
    })
}

/// Whether `need` is granted on the object of an open descriptor. Objects without a path are the
/// program's own.
///
/// # Errors
/// `EBADF`; `EACCES` where the policy refuses.
pub(crate) fn at_descriptor(call: &CStr, fd: c_int, need: Capabilities) -> Result<(), Errno> {
    let image = session::image()?;
    let mut path = PathBuffer::new();
    resolve::locate(fd, &mut path)?;
    if resolve::is_anonymous(path.as_bytes()) {
        return Ok(());
    }
    let verdict = decide::access(image, &Request::canonical(path.as_bytes()), need);
    report::settle(image, verdict, Subject::new(call, path.as_bytes()))
}
