//! Hooks for getattrlist(2) and its relatives. Reading is allowed except in hidden areas (R6); setting needs `update`.

use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};

use jp_confine_engine::Capabilities;

use crate::errno::{Errno, Reply};
use crate::hooks::{metadata, object};

/// The list of attributes, the program's buffer, its size, and options.
type Rest = (*mut c_void, *mut c_void, usize, c_ulong);

fn answer(result: c_int) -> Result<c_int, Errno> {
    if result == -1 { Err(Errno::last()) } else { Ok(result) }
}

fn get(dirfd: c_int, path: *const c_char, rest: Rest) -> Result<c_int, Errno> {
    metadata::visible(dirfd, path)?;
    let (list, buffer, size, options) = rest;
    // SAFETY: the kernel checks the program's pointers.
    answer(unsafe { libc::getattrlistat(dirfd, path, list, buffer, size, options) })
}

fn set(call: &CStr, dirfd: c_int, path: *const c_char, rest: Rest) -> Result<c_int, Errno> {
    let (list, buffer, size, options) = rest;
    let nofollow = c_ulong::from(libc::FSOPT_NOFOLLOW);
    let follow = if options & nofollow == 0 { 0 } else { libc::O_NOFOLLOW };
    let object = object::at_path(call, dirfd, path, follow, Capabilities::UPDATE)?;
    let (dirfd, name) = (object.directory.raw(), object.name.c_str(0).as_ptr());
    let options = options | nofollow;
    let options = u32::try_from(options).map_err(|_| Errno::EINVAL)?;
    // SAFETY: as above.
    answer(unsafe { libc::setattrlistat(dirfd, name, list, buffer, size, options) })
}

pub(super) extern "C" fn getattrlist(
    path: *const c_char,
    list: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    options: u32,
) -> c_int {
    get(libc::AT_FDCWD, path, (list, buffer, size, options.into())).reply()
}

pub(super) extern "C" fn getattrlistat(
    dirfd: c_int,
    path: *const c_char,
    list: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    options: c_ulong,
) -> c_int {
    get(dirfd, path, (list, buffer, size, options)).reply()
}

pub(super) extern "C" fn setattrlist(
    path: *const c_char,
    list: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    options: u32,
) -> c_int {
    let rest = (list, buffer, size, options.into());
    set(c"setattrlist", libc::AT_FDCWD, path, rest).reply()
}

pub(super) extern "C" fn setattrlistat(
    dirfd: c_int,
    path: *const c_char,
    list: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    options: u32,
) -> c_int {
    set(c"setattrlistat", dirfd, path, (list, buffer, size, options.into())).reply()
}

pub(super) extern "C" fn fsetattrlist(
    fd: c_int,
    list: *mut c_void,
    buffer: *mut c_void,
    size: usize,
    options: u32,
) -> c_int {
    object::at_descriptor(c"fsetattrlist", fd, Capabilities::UPDATE)
        .and_then(|()| {
            // SAFETY: as above.
            answer(unsafe { libc::fsetattrlist(fd, list, buffer, size, options) })
        })
        .reply()
}
