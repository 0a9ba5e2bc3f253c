//! Hooks for chflags(2). Changing flags needs `update`.

use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_engine::Capabilities;

use crate::errno::{Errno, Reply};
use crate::hooks::object;
use crate::sys;

fn change(call: &CStr, path: *const c_char, flags: c_uint, follow: c_int) -> Result<(), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, Capabilities::UPDATE)?;
    let file = sys::open_for_call(&object)?;
    apply(file.raw(), flags)
}

fn apply(fd: c_int, flags: c_uint) -> Result<(), Errno> {
    // SAFETY: both arguments are numbers.
    if unsafe { libc::fchflags(fd, flags) } == 0 { Ok(()) } else { Err(Errno::last()) }
}

pub(super) extern "C" fn chflags(path: *const c_char, flags: c_uint) -> c_int {
    change(c"chflags", path, flags, 0).reply()
}

pub(super) extern "C" fn lchflags(path: *const c_char, flags: c_uint) -> c_int {
    change(c"lchflags", path, flags, libc::O_NOFOLLOW).reply()
}

pub(super) extern "C" fn fchflags(fd: c_int, flags: c_uint) -> c_int {
    object::at_descriptor(c"fchflags", fd, Capabilities::UPDATE)
        .and_then(|()| apply(fd, flags))
        .reply()
}
