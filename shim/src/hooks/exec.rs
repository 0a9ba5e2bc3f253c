//! Hooks for the `exec` family.

use core::ffi::{c_char, c_int};

use crate::errno::{Errno, Reply};
use crate::exec::{self, search, shell};
use crate::sys::process::Strings;

pub(super) fn reply(errno: Errno) -> c_int {
    Err::<c_int, _>(errno).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    reply(exec::execute(c"execve", libc::AT_FDCWD, path, argv, envp, 0))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn execv(path: *const c_char, argv: Strings) -> c_int {
    reply(exec::execute(c"execv", libc::AT_FDCWD, path, argv, search::environ(), 0))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn execvp(file: *const c_char, argv: Strings) -> c_int {
    reply(search::along_path(file, |path| {
        shell::or_script(c"execvp", path, argv, search::environ())
    }))
}

/// execl(3). `c/variadic.c` collects its arguments in a list.
#[unsafe(no_mangle)]
pub(super) extern "C" fn jp_execl(path: *const c_char, argv: Strings) -> c_int {
    reply(exec::execute(c"execl", libc::AT_FDCWD, path, argv, search::environ(), 0))
}

/// execlp(3), likewise.
#[unsafe(no_mangle)]
pub(super) extern "C" fn jp_execlp(file: *const c_char, argv: Strings) -> c_int {
    reply(search::along_path(file, |path| {
        shell::or_script(c"execlp", path, argv, search::environ())
    }))
}

/// execle(3), likewise.
#[unsafe(no_mangle)]
pub(super) extern "C" fn jp_execle(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    reply(exec::execute(c"execle", libc::AT_FDCWD, path, argv, envp, 0))
}
