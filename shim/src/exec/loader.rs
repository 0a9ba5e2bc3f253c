//! Programs by descriptor, and the loader that a program names.

use core::ffi::{CStr, c_int};

use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use super::may_execute;
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::places::DescriptorLink;
use crate::report::{self, Reason, Subject};
use crate::resolve;
use crate::sys::{self, Object};

/// The program that the descriptor itself denotes (fexecve(3)).
#[inline(never)]
pub(super) fn held(image: &Image<'_>, call: &CStr, fd: c_int) -> Result<Object, Errno> {
    sys::fcntl(fd, libc::F_GETFD, 0)?;
    let link = DescriptorLink::new(fd);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let program = sys::openat(libc::AT_FDCWD, link.as_c_str(), flags, 0)?;
    let mut path = PathBuffer::new();
    resolve::locate(program.raw(), &mut path)?;
    let verdict = may_execute(image, &Request::canonical(path.as_bytes()));
    report::settle(image, verdict, Subject::new(call, path.as_bytes()))?;
    Ok(program)
}

/// The loader that the program names must be the system's: it is what brings the shim in.
#[inline(never)]
pub(super) fn admit(image: &Image<'_>, call: &CStr, path: &[u8]) -> Result<(), Errno> {
    let mut spelling = Spelling::new();
    spelling.read_own(libc::AT_FDCWD, path)?;
    resolve::expand_alias(image, &mut spelling, true)?;
    let (root, path) = spelling.rooted();
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    if spelling.is_lexical()
        && decide::loader(image, &spelling.request()) == Verdict::Allow
        && sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS).is_ok()
    {
        return Ok(());
    }
    let mut place = PathBuffer::new();
    resolve::pin(&spelling, 0, &mut place)?;
    let request = Request::by_route(place.as_bytes(), spelling.lexical());
    let behind = image.holds_other_programs();
    match decide::loader(image, &request) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(_) if behind && may_execute(image, &request) == Verdict::Allow => Ok(()),
        Verdict::Deny(_) => {
            let subject = Subject { call, path: request.path, route: request.route };
            Err(report::refused(image, Reason::Loader, subject))
        }
    }
}
