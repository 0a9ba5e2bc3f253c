//! Looking at names: `stat`, `access`, `readlink`, `realpath`. Metadata is free (R6); only names in
//! a hidden area look absent, by a lexical test and nothing more.

use core::ffi::{c_char, c_int, c_uint, c_void};

use jp_confine_policy::decide::{self, Verdict};

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::memory::Text;
use crate::path::Spelling;
use crate::sys::next::Original;
use crate::sys::{self, word};
use crate::{memory, session, working_directory};

/// `ENOENT` for a name in a hidden area. A name that cannot be read is left to the kernel, which
/// says why.
///
/// # Errors
/// `ENOENT`; `EACCES` without a policy.
pub(crate) fn visible(dirfd: c_int, path: *const c_char) -> Result<(), Errno> {
    let image = session::image()?;
    let Ok(path) = Text::at(path) else { return Ok(()) };
    if dirfd == libc::AT_FDCWD && stays_below(path) && working_directory::shows_everything(image) {
        return Ok(());
    }
    let mut spelling = Spelling::new();
    if spelling.read_text(dirfd, path).is_err() {
        return Ok(());
    }
    if !spelling.is_lexical() {
        spelling.collapse();
    }
    match decide::metadata(image, &spelling.request()) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(_) => Err(Errno::ENOENT),
    }
}

/// Whether the path is relative and never climbs, so that it cannot leave the directory by name.
fn stays_below(path: Text) -> bool {
    let mut copy = PathBuffer::new();
    path.first() != b'/'
        && path.copy_to(&mut copy).is_ok()
        && !copy.as_bytes().windows(2).any(|pair| pair == b"..")
}

/// Makes a system call on a name that must be visible.
fn look(
    dirfd: c_int,
    path: *const c_char,
    call: libc::c_long,
    args: [usize; 6],
) -> Result<usize, Errno> {
    visible(dirfd, path)?;
    sys::call(call, args)
}

fn status(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> Result<(), Errno> {
    let args =
        [word(dirfd), path.expose_provenance(), buffer.expose_provenance(), word(flags), 0, 0];
    look(dirfd, path, libc::SYS_newfstatat, args).map(|_| ())
}

macro_rules! stat_family {
    ($($name:ident: $flags:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name(path: *const c_char, buffer: *mut c_void) -> c_int {
                status(libc::AT_FDCWD, path, buffer, $flags).reply()
            }
        )*
    };
}

stat_family! {
    stat: 0;
    stat64: 0;
    lstat: libc::AT_SYMLINK_NOFOLLOW;
    lstat64: libc::AT_SYMLINK_NOFOLLOW;
}

macro_rules! old_stat_family {
    ($($name:ident: $flags:expr;)*) => {
        $(
            /// The form of programs built before glibc 2.33; 64-bit Linux has one version of it.
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
pub(crate) extern "C" fn fstatat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> c_int {
    status(dirfd, path, buffer, flags).reply()
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
    let args = [
        word(dirfd),
        path.expose_provenance(),
        word(flags),
        mask as usize,
        buffer.expose_provenance(),
        0,
    ];
    look(dirfd, path, libc::SYS_statx, args).map(|_| ()).reply()
}

fn may(dirfd: c_int, path: *const c_char, mode: c_int, flags: c_int) -> Result<(), Errno> {
    let mut args = [word(dirfd), path.expose_provenance(), word(mode), 0, 0, 0];
    if flags == 0 {
        return look(dirfd, path, libc::SYS_faccessat, args).map(|_| ());
    }
    args[3] = word(flags);
    look(dirfd, path, libc::SYS_faccessat2, args).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    may(libc::AT_FDCWD, path, mode, 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn faccessat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    may(dirfd, path, mode, flags).reply()
}

#[unsafe(no_mangle)]
extern "C" fn euidaccess(path: *const c_char, mode: c_int) -> c_int {
    may(libc::AT_FDCWD, path, mode, libc::AT_EACCESS).reply()
}

#[unsafe(no_mangle)]
extern "C" fn eaccess(path: *const c_char, mode: c_int) -> c_int {
    euidaccess(path, mode)
}

fn link_text(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> Result<usize, Errno> {
    let args = [word(dirfd), path.expose_provenance(), buffer.expose_provenance(), room, 0, 0];
    look(dirfd, path, libc::SYS_readlinkat, args)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, room: usize) -> isize {
    link_text(libc::AT_FDCWD, path, buffer, room).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn readlinkat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> isize {
    link_text(dirfd, path, buffer, room).reply()
}

/// `readlink` with the size of the buffer that the compiler knows. A larger `room` is a bug that
/// glibc ends the program for; here the smaller of the two counts.
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

type RealPath = extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;

static REALPATH: Original = Original::new(c"realpath");

fn real_path(path: *const c_char, resolved: *mut c_char) -> Result<*mut c_char, Errno> {
    if path.is_null() {
        return Err(Errno::EINVAL);
    }
    memory::first_byte(path)?;
    visible(libc::AT_FDCWD, path)?;
    let original = REALPATH.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, RealPath>(original) };
    Ok(original(path, resolved))
}

#[unsafe(no_mangle)]
extern "C" fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char {
    real_path(path, resolved).reply()
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
