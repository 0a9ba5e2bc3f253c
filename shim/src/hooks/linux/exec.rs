//! Hooks for members of the `exec` family that exist only on Linux.

use core::ffi::{c_char, c_int};

use crate::errno::Errno;
use crate::exec::{self, search, shell};
use crate::hooks::exec::reply;
use crate::sys::process::Strings;

#[unsafe(no_mangle)]
extern "C" fn execvpe(file: *const c_char, argv: Strings, envp: Strings) -> c_int {
    reply(search::along_path(file, |path| shell::or_script(c"execvpe", path, argv, envp)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn execveat(
    dirfd: c_int,
    path: *const c_char,
    argv: Strings,
    envp: Strings,
    flags: c_int,
) -> c_int {
    reply(exec::execute(c"execveat", dirfd, path, argv, envp, flags))
}

#[unsafe(no_mangle)]
extern "C" fn fexecve(fd: c_int, argv: Strings, envp: Strings) -> c_int {
    if fd < 0 || argv.is_null() || envp.is_null() {
        return reply(Errno::EINVAL);
    }
    reply(exec::execute(c"fexecve", fd, c"".as_ptr(), argv, envp, libc::AT_EMPTY_PATH))
}
