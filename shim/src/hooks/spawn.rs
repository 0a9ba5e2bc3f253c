//! Hooks for `posix_spawn(3)` and `posix_spawnp(3)`, and their forms that return a descriptor of the child.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::errno::Errno;
use crate::exec::{self, search};
use crate::memory;
use crate::spawn::attributes::Attributes;
use crate::spawn::{self, Job, actions};
use crate::sys::process::{self, Strings};

/// The arguments of `posix_spawn(3)`.
struct Request {
    call: &'static CStr,
    /// Receives the child's pid, or a descriptor of it.
    to: *mut c_int,
    as_descriptor: bool,
    actions: *const c_void,
    attributes: *const c_void,
}

impl Request {
    /// Starts a child that calls `execute`. Returns zero or an error number, and keeps `errno`.
    fn spawn(&self, execute: &dyn Fn() -> Errno) -> c_int {
        match self.try_spawn(execute) {
            Ok(()) => 0,
            Err(errno) => errno.0,
        }
    }

    fn try_spawn(&self, execute: &dyn Fn() -> Errno) -> Result<(), Errno> {
        if !self.to.is_null() {
            memory::check(self.to.addr())?;
        }
        let attributes = Attributes::read(self.attributes)?;
        let prepare = || actions::perform(self.call, self.actions);
        let pid = spawn::spawn(&Job { attributes, prepare: &prepare, execute })?;
        if !self.to.is_null() {
            let child = if self.as_descriptor { process::descriptor(pid)? } else { pid };
            // SAFETY: the program's variable for the child, which was found to be mapped.
            unsafe { self.to.write(child) };
        }
        Ok(())
    }
}

macro_rules! spawn_family {
    ($($call:literal $name:ident, $as_descriptor:literal: $execute:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name(
                to: *mut c_int,
                program: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                argv: Strings,
                envp: Strings,
            ) -> c_int {
                Request { call: $call, to, as_descriptor: $as_descriptor, actions, attributes }
                    .spawn(&|| $execute($call, program, argv, envp))
            }
        )*
    };
}

spawn_family! {
    c"posix_spawn" posix_spawn, false: at_path;
    c"posix_spawnp" posix_spawnp, false: along_path;
    c"pidfd_spawn" pidfd_spawn, true: at_path;
    c"pidfd_spawnp" pidfd_spawnp, true: along_path;
}

fn at_path(call: &CStr, path: *const c_char, argv: Strings, envp: Strings) -> Errno {
    exec::execute(call, libc::AT_FDCWD, path, argv, envp, 0)
}

fn along_path(call: &CStr, file: *const c_char, argv: Strings, envp: Strings) -> Errno {
    search::along_path(file, |path| at_path(call, path, argv, envp))
}
