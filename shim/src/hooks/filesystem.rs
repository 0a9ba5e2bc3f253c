//! Hooks for facts about a path's filesystem. They count as metadata, allowed except in hidden areas (R6).

use core::ffi::{c_char, c_int, c_long, c_void};

use crate::errno::{Errno, Reply};
use crate::hooks::guard::c_name;
use crate::hooks::metadata::look;
use crate::sys;
use crate::sys::next::Original;

fn status(path: *const c_char, buffer: *mut c_void) -> Result<(), Errno> {
    look(libc::AT_FDCWD, path, false, |_, path| {
        let arguments = [path.expose_provenance(), buffer.expose_provenance(), 0, 0, 0, 0];
        sys::call(libc::SYS_statfs, arguments).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn statfs(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

#[unsafe(no_mangle)]
extern "C" fn statfs64(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

#[unsafe(no_mangle)]
extern "C" fn __statfs(path: *const c_char, buffer: *mut c_void) -> c_int {
    status(path, buffer).reply()
}

macro_rules! by_libc {
    ($($name:ident($argument:ident: $kind:ty) -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(path: *const c_char, $argument: $kind) -> $result {
            static ORIGINAL: Original = Original::new(c_name(concat!(stringify!($name), "\0")));
            let call = || {
                let original = ORIGINAL.address().ok_or(Errno::ENOSYS)?;
                // SAFETY: the address is that of libc's function of this name and type.
                let original = unsafe {
                    core::mem::transmute::<usize, extern "C" fn(*const c_char, $kind) -> $result>(original)
                };
                look(libc::AT_FDCWD, path, false, |_, path| match original(path, $argument) {
                    -1 => Err(Errno::last()),
                    found => Ok(found),
                })
            };
            call().unwrap_or_else(|errno| {
                errno.set();
                -1
            })
        }
    )*};
}

by_libc! {
    statvfs(buffer: *mut c_void) -> c_int;
    statvfs64(buffer: *mut c_void) -> c_int;
    pathconf(name: c_int) -> c_long;
    ftok(project: c_int) -> c_int;
}
