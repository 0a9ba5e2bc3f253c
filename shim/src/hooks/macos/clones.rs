//! Hooks for `clonefile(2)`, which creates a second file that shares the first one's content. That reads the source and
//! creates the other. The source is pinned, and found by its name in its directory.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::Capabilities;

use crate::errno::{Errno, Reply};
use crate::hooks::entries::{self, Argument};
use crate::hooks::object;
use crate::sys;

/// `CLONE_NOFOLLOW` (sys/clonefile.h).
const NOFOLLOW: u32 = 1;

fn clone(call: &CStr, from: Argument, to: Argument, flags: u32) -> Result<(), Errno> {
    let follow = if flags & NOFOLLOW == 0 { 0 } else { libc::O_NOFOLLOW };
    let source = object::at_path(call, from.dirfd, from.path, follow, Capabilities::READ)?;
    if sys::status(&source)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
        // Each file in it would have to be judged. After this error, copyfile(3) copies file by file.
        return Err(Errno(libc::ENOTSUP));
    }
    entries::create(call, to, |dirfd, name| sys::clone(&source, dirfd, name, flags))
}

pub(super) extern "C" fn clonefile(from: *const c_char, to: *const c_char, flags: u32) -> c_int {
    clone(c"clonefile", Argument::here(from), Argument::here(to), flags).reply()
}

pub(super) extern "C" fn clonefileat(
    from_dirfd: c_int,
    from: *const c_char,
    to_dirfd: c_int,
    to: *const c_char,
    flags: u32,
) -> c_int {
    let from = Argument { dirfd: from_dirfd, path: from };
    clone(c"clonefileat", from, Argument { dirfd: to_dirfd, path: to }, flags).reply()
}

pub(super) extern "C" fn fclonefileat(
    fd: c_int,
    to_dirfd: c_int,
    to: *const c_char,
    flags: u32,
) -> c_int {
    let call = c"fclonefileat";
    let to = Argument { dirfd: to_dirfd, path: to };
    object::at_descriptor(call, fd, Capabilities::READ)
        .and_then(|()| {
            if sys::fstat(fd)?.st_mode & libc::S_IFMT == libc::S_IFDIR {
                return Err(Errno(libc::ENOTSUP));
            }
            entries::create(call, to, |dirfd, name| {
                // SAFETY: the name is NUL-terminated.
                let result = unsafe { libc::fclonefileat(fd, dirfd, name.as_ptr(), flags) };
                if result == 0 { Ok(()) } else { Err(Errno::last()) }
            })
        })
        .reply()
}
