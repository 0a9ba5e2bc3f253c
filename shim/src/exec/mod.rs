//! Running programs: judged, able to carry the shim, and with an environment that does.
//!
//! Safe in a `vfork` child: everything is on the stack, and no static changes.

mod environment;
mod handle;
mod invocation;
#[cfg(target_os = "linux")]
mod loader;
mod program;
pub(crate) mod reader;
mod scratch;
pub(crate) mod search;
pub(crate) mod shell;
mod words;

use core::ffi::{CStr, c_char, c_int};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::{Image, Text};
use jp_confine_policy::invocation::Admission;

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::sys::process::{self, Strings};
use crate::sys::{self, Object};
use crate::{memory, resolve, session};
use environment::Withheld;
use program::Kind;

/// How many `#!` lines the kernel follows (`exec_binprm` in fs/exec.c).
const SCRIPT_DEPTH: u32 = 5;

/// Runs the program at `path`, relative to `dirfd`, in the place of this one; `flags` as for
/// execveat(2). Returns only with an error: the kernel's, or `EACCES` or `ENOENT` where the policy
/// refuses.
pub(crate) fn execute(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    argv: Strings,
    envp: Strings,
    flags: c_int,
) -> Errno {
    let program = Program { dirfd, path, argv, flags };
    with_judged(call, program, envp, |path, argv, envp| {
        process::execute(dirfd, path, argv, envp, flags)
    })
}

/// A program as it was named to be started.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) dirfd: c_int,
    pub(crate) path: *const c_char,
    pub(crate) argv: Strings,
    /// As for execveat(2).
    pub(crate) flags: c_int,
}

/// Calls `run` with the path of a program that may run, its words, and an environment that confines it.
/// Returns what `run` says, or why there is no such program or environment.
pub(crate) fn with_judged(
    call: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Strings, Strings) -> Errno,
) -> Errno {
    let image = match session::image() {
        Ok(image) => image,
        Err(errno) => return errno,
    };
    if jp_confine_policy::invocation::is_limited(image) {
        return words::with_copy(program.argv, |argv| {
            judge_and_run(image, call, Program { argv, ..program }, envp, run)
        });
    }
    judge_and_run(image, call, program, envp, run)
}

fn judge_and_run(
    image: &Image<'_>,
    call: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Strings, Strings) -> Errno,
) -> Errno {
    let mut text = PathBuffer::new();
    match prepare(image, call, program, &mut text) {
        Ok(admission) => {
            let withheld = Withheld::of(image, admission);
            let path = text.c_str(0);
            environment::with_repaired(&withheld, envp, |envp| run(path, program.argv, envp))
        }
        Err(errno) => errno,
    }
}

