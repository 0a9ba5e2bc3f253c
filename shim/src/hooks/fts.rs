//! Hook for `fts_open(3)`. libc's walk opens directories inside libc, where no hook judges them. So a walk may start
//! only if everything below is granted.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::resolve::Route;
use crate::sys::next::Original;
use crate::sys::process::Strings;
#[cfg(target_os = "linux")]
use crate::views;
use crate::{memory, path_cache, resolve, session, sys};

/// Options (fts.h): follow symlinks that the caller names, follow all symlinks, keep the working directory.
const NAMED: c_int = 1;
const LOGICAL: c_int = 2;
const STAY: c_int = 4;

const READ: Capabilities = Capabilities::READ;

static FTS_OPEN: Original = Original::new(c"fts_open");

type Open = extern "C" fn(Strings, c_int, *const c_void) -> *mut c_void;

pub(super) fn open(
    original: &Original,
    paths: Strings,
    options: c_int,
    compare: *const c_void,
) -> Result<*mut c_void, Errno> {
    let image = session::image()?;
    let original = original.address().ok_or(Errno::EACCES)?;
    for index in 0_usize.. {
        let place = paths.wrapping_add(index);
        memory::check(place.addr())?;
        // SAFETY: the page was just found readable, and pointers do not straddle pages.
        let path = unsafe { place.read() };
        if path.is_null() {
            break;
        }
        judge(image, path, options)?;
    }
    if options & (STAY | LOGICAL) == 0 {
        // The walk changes the directory from call to call, and nothing shows when it ends.
        path_cache::suspend();
    }
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, Open>(original) };
    Ok(original(paths, options, compare))
}

/// Whether a walk may start at `path`. libc knows no views, so what counts is where the kernel finds the name.
fn judge(image: &Image<'_>, path: *const c_char, options: c_int) -> Result<(), Errno> {
    const CALL: &CStr = c"fts_open";
    let mut spelling = Spelling::new();
    spelling.read(libc::AT_FDCWD, path)?;
    let mut place = MmapBox::<PathBuffer>::blank()?;
    let follow = if options & (NAMED | LOGICAL) == 0 { libc::O_NOFOLLOW } else { 0 };
    #[cfg(target_os = "linux")]
    if views::concern(image, &spelling) {
        return Err(Errno::EACCES);
    }
    let start = match resolve::pin_as_spelled(&spelling, follow, &mut place) {
        Ok(start) => start,
        // The walk reports that it does not exist.
        Err(Errno::ENOENT) => return Ok(()),
        Err(errno) if is_unreached(&spelling, errno) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let mut route = Route::default();
    let request = Request::by_route(place.as_bytes(), route.to(image, &spelling)?);
    let subject = Subject::of(CALL, &request);
    if sys::status(&start)?.st_mode & libc::S_IFMT != libc::S_IFDIR {
        return report::apply_verdict(image, decide::metadata(image, &request), subject);
    }
    report::apply_verdict(image, decide::access(image, &request, READ), subject)?;
    // A walk that follows symlinks may reach anything.
    let everywhere = Request::by_route(b"/", request.route);
    let walked = if options & LOGICAL == 0 { &request } else { &everywhere };
    report::apply_verdict(image, decide::beneath(image, walked, READ), subject)
}

/// Whether the kernel fails at this entry with the same error. Then the walk reports it for this entry.
fn is_unreached(spelling: &Spelling, why: Errno) -> bool {
    let (dirfd, path) = spelling.as_spelled();
    matches!(why, Errno::ELOOP | Errno::ENOTDIR) && sys::find(dirfd, path) == Err(why)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn fts_open(
    paths: Strings,
    options: c_int,
    compare: *const c_void,
) -> *mut c_void {
    open(&FTS_OPEN, paths, options, compare).reply()
}
