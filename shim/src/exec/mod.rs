//! Starts programs: judges them, checks that they can carry the library, and prepares their environment. Used by the
//! hooks.
//!
//! Safe in a `vfork` child: everything is on the stack, and no static changes.

mod environment;
mod handle;
mod invocation;
#[cfg(target_os = "linux")]
mod links;
#[cfg(target_os = "linux")]
mod loader;
mod loader_lists;
mod program;
pub(crate) mod reader;
mod scratch;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "macos")]
#[path = "script_macos.rs"]
mod script;
pub(crate) mod search;
pub(crate) mod shell;
mod words;

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::Capabilities;
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::executable::ExecutableKind;
use jp_confine_engine::image::{Image, Text};
use jp_confine_engine::invocation::Admission;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::sys::process::{self, Strings};
use crate::sys::{self, Object};
#[cfg(target_os = "linux")]
use crate::views;
use crate::{memory, resolve, session};
use environment::Withheld;
use program::{Executable, Interpreter};
use script::Scripts;

/// How many `#!` lines the kernel follows (`exec_binprm` in fs/exec.c).
const SCRIPT_DEPTH: u32 = 5;

/// Replaces this program with the one at `path`, relative to `dirfd`; `flags` as for execveat(2). Returns only on
/// error: the kernel's, or `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn execute(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    argv: Strings,
    envp: Strings,
    flags: c_int,
) -> Errno {
    let program = Program { dirfd, path, argv, flags };
    with_judged(call, program, envp, |path, Program { dirfd, argv, flags, .. }, envp, sight| {
        process::execute(dirfd, path, argv, envp, flags, sight == Sight::Whole)
    })
}

/// How much of a program was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// All its parts, including interpreter and loader.
    Whole,
    /// The program alone, because it cannot be inspected here or it starts another one. The other layers must judge the
    /// call.
    Outside,
}

/// A program as the caller named it.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) dirfd: c_int,
    pub(crate) path: *const c_char,
    pub(crate) argv: Strings,
    /// Flags as for execveat(2).
    pub(crate) flags: c_int,
}

/// Calls `run` with the path and the words of an allowed program, an environment that confines it, and how much was
/// judged. The path counts, instead of the one in `Program`. Returns the result of `run`, or why there is no such program
/// or environment.
pub(crate) fn with_judged(
    call: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Program, Strings, Sight) -> Errno,
) -> Errno {
    let image = match session::image() {
        Ok(image) => image,
        Err(errno) => return errno,
    };
    if jp_confine_engine::invocation::is_limited(image) {
        return words::with_copy(program.argv, |argv| {
            judge_and_run(image, call, Program { argv, ..program }, envp, run)
        });
    }
    judge_and_run(image, call, program, envp, run)
}

/// Most paths of programs are shorter. A thread may have a stack of 16 KiB, and judging must fit in 12.
const SHORT: usize = 256;

fn judge_and_run(
    image: &Image<'_>,
    call: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Program, Strings, Sight) -> Errno,
) -> Errno {
    let mut text = Buffer::<SHORT>::new();
    match memory::copy_path(program.path, &mut text) {
        Ok(()) => run_if_judged(image, call, text.c_str(0), program, envp, run),
        Err(Errno::ENAMETOOLONG) => judge_and_run_long(image, call, program, envp, run),
        Err(errno) => errno,
    }
}

#[inline(never)]
fn judge_and_run_long(
    image: &Image<'_>,
    call: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Program, Strings, Sight) -> Errno,
) -> Errno {
    let mut text = match MmapBox::<PathBuffer>::blank() {
        Ok(text) => text,
        Err(errno) => return errno,
    };
    match memory::copy_path(program.path, &mut text) {
        Ok(()) => run_if_judged(image, call, text.c_str(0), program, envp, run),
        Err(errno) => errno,
    }
}

/// Like [`with_judged`]. `name` is a copy of the program's path. The kernel gets it as spelled, because scripts and the
/// process list show that spelling. If a view is on the way, the kernel gets the path that the name leads to, because it
/// knows no views.
fn run_if_judged(
    image: &Image<'_>,
    call: &CStr,
    name: &CStr,
    program: Program,
    envp: Strings,
    run: impl FnOnce(&CStr, Program, Strings, Sight) -> Errno,
) -> Errno {
    #[cfg(target_os = "linux")]
    let led = views::led(image, program.dirfd, name, program.flags);
    #[cfg(target_os = "macos")]
    let led: Option<MmapBox<Spelling>> = None;
    let path = led.as_ref().map_or(name, |led| led.text().c_str(0));
    let dirfd = if led.is_some() { libc::AT_FDCWD } else { program.dirfd };
    let located = Program { dirfd, ..program };
    let mut scripts = Scripts::new(led.is_some());
    match judge(image, call, path.to_bytes(), located, &mut scripts) {
        Ok((admission, sight)) => {
            let withheld = Withheld::of(image, admission);
            environment::with_repaired(call, &withheld, envp, |envp| {
                scripts.with_start(image, program, (name, path), |path, program| {
                    run(path, program, envp, sight)
                })
            })
        }
        Err(errno) => errno,
    }
}