/// Judges the program: the rules by which it may be started with its arguments. Its path ends up in
/// `text` as the program spelled it, for the kernel: a script and the process list show that spelling.
#[inline(never)]
fn prepare(
    image: &Image<'_>,
    call: &CStr,
    Program { dirfd, path, argv, flags }: Program,
    text: &mut PathBuffer,
) -> Result<Admission, Errno> {
    if flags & !(sys::EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    memory::copy_path(path, text)?;
    #[cfg(target_os = "linux")]
    if text.len() == 0 && flags & sys::EMPTY_PATH != 0 {
        let program = loader::held(image, call, dirfd)?;
        let admission = invocation::judge(image, call, &program, argv)?;
        admit(image, call, program)?;
        return can_carry_shim(image, call, text.as_bytes()).map(|()| admission);
    }
    if text.len() == 0 {
        return Err(Errno::ENOENT);
    }
    let stop_at_link = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    let program = find(image, call, dirfd, text.as_bytes(), stop_at_link)?;
    let admission = invocation::judge(image, call, &program, argv)?;
    admit(image, call, program)?;
    can_carry_shim(image, call, text.as_bytes()).map(|()| admission)
}

fn may_execute(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    decide::access(image, request, Capabilities::EXECUTE)
}

/// Holds the program at `path`, if it may be executed.
fn find(
    image: &Image<'_>,
    call: &CStr,
    dirfd: c_int,
    path: &[u8],
    stop_at_link: bool,
) -> Result<Object, Errno> {
    let mut spelling = Spelling::new();
    spelling.read_own(dirfd, path)?;
    if is_absent(image, &spelling) {
        return Err(Errno::ENOENT);
    }
    let flags = if stop_at_link { libc::O_NOFOLLOW } else { 0 };
    let program = resolve::pin_judged(image, call, &mut spelling, flags, may_execute)?;
    judge_unnamed(image, call, &program)?;
    Ok(program)
}

/// A name in a hidden area that is not there: whoever searches `PATH` asks for many of those, and
/// that is no refusal to tell of.
fn is_absent(image: &Image<'_>, spelling: &Spelling) -> bool {
    let hidden = matches!(may_execute(image, &spelling.request()),
        Verdict::Deny(denial) if denial.hidden);
    let mut path = PathBuffer::new();
    hidden && matches!(resolve::pin(spelling, 0, &mut path), Err(Errno::ENOENT | Errno::ENOTDIR))
}

/// A file without a name was written by whoever holds it; no rule covers it.
fn judge_unnamed(image: &Image<'_>, call: &CStr, program: &Object) -> Result<(), Errno> {
    if sys::status(program)?.st_nlink > 0 {
        return Ok(());
    }
    let mut path = PathBuffer::new();
    resolve::place_of(program, &mut path)?;
    let verdict = may_execute(image, &Request::canonical(path.as_bytes()));
    report::settle(image, verdict, Subject::new(call, path.as_bytes()))
}

/// Follows the program to what the processor will run first, and refuses what cannot carry the
/// shim (spec §13).
fn admit(image: &Image<'_>, call: &CStr, program: Object) -> Result<(), Errno> {
    let mut program = program;
    for _ in 0..=SCRIPT_DEPTH {
        let mut next = PathBuffer::new();
        let reason = match program::inspect(&program, &mut next) {
            Ok(Kind::Script) => {
                program = find(image, call, libc::AT_FDCWD, next.as_bytes(), false)?;
                continue;
            }
            #[cfg(target_os = "linux")]
            Ok(Kind::Dynamic)
                if sys::has_capabilities(&program) && !image.holds_other_programs() =>
            {
                Reason::ShimUnreachable
            }
            #[cfg(target_os = "linux")]
            Ok(Kind::Dynamic) => return loader::admit(image, call, next.as_bytes()),
            // The kernel starts no loader but its own.
            #[cfg(target_os = "macos")]
            Ok(Kind::Dynamic) => return Ok(()),
            #[cfg(target_os = "macos")]
            Ok(Kind::Protected) => Reason::ShimUnreachable,
            Ok(Kind::Other) => return not_a_program(&program),
            // The kernel holds it.
            Ok(Kind::Static) if image.holds_other_programs() => return Ok(()),
            Ok(Kind::Static) => Reason::StaticProgram,
            Ok(Kind::Foreign) => Reason::ForeignProgram,
            // No program for anybody.
            Err(Errno::EACCES) if !program::is_file(&program) => return Err(Errno::EACCES),
            // The kernel would run what nobody may read, but the shim does not work in it.
            Err(Errno::EACCES) if image.holds_other_programs() => return Ok(()),
            Err(Errno::EACCES) => Reason::ShimUnreachable,
            Err(errno) => return Err(errno),
        };
        let mut path = PathBuffer::new();
        resolve::place_of(&program, &mut path)?;
        return Err(report::refused(image, reason, Subject::new(call, path.as_bytes())));
    }
    Err(Errno::ELOOP)
}

/// Neither a script nor a binary: what the kernel answers, without asking it, because an
/// interpreter registered for such files (`binfmt_misc`) would run unjudged.
fn not_a_program(file: &Object) -> Result<(), Errno> {
    sys::accessible(file, libc::X_OK)?;
    Err(Errno::ENOEXEC)
}

/// Whether the loader of the new program will find the shim, and not refuse to preload it.
fn can_carry_shim(image: &Image<'_>, call: &CStr, path: &[u8]) -> Result<(), Errno> {
    if image.holds_other_programs() {
        return Ok(());
    }
    let mut shim = PathBuffer::new();
    shim.push(image.outermost().text(Text::ShimPath))?;
    if shim.len() > 0
        && process::accessible(shim.c_str(0), libc::R_OK).is_ok()
        && !process::has_borrowed_identity()
    {
        return Ok(());
    }
    Err(report::refused(image, Reason::ShimUnreachable, Subject::new(call, path)))
}
