//! The `exec` family.

use core::ffi::{c_char, c_int};

use crate::errno::{Errno, Reply};
use crate::exec::{self, search, shell};
use crate::sys::process::Strings;

fn reply(errno: Errno) -> c_int {
    Err::<c_int, _>(errno).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn execve(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    reply(exec::execute(c"execve", libc::AT_FDCWD, path, argv, envp, 0))
}

#[unsafe(no_mangle)]
extern "C" fn execv(path: *const c_char, argv: Strings) -> c_int {
    reply(exec::execute(c"execv", libc::AT_FDCWD, path, argv, search::environ(), 0))
}

#[unsafe(no_mangle)]
extern "C" fn execvp(file: *const c_char, argv: Strings) -> c_int {
    reply(search::along_path(file, |path| {
        shell::or_script(c"execvp", path, argv, search::environ())
    }))
}

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

/// execl(3) with its arguments in a list: `c/variadic.c` collects them.
#[unsafe(no_mangle)]
extern "C" fn jp_execl(path: *const c_char, argv: Strings) -> c_int {
    reply(exec::execute(c"execl", libc::AT_FDCWD, path, argv, search::environ(), 0))
}

/// execlp(3), likewise.
#[unsafe(no_mangle)]
extern "C" fn jp_execlp(file: *const c_char, argv: Strings) -> c_int {
    reply(search::along_path(file, |path| {
        shell::or_script(c"execlp", path, argv, search::environ())
    }))
}

/// execle(3), likewise.
#[unsafe(no_mangle)]
extern "C" fn jp_execle(path: *const c_char, argv: Strings, envp: Strings) -> c_int {
    reply(exec::execute(c"execle", libc::AT_FDCWD, path, argv, envp, 0))
}
