//! Runs files that the kernel cannot execute as shell scripts, as execvp(3) does.

use core::ffi::{CStr, c_char};

use super::reader::Reader;
use super::scratch::Scratch;
use crate::errno::Errno;
use crate::sys::process::Strings;

/// The shell of system(3), popen(3) and execvp(3).
pub(crate) const SHELL: &CStr = c"/bin/sh";

/// A command line of up to this many words needs no mapping.
const ARGUMENTS: usize = 64;

/// Runs the program `path`. If the kernel answers `ENOEXEC`, runs the shell with it as a script. Returns only on error.
pub(crate) fn or_script(call: &CStr, path: *const c_char, argv: Strings, envp: Strings) -> Errno {
    let execute = |path, argv| super::execute(call, libc::AT_FDCWD, path, argv, envp, 0);
    match execute(path, argv) {
        Errno::ENOEXEC => with_script(path, argv, |argv| execute(SHELL.as_ptr(), argv)),
        errno => errno,
    }
}

/// Calls `run` with `sh PATH ARGUMENTS…` in place of `argv`.
#[inline(never)]
fn with_script(path: *const c_char, argv: Strings, run: impl FnOnce(Strings) -> Errno) -> Errno {
    let mut scratch = Scratch::<ARGUMENTS>::new();
    match fill(&mut scratch, path, argv) {
        Ok(list) => run(list),
        Err(errno) => errno,
    }
}

fn fill(
    scratch: &mut Scratch<ARGUMENTS>,
    path: *const c_char,
    argv: Strings,
) -> Result<Strings, Errno> {
    let mut reader = Reader::new();
    let count = reader.count(argv)?;
    // Room for the shell, the script and the null pointer. The script's own name is left out.
    let list = scratch.words(count.saturating_add(3))?;
    let mut slots = list.iter_mut();
    for first in [SHELL.as_ptr(), path] {
        *slots.next().ok_or(Errno::E2BIG)? = first.expose_provenance();
    }
    for index in 1..count {
        *slots.next().ok_or(Errno::E2BIG)? = reader.string(argv, index)?.expose_provenance();
    }
    *slots.next().ok_or(Errno::E2BIG)? = 0;
    Ok(list.as_ptr().cast())
}
