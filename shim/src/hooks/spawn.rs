//! `posix_spawn(3)` and `posix_spawnp(3)`.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::errno::Errno;
use crate::exec::{self, search};
use crate::memory;
use crate::spawn::attributes::Attributes;
use crate::spawn::{self, Job, actions};
use crate::sys::process::Strings;

/// The arguments of `posix_spawn(3)`.
struct Request {
    call: &'static CStr,
    pid: *mut c_int,
    actions: *const c_void,
    attributes: *const c_void,
}

impl Request {
    /// Starts what `execute` runs. Zero, or an error number: `errno` stays as it is.
    fn spawn(&self, execute: &dyn Fn() -> Errno) -> c_int {
        match self.try_spawn(execute) {
            Ok(()) => 0,
            Err(errno) => errno.0,
        }
    }

    fn try_spawn(&self, execute: &dyn Fn() -> Errno) -> Result<(), Errno> {
        if !self.pid.is_null() {
            memory::check(self.pid.addr())?;
        }
        let attributes = Attributes::read(self.attributes)?;
        let prepare = || actions::perform(self.call, self.actions);
        let pid = spawn::spawn(&Job { attributes, prepare: &prepare, execute })?;
        if !self.pid.is_null() {
            // SAFETY: the program's variable for the pid, found to be mapped.
            unsafe { self.pid.write(pid) };
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    let call = c"posix_spawn";
    Request { call, pid, actions, attributes }
        .spawn(&|| exec::execute(call, libc::AT_FDCWD, path, argv, envp, 0))
}

#[unsafe(no_mangle)]
extern "C" fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    let call = c"posix_spawnp";
    Request { call, pid, actions, attributes }.spawn(&|| {
        search::along_path(file, |path| exec::execute(call, libc::AT_FDCWD, path, argv, envp, 0))
    })
}
