//! Hooks for `posix_spawn(2)`, which is a system call here, and for functions that start a shell inside libSystem.
//!
//! The kernel performs the file actions, so the files that they open are judged when the actions are added.

use core::ffi::{CStr, c_char, c_int, c_void};

use jp_confine_engine::decide::OpenVerdict;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::exec::{self, Program, search, shell};
use crate::hooks::metadata;
use crate::hooks::open::How;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::process::Strings;
use crate::{resolve, session};

mod bare {
    use core::ffi::{c_char, c_int, c_void};

    use crate::sys::process::Strings;

    unsafe extern "C" {
        pub(super) fn posix_spawn(
            pid: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            argv: Strings,
            envp: Strings,
        ) -> c_int;
        pub(super) fn posix_spawn_file_actions_addopen(
            actions: *mut c_void,
            fd: c_int,
            path: *const c_char,
            flags: c_int,
            mode: libc::mode_t,
        ) -> c_int;
        pub(super) fn posix_spawn_file_actions_addchdir_np(
            actions: *mut c_void,
            path: *const c_char,
        ) -> c_int;
        pub(super) fn system(command: *const c_char) -> c_int;
        #[link_name = "popen$DARWIN_EXTSN"]
        pub(super) fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void;
    }
}

/// The arguments of `posix_spawn(2)` except for the program.
#[derive(Clone, Copy)]
struct Start {
    pid: *mut c_int,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
}

impl Start {
    /// Starts the program at `path`. Returns zero or an error number.
    fn start(self, call: &CStr, path: *const c_char) -> Errno {
        let program = Program { dirfd: libc::AT_FDCWD, path, argv: self.argv, flags: 0 };
        exec::with_judged(call, program, self.envp, |path, Program { argv, .. }, envp, _| {
            let mut absolute = PathBuffer::new();
            // The file actions may change the directory before the kernel looks the program up.
            if let Err(errno) = spell_out(path, &mut absolute) {
                return errno;
            }
            let path = absolute.c_str(0).as_ptr();
            let Self { pid, actions, attributes, .. } = self;
            // SAFETY: the program's arguments, except for the library's path and environment.
            Errno(unsafe { bare::posix_spawn(pid, path, actions, attributes, argv, envp) })
        })
    }
}

/// Stores the path in `to` as an absolute one.
fn spell_out(path: &CStr, to: &mut PathBuffer) -> Result<(), Errno> {
    if path.to_bytes().first() != Some(&b'/') {
        crate::fd_paths::of_directory(libc::AT_FDCWD, to)?;
        to.push_separator()?;
    }
    to.push(path.to_bytes())
}

pub(super) extern "C" fn posix_spawn(
    pid: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    Start { pid, actions, attributes, argv, envp }.start(c"posix_spawn", path).0
}

pub(super) extern "C" fn posix_spawnp(
    pid: *mut c_int,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    argv: Strings,
    envp: Strings,
) -> c_int {
    let request = Start { pid, actions, attributes, argv, envp };
    search::along_path(file, |path| request.start(c"posix_spawnp", path)).0
}

/// Judges an open that the kernel will perform in the child. Stores the canonical path of its object.
fn judge_open(path: *const c_char, how: How, place: &mut PathBuffer) -> Result<(), Errno> {
    const CALL: &CStr = c"posix_spawn_file_actions_addopen";
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(libc::AT_FDCWD, path)?;
    match resolve::pin(image, &spelling, how.flags & libc::O_NOFOLLOW, place) {
        Ok(_) => {}
        Err(Errno::ENOENT) => {
            let entry = resolve::entry(image, &mut spelling)?.ok_or(Errno::EISDIR)?;
            place.clear();
            place.push(entry.path())?;
        }
        Err(errno) => return Err(errno),
    }
    let subject = Subject::new(CALL, place.as_bytes());
    match how.apply_verdict(image, &subject.request(), subject)? {
        // Nobody knows yet whether the file will exist then.
        OpenVerdict::OnlyNew(denial) | OpenVerdict::OnlyExisting(denial) => {
            Err(report::denied(image, denial, subject))
        }
        _ => Ok(()),
    }
}

pub(super) extern "C" fn posix_spawn_file_actions_addopen(
    actions: *mut c_void,
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    let mut place = PathBuffer::new();
    match judge_open(path, How::new(flags, mode.into()), &mut place) {
        Ok(()) => {
            let place = place.c_str(0).as_ptr();
            // SAFETY: libSystem copies the path.
            unsafe { bare::posix_spawn_file_actions_addopen(actions, fd, place, flags, mode) }
        }
        Err(errno) => errno.0,
    }
}

pub(super) extern "C" fn posix_spawn_file_actions_addchdir_np(
    actions: *mut c_void,
    path: *const c_char,
) -> c_int {
    match metadata::visible(libc::AT_FDCWD, path) {
        // SAFETY: these are the program's own arguments.
        Ok(()) => unsafe { bare::posix_spawn_file_actions_addchdir_np(actions, path) },
        Err(errno) => errno.0,
    }
}

/// Checks whether a shell that libSystem starts with the program's environment will be confined.
fn shell_is_confined(call: &CStr, command: *const c_char) -> Result<(), Errno> {
    let environ = search::environ();
    let path = shell::SHELL.as_ptr();
    let argv = [c"sh".as_ptr(), c"-c".as_ptr(), command, core::ptr::null()];
    let program = Program { dirfd: libc::AT_FDCWD, path, argv: argv.as_ptr(), flags: 0 };
    let outcome = exec::with_judged(call, program, environ, |_, _, envp, _| {
        if envp == environ { Errno(0) } else { Errno::EACCES }
    });
    if outcome.0 == 0 { Ok(()) } else { Err(outcome) }
}

pub(super) extern "C" fn system(command: *const c_char) -> c_int {
    match shell_is_confined(c"system", command) {
        // SAFETY: this is the program's own argument.
        Ok(()) => unsafe { bare::system(command) },
        // The answer for "no shell".
        Err(_) if command.is_null() => 0,
        Err(errno) => Err::<c_int, _>(errno).reply(),
    }
}

pub(super) extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    match shell_is_confined(c"popen", command) {
        // SAFETY: these are the program's own arguments.
        Ok(()) => unsafe { bare::popen(command, mode) },
        Err(errno) => Err::<*mut c_void, _>(errno).reply(),
    }
}
