//! Hooks for extended attributes, with libSystem's two additional arguments. Changes need `update`. Reading a value
//! needs `read`, except for the system's attributes, which describe the file (spec §5.2).

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_engine::Capabilities;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::{metadata, object};
use crate::memory;
use crate::sys::{self, Fd};

/// `XATTR_NOFOLLOW` (sys/xattr.h). Calls on a descriptor do not accept it.
const NOFOLLOW: c_int = 1;
const UPDATE: Capabilities = Capabilities::UPDATE;

/// Opens the object for a call on its descriptor, if `need` is granted on it.
fn opened(
    call: &CStr,
    path: *const c_char,
    options: c_int,
    need: Capabilities,
) -> Result<Fd, Errno> {
    let follow = if options & NOFOLLOW == 0 { 0 } else { libc::O_NOFOLLOW };
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, need)?;
    sys::open_for_call(&object)
}

fn answer(result: c_int) -> Result<(), Errno> {
    if result == 0 { Ok(()) } else { Err(Errno::last()) }
}

pub(super) extern "C" fn setxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    position: u32,
    options: c_int,
) -> c_int {
    let call = || {
        let file = opened(c"setxattr", path, options, UPDATE)?;
        let options = options & !NOFOLLOW;
        // SAFETY: the kernel checks the program's pointers.
        answer(unsafe { libc::fsetxattr(file.raw(), name, value, size, position, options) })
    };
    call().reply()
}

pub(super) extern "C" fn fsetxattr(
    fd: c_int,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    position: u32,
    options: c_int,
) -> c_int {
    let call = || {
        object::at_descriptor(c"fsetxattr", fd, UPDATE)?;
        // SAFETY: as above.
        answer(unsafe { libc::fsetxattr(fd, name, value, size, position, options) })
    };
    call().reply()
}

pub(super) extern "C" fn removexattr(
    path: *const c_char,
    name: *const c_char,
    options: c_int,
) -> c_int {
    let call = || {
        let file = opened(c"removexattr", path, options, UPDATE)?;
        // SAFETY: as above.
        answer(unsafe { libc::fremovexattr(file.raw(), name, options & !NOFOLLOW) })
    };
    call().reply()
}

pub(super) extern "C" fn fremovexattr(fd: c_int, name: *const c_char, options: c_int) -> c_int {
    let call = || {
        object::at_descriptor(c"fremovexattr", fd, UPDATE)?;
        // SAFETY: as above.
        answer(unsafe { libc::fremovexattr(fd, name, options) })
    };
    call().reply()
}

pub(super) extern "C" fn getxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
    position: u32,
    options: c_int,
) -> isize {
    let call = || {
        let mut text = PathBuffer::new();
        memory::copy_path(name, &mut text)?;
        if text.as_bytes().starts_with(b"com.apple.system.") {
            metadata::visible(libc::AT_FDCWD, path)?;
            // SAFETY: as above.
            let result = unsafe { libc::getxattr(path, name, value, size, position, options) };
            return usize::try_from(result).map_err(|_| Errno::last());
        }
        let file = opened(c"getxattr", path, options, Capabilities::READ)?;
        let options = options & !NOFOLLOW;
        // SAFETY: as above.
        let result = unsafe { libc::fgetxattr(file.raw(), name, value, size, position, options) };
        usize::try_from(result).map_err(|_| Errno::last())
    };
    call().reply()
}

pub(super) extern "C" fn listxattr(
    path: *const c_char,
    list: *mut c_char,
    size: usize,
    options: c_int,
) -> isize {
    let call = || {
        metadata::visible(libc::AT_FDCWD, path)?;
        // SAFETY: as above.
        let result = unsafe { libc::listxattr(path, list, size, options) };
        usize::try_from(result).map_err(|_| Errno::last())
    };
    call().reply()
}