/// Judges the program at `path`. Returns the rules that allow it with its arguments, and how much was judged.
#[inline(never)]
fn judge(
    image: &Image<'_>,
    call: &CStr,
    path: &[u8],
    Program { dirfd, argv, flags, .. }: Program,
    scripts: &mut Scripts,
) -> Result<(Admission, Sight), Errno> {
    if flags & !(sys::EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    let program = match path {
        #[cfg(target_os = "linux")]
        [] if flags & sys::EMPTY_PATH != 0 => loader::held(image, call, dirfd)?,
        [] => return Err(Errno::ENOENT),
        path => {
            let stop_at_link = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
            find(image, call, dirfd, path, stop_at_link)?
        }
    };
    let admission = invocation::judge(image, call, &program.object, argv)?;
    let sight = admit(image, call, (dirfd, path), program, scripts)?;
    can_carry_shim(image, call, path).map(|()| (admission, sight))
}

fn may_execute(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    decide::access(image, request, Capabilities::EXECUTE)
}

/// Pins the program at `path` if it may be executed.
#[inline(never)]
fn find(
    image: &Image<'_>,
    call: &CStr,
    dirfd: c_int,
    path: &[u8],
    stop_at_link: bool,
) -> Result<Executable, Errno> {
    let mut spelling = Spelling::new();
    spelling.read_own(dirfd, path)?;
    if is_absent(image, &spelling) {
        return Err(Errno::ENOENT);
    }
    let mut status = None;
    let object = if let Some(found) = follow(image, &mut spelling, &mut status, stop_at_link) {
        found?
    } else {
        spelling.read_own(dirfd, path)?;
        let flags = if stop_at_link { libc::O_NOFOLLOW } else { 0 };
        let object = resolve::pin_judged_far(image, call, &mut spelling, flags, may_execute)?;
        status = Some(sys::status(&object)?);
        object
    };
    let Some(status) = status else { return Err(Errno::EACCES) };
    let program = Executable::spelled(image, object, &status, &spelling);
    if !program.is_named {
        spelling.read_own(dirfd, path)?;
        judge_nameless(image, call, &spelling, &program.object)?;
    }
    Ok(program)
}

/// Like [`links::follow`], if a symlink at the end is to be followed.
#[cfg(target_os = "linux")]
fn follow(
    image: &Image<'_>,
    spelling: &mut Spelling,
    status: &mut Option<libc::stat>,
    stop_at_link: bool,
) -> Option<Result<Object, Errno>> {
    if stop_at_link { None } else { links::follow(image, spelling, status) }
}

/// macOS trusts no spelling.
#[cfg(target_os = "macos")]
const fn follow(
    _: &Image<'_>,
    _: &mut Spelling,
    _: &mut Option<libc::stat>,
    _: bool,
) -> Option<Result<Object, Errno>> {
    None
}

/// Whether the name is in a hidden area and does not exist. A search along `PATH` tries many such names, and none of
/// them is a denial to report.
fn is_absent(image: &Image<'_>, spelling: &Spelling) -> bool {
    let hidden = matches!(may_execute(image, &spelling.request()),
        Verdict::Deny(denial) if denial.hidden);
    hidden && leads_nowhere(spelling, 0)
}

#[inline(never)]
fn leads_nowhere(spelling: &Spelling, flags: c_int) -> bool {
    let Ok(mut path) = MmapBox::<PathBuffer>::blank() else { return false };
    matches!(
        resolve::pin_as_spelled(spelling, flags, &mut path),
        Err(Errno::ENOENT | Errno::ENOTDIR)
    )
}

/// Judges a file without a name. Its holder wrote it, so no rule covers it. If the file was removed while a prompt was
/// open, it is simply missing, and nobody is prompted again.
#[inline(never)]
fn judge_nameless(
    image: &Image<'_>,
    call: &CStr,
    spelling: &Spelling,
    program: &Object,
) -> Result<(), Errno> {
    // A symlink may have been put there since. The answer must not reveal where it leads.
    if leads_nowhere(spelling, libc::O_NOFOLLOW) {
        return Err(Errno::ENOENT);
    }
    let mut path = MmapBox::<PathBuffer>::blank()?;
    resolve::place_of(program, &mut path)?;
    let verdict = may_execute(image, &Request::canonical(path.as_bytes()));
    report::apply_verdict(image, verdict, Subject::new(call, path.as_bytes()))
}

/// Follows the program from its name to the file that the processor runs first. Denies files that cannot carry the
/// library (spec §13).
#[inline(never)]
fn admit(
    image: &Image<'_>,
    call: &CStr,
    named: (c_int, &[u8]),
    program: Executable,
    scripts: &mut Scripts,
) -> Result<Sight, Errno> {
    let mut program = program;
    // One buffer for all names, because the thread's stack is small.
    let mut next = Interpreter::new();
    for _ in 0..=SCRIPT_DEPTH {
        let reason = match program::inspect(&program, &mut next) {
            Ok(ExecutableKind::Script) => {
                scripts.add(image, &program, &next)?;
                let interpreter = next.c_str(0).to_bytes();
                program = find(image, call, libc::AT_FDCWD, interpreter, false)?;
                continue;
            }
            #[cfg(target_os = "linux")]
            Ok(ExecutableKind::Dynamic)
                if !image.holds_other_programs() && program.has_capabilities() =>
            {
                Reason::ShimUnreachable
            }
            #[cfg(target_os = "linux")]
            Ok(ExecutableKind::Dynamic) => {
                return loader::admit(image, call, next.as_bytes()).map(|()| Sight::Whole);
            }
            // The kernel starts only its own loader.
            #[cfg(target_os = "macos")]
            Ok(ExecutableKind::Dynamic) => return Ok(Sight::Whole),
            #[cfg(target_os = "macos")]
            Ok(ExecutableKind::Protected) => Reason::ShimUnreachable,
            // The supervisor gives the answer of `not_a_program`.
            Ok(ExecutableKind::Other) if image.is_learned_from() => return Ok(Sight::Outside),
            Ok(ExecutableKind::Other) => return Err(not_a_program(&program.object)),
            // The kernel confines it.
            Ok(ExecutableKind::Static) if image.holds_other_programs() => return Ok(Sight::Whole),
            // The supervisor judges the program that the loader will start.
            #[cfg(target_os = "linux")]
            Ok(ExecutableKind::Loader(_)) if image.holds_other_programs() => {
                return Ok(Sight::Outside);
            }
            Ok(ExecutableKind::Static | ExecutableKind::Loader(_)) => Reason::StaticProgram,
            Ok(ExecutableKind::Foreign) => Reason::ForeignProgram,
            // No layer can run this as a program.
            Err(errno) if !program.is_file => return Err(errno),
            // The kernel would run an unreadable file, but the library does not work in it, and its interpreter is
            // unknown.
            Err(Errno::EACCES | Errno::ENAMETOOLONG) if image.holds_other_programs() => {
                return Ok(Sight::Outside);
            }
            Err(Errno::EACCES) => Reason::ShimUnreachable,
            #[cfg(target_os = "linux")]
            Err(Errno::ENAMETOOLONG) => Reason::Loader,
            Err(errno) => return Err(errno),
        };
        let interpreter = next.c_str(0).to_bytes();
        let named = if interpreter.is_empty() { named } else { (libc::AT_FDCWD, interpreter) };
        return Err(refuse(image, call, &program.object, named, reason));
    }
    Err(Errno::ELOOP)
}

/// Denies a program. Names it by its place, or by its name if the place is unknown, as without `/proc`.
#[inline(never)]
fn refuse(
    image: &Image<'_>,
    call: &CStr,
    program: &Object,
    (dirfd, name): (c_int, &[u8]),
    reason: Reason,
) -> Errno {
    let Ok(mut path) = MmapBox::<PathBuffer>::blank() else { return Errno::ENOMEM };
    if resolve::place_of(program, &mut path).is_ok() {
        return report::refused(image, reason, Subject::new(call, path.as_bytes()));
    }
    let Ok(mut spelling) = MmapBox::<Spelling>::blank() else { return Errno::ENOMEM };
    if spelling.read_own(dirfd, name).is_err() {
        return Errno::EACCES;
    }
    spelling.collapse();
    report::refused(image, reason, Subject::new(call, spelling.lexical()))
}

/// The kernel's answer for a file that is neither script nor binary. The kernel is not asked, because an interpreter
/// registered for such files (`binfmt_misc`) would run unjudged.
fn not_a_program(file: &Object) -> Errno {
    sys::accessible(file, libc::X_OK).err().unwrap_or(Errno::ENOEXEC)
}

/// Whether the new program's loader will find the library and agree to preload it.
#[inline(never)]
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
