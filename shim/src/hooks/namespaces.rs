//! Hooks that deny calls which change the meaning of paths for the process. Afterwards every verdict would be about
//! another tree.

use core::ffi::{c_char, c_int, c_ulong, c_void};

use crate::errno::Reply;
use crate::hooks::refusal::{EVERYWHERE, refuse};
use crate::{path_cache, sys};

#[unsafe(no_mangle)]
pub(crate) extern "C" fn chroot(path: *const c_char) -> c_int {
    Err::<c_int, _>(refuse(c"chroot", path)).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn mount(
    _source: *const c_char,
    target: *const c_char,
    _kind: *const c_char,
    _flags: c_ulong,
    _data: *const c_void,
) -> c_int {
    Err::<c_int, _>(refuse(c"mount", target)).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn umount(target: *const c_char) -> c_int {
    Err::<c_int, _>(refuse(c"umount", target)).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn umount2(target: *const c_char, _flags: c_int) -> c_int {
    Err::<c_int, _>(refuse(c"umount2", target)).reply()
}

/// unshare(2), denied only for flags that give the process a tree of its own.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn unshare(flags: c_int) -> c_int {
    if flags & (libc::CLONE_NEWNS | libc::CLONE_NEWUSER | libc::CLONE_NEWPID) != 0 {
        return Err::<c_int, _>(refuse(c"unshare", EVERYWHERE)).reply();
    }
    if flags & libc::CLONE_FS != 0 {
        // From now on each thread may have its own working directory, but all share one cache.
        path_cache::suspend();
    }
    sys::call(libc::SYS_unshare, [sys::word(flags), 0, 0, 0, 0, 0]).map(|_| ()).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn setns(_fd: c_int, _kind: c_int) -> c_int {
    Err::<c_int, _>(refuse(c"setns", EVERYWHERE)).reply()
}
