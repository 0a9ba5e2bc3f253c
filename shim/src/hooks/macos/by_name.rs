//! Hooks for functions that take a path and have no form for a pinned object: metadata, which is allowed except in
//! hidden areas (R6), and changes that libSystem offers in no other form.

use core::ffi::{c_char, c_int, c_long, c_void};

use jp_confine_engine::Capabilities;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::exec::search;
use crate::hooks::{exec, metadata, object};
use crate::resolve;
use crate::sys::process::Strings;

/// Defines hooks that call libSystem's own function if the path may be seen, and otherwise return -1.
macro_rules! seen {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty, $x86_64:literal, $aarch64:literal;)*) => {$(
        pub(super) extern "C" fn $name(path: *const c_char $(, $argument: $kind)*) -> $answer {
            unsafe extern "C" {
                #[cfg_attr(target_arch = "x86_64", link_name = $x86_64)]
                #[cfg_attr(target_arch = "aarch64", link_name = $aarch64)]
                fn original(path: *const c_char $(, $argument: $kind)*) -> $answer;
            }
            match metadata::visible(libc::AT_FDCWD, path) {
                // SAFETY: these are the program's own arguments.
                Ok(()) => unsafe { original(path $(, $argument)*) },
                Err(errno) => {
                    errno.set();
                    -1
                }
            }
        }
    )*};
}

seen! {
    statfs(to: *mut c_void) -> c_int, "statfs$INODE64", "statfs";
    statvfs(to: *mut c_void) -> c_int, "statvfs", "statvfs";
    pathconf(name: c_int) -> c_long, "pathconf", "pathconf";
    statx_np(to: *mut c_void, security: *mut c_void) -> c_int, "statx_np$INODE64", "statx_np";
    lstatx_np(to: *mut c_void, security: *mut c_void) -> c_int, "lstatx_np$INODE64", "lstatx_np";
    pthread_chdir_np() -> c_int, "pthread_chdir_np", "pthread_chdir_np";
}

/// Defines hooks that call libSystem's own function on the canonical path if it may be updated.
macro_rules! updated {
    ($($call:literal $link:literal $name:ident($($argument:ident: $kind:ty),*), $follow:expr;)*) => {$(
        pub(super) extern "C" fn $name(path: *const c_char $(, $argument: $kind)*) -> c_int {
            unsafe extern "C" {
                #[link_name = $link]
                fn original(path: *const c_char $(, $argument: $kind)*) -> c_int;
            }
            let call = || -> Result<c_int, Errno> {
                let need = Capabilities::UPDATE;
                let object = object::at_path($call, libc::AT_FDCWD, path, $follow, need)?;
                let mut place = PathBuffer::new();
                resolve::place_of(&object, &mut place)?;
                // SAFETY: these are the program's own arguments, except for the path.
                Ok(unsafe { original(place.c_str(0).as_ptr() $(, $argument)*) })
            };
            call().reply()
        }
    )*};
}

updated! {
    c"chmodx_np" "chmodx_np" chmodx_np(security: *const c_void), 0;
    c"acl_set_file" "acl_set_file" acl_set_file(kind: c_int, list: *const c_void), 0;
    c"acl_set_link_np" "acl_set_link_np" acl_set_link_np(kind: c_int, list: *const c_void), libc::O_NOFOLLOW;
}

/// `execvP(3)`: searches a path that the program gives.
pub(super) extern "C" fn exec_along(
    file: *const c_char,
    list: *const c_char,
    argv: Strings,
) -> c_int {
    exec::reply(search::along(file, Some(list), |path| {
        crate::exec::shell::or_script(c"execvP", path, argv, search::environ())
    }))
}
