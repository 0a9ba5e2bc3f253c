//! Hooks for metadata that exist only on Linux.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};
use core::mem::offset_of;

use crate::errno::{Errno, Reply};
use crate::hooks::metadata::{
    MISSED, fstatat, look, look_at, lstat, may, not_symlink, readlink, readlinkat, realpath, stat,
    status,
};
use crate::sys::{self, word};

#[unsafe(no_mangle)]
extern "C" fn stat64(path: *const c_char, buffer: *mut c_void) -> c_int {
    stat(path, buffer)
}

#[unsafe(no_mangle)]
extern "C" fn lstat64(path: *const c_char, buffer: *mut c_void) -> c_int {
    lstat(path, buffer)
}

macro_rules! old_stat_family {
    ($($name:ident: $flags:expr;)*) => {
        $(
            /// The form for programs built before glibc 2.33. 64-bit Linux has only one version of it.
            #[unsafe(no_mangle)]
            extern "C" fn $name(_: c_int, path: *const c_char, buffer: *mut c_void) -> c_int {
                status(libc::AT_FDCWD, path, buffer, $flags).reply()
            }
        )*
    };
}

old_stat_family! {
    __xstat: 0;
    __xstat64: 0;
    __lxstat: libc::AT_SYMLINK_NOFOLLOW;
    __lxstat64: libc::AT_SYMLINK_NOFOLLOW;
}

#[unsafe(no_mangle)]
extern "C" fn fstatat64(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> c_int {
    fstatat(dirfd, path, buffer, flags)
}

#[unsafe(no_mangle)]
extern "C" fn __fxstatat(
    _: c_int,
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> c_int {
    fstatat(dirfd, path, buffer, flags)
}

#[unsafe(no_mangle)]
extern "C" fn __fxstatat64(
    _: c_int,
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> c_int {
    fstatat(dirfd, path, buffer, flags)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn statx(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    buffer: *mut c_void,
) -> c_int {
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    let ask = |flags| {
        move |dirfd, path: *const c_char| {
            let (path, buffer) = (path.expose_provenance(), buffer.expose_provenance());
            let args = [word(dirfd), path, word(flags), mask as usize, buffer, 0];
            sys::call(libc::SYS_statx, args).map(|_| ())
        }
    };
    let entry = |dirfd, path| {
        ask(flags | libc::AT_SYMLINK_NOFOLLOW)(dirfd, path)?;
        let mode = buffer.wrapping_byte_add(offset_of!(libc::statx, stx_mode));
        // SAFETY: the kernel has just filled this structure.
        not_symlink(unsafe { mode.cast::<u16>().read_unaligned() }.into())
    };
    look_at(dirfd, path, stops, ask(flags), Some((&MISSED, entry))).reply()
}

/// The number of `file_getattr(2)`, which libc has no function for.
const FILE_GETATTR: c_long = 468;

/// `file_getattr(2)`: reads the flags of a file, which are metadata.
///
/// # Errors
/// The kernel's; `ENOENT` in a hidden area.
pub(crate) fn file_flags(
    dirfd: c_int,
    path: *const c_char,
    [flags_at, size]: [usize; 2],
    flags: c_int,
) -> Result<(), Errno> {
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    look(dirfd, path, stops, |dirfd, path| {
        let args = [word(dirfd), path.expose_provenance(), flags_at, size, word(flags), 0];
        sys::call(FILE_GETATTR, args).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn euidaccess(path: *const c_char, mode: c_int) -> c_int {
    may(libc::AT_FDCWD, path, mode, libc::AT_EACCESS).reply()
}

#[unsafe(no_mangle)]
extern "C" fn eaccess(path: *const c_char, mode: c_int) -> c_int {
    euidaccess(path, mode)
}

/// `readlink` with the buffer size that the compiler knows. If `room` is larger, the program has a bug, and glibc would
/// abort it. Here the smaller of the two counts.
#[unsafe(no_mangle)]
extern "C" fn __readlink_chk(
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
    size: usize,
) -> isize {
    readlink(path, buffer, room.min(size))
}

#[unsafe(no_mangle)]
extern "C" fn __readlinkat_chk(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
    size: usize,
) -> isize {
    readlinkat(dirfd, path, buffer, room.min(size))
}

#[unsafe(no_mangle)]
extern "C" fn __realpath_chk(
    path: *const c_char,
    resolved: *mut c_char,
    _size: usize,
) -> *mut c_char {
    realpath(path, resolved)
}

#[unsafe(no_mangle)]
extern "C" fn canonicalize_file_name(path: *const c_char) -> *mut c_char {
    realpath(path, core::ptr::null_mut())
}
