//! Judges programs that are started by descriptor, and the loader that a program names.

use core::ffi::{CStr, c_int};

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;

use super::may_execute;
use super::program::{Executable, FLAGS};
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::fd_paths::DescriptorLink;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::resolve::{self, Route};
use crate::sys;

/// The program that the descriptor itself refers to (fexecve(3)).
#[inline(never)]
pub(super) fn held(image: &Image<'_>, call: &CStr, fd: c_int) -> Result<Executable, Errno> {
    if fd == libc::AT_FDCWD {
        return Err(Errno::EACCES);
    }
    sys::fcntl(fd, libc::F_GETFD, 0)?;
    let link = DescriptorLink::new(fd);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let program = sys::openat(libc::AT_FDCWD, link.as_c_str(), flags, 0)?;
    let mut path = PathBuffer::new();
    resolve::locate(program.raw(), &mut path)?;
    let request = Request::canonical(path.as_bytes());
    report::apply_verdict(
        image,
        may_execute(image, &request),
        Subject::new(call, path.as_bytes()),
    )?;
    let status = sys::status(&program)?;
    let open = |program: &_| sys::reopen(program, FLAGS);
    Ok(Executable::looked_into(image, program, &status, &request, open))
}

/// Allows only the system's loader, because the loader brings in the library.
#[inline(never)]
pub(super) fn admit(image: &Image<'_>, call: &CStr, path: &[u8]) -> Result<(), Errno> {
    let mut spelling = Spelling::new();
    spelling.read_own(libc::AT_FDCWD, path)?;
    if is_systems(image, &mut spelling)? {
        return Ok(());
    }
    let mut place = MmapBox::<PathBuffer>::blank()?;
    resolve::pin(image, &mut spelling, 0, &mut place)?;
    let mut route = Route::default();
    let request = Request::by_route(place.as_bytes(), route.to(image, &spelling)?);
    let behind = image.holds_other_programs();
    match decide::loader(image, &request) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(_) if behind && may_execute(image, &request) == Verdict::Allow => Ok(()),
        Verdict::Deny(_) => {
            Err(report::refused(image, Reason::Loader, Subject::of(call, &request)))
        }
    }
}

/// Whether the loader's spelling alone shows that it is the system's. A symlink on the way must have been known when
/// the policy was compiled, and is judged, too.
fn is_systems(image: &Image<'_>, spelling: &mut Spelling) -> Result<bool, Errno> {
    resolve::expand_alias(image, spelling, true)?;
    for _ in 0..LINKS {
        let judged = || decide::loader(image, &spelling.request());
        if !spelling.is_lexical() || judged() != Verdict::Allow {
            return Ok(false);
        }
        let Some(alias) = decide::alias(image, spelling.lexical()) else {
            let (root, path) = spelling.rooted();
            let flags = libc::O_PATH | libc::O_CLOEXEC;
            return Ok(sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS).is_ok());
        };
        spelling.rewrite(alias.end, alias.target)?;
    }
    Ok(false)
}

/// How many spellings of a loader are judged: a symlink and its target.
const LINKS: u32 = 2;
