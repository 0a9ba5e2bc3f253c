//! Running programs: judged, able to carry the shim, and with an environment that does.
//!
//! Safe in a `vfork` child: everything is on the stack, and no static changes.

mod environment;
mod handle;
mod program;
pub(crate) mod reader;
mod scratch;
pub(crate) mod search;
pub(crate) mod shell;

use core::ffi::{CStr, c_char, c_int};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::{Image, Text};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::places::DescriptorLink;
use crate::report::{self, Reason, Subject};
use crate::sys::process::{self, Strings};
use crate::sys::{self, Fd};
use crate::{memory, resolve, session};
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
    let image = match session::image() {
        Ok(image) => image,
        Err(errno) => return errno,
    };
    let mut text = PathBuffer::new();
    match prepare(image, call, dirfd, path, flags, &mut text) {
        Ok(()) => environment::with_repaired(image, envp, |envp| {
            process::execute(dirfd, text.c_str(0), argv, envp, flags)
        }),
        Err(errno) => errno,
    }
}

/// Judges the program. Its path ends up in `text` as the program spelled it, for the kernel: a
/// script and the process list show that spelling.
#[inline(never)]
fn prepare(
    image: &Image<'_>,
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    text: &mut PathBuffer,
) -> Result<(), Errno> {
    if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) != 0 {
        return Err(Errno::EINVAL);
    }
    memory::copy_path(path, text)?;
    let program = if text.len() > 0 {
        find(image, call, dirfd, text.as_bytes(), flags & libc::AT_SYMLINK_NOFOLLOW != 0)?
    } else if flags & libc::AT_EMPTY_PATH != 0 {
        held(image, call, dirfd)?
    } else {
        return Err(Errno::ENOENT);
    };
    admit(image, call, program)?;
    can_carry_shim(image, call, text.as_bytes())
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
) -> Result<Fd, Errno> {
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
fn judge_unnamed(image: &Image<'_>, call: &CStr, program: &Fd) -> Result<(), Errno> {
    if sys::fstat(program.raw())?.st_nlink > 0 {
        return Ok(());
    }
    let mut path = PathBuffer::new();
    resolve::locate(program.raw(), &mut path)?;
    let verdict = may_execute(image, &Request::canonical(path.as_bytes()));
    report::settle(image, verdict, Subject::new(call, path.as_bytes()))
}

/// The program that the descriptor itself denotes (fexecve(3)).
fn held(image: &Image<'_>, call: &CStr, fd: c_int) -> Result<Fd, Errno> {
    sys::fcntl(fd, libc::F_GETFD, 0)?;
    let link = DescriptorLink::new(fd);
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let program = sys::openat(libc::AT_FDCWD, link.as_c_str(), flags, 0)?;
    let mut path = PathBuffer::new();
    resolve::locate(program.raw(), &mut path)?;
    let verdict = may_execute(image, &Request::canonical(path.as_bytes()));
    report::settle(image, verdict, Subject::new(call, path.as_bytes()))?;
    Ok(program)
}

/// Follows the program to what the processor will run first, and refuses what cannot carry the
/// shim (spec §13).
fn admit(image: &Image<'_>, call: &CStr, program: Fd) -> Result<(), Errno> {
    let mut program = program;
    for _ in 0..=SCRIPT_DEPTH {
        let mut next = PathBuffer::new();
        let reason = match program::inspect(&program, &mut next) {
            Ok(Kind::Script) => {
                program = find(image, call, libc::AT_FDCWD, next.as_bytes(), false)?;
                continue;
            }
            Ok(Kind::Dynamic) => return admit_loader(image, call, next.as_bytes()),
            Ok(Kind::Other) => return not_a_program(&program),
            Ok(Kind::Static) => Reason::StaticProgram,
            Ok(Kind::Foreign) => Reason::ForeignProgram,
            // No program for anybody.
            Err(Errno::EACCES) if !program::is_file(&program) => return Err(Errno::EACCES),
            // The kernel would run what nobody may read, but the shim does not work in it.
            Err(Errno::EACCES) => Reason::ShimUnreachable,
            Err(errno) => return Err(errno),
        };
        let mut path = PathBuffer::new();
        resolve::locate(program.raw(), &mut path)?;
        return Err(report::refused(image, reason, Subject::new(call, path.as_bytes())));
    }
    Err(Errno::ELOOP)
}

/// The loader that the program names must be the system's: it is what brings the shim in.
fn admit_loader(image: &Image<'_>, call: &CStr, path: &[u8]) -> Result<(), Errno> {
    let mut spelling = Spelling::new();
    spelling.read_own(libc::AT_FDCWD, path)?;
    resolve::expand_alias(image, &mut spelling, true)?;
    let (root, path) = spelling.rooted();
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    if spelling.is_lexical()
        && decide::loader(image, &spelling.request()) == Verdict::Allow
        && sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS).is_ok()
    {
        return Ok(());
    }
    let mut place = PathBuffer::new();
    resolve::pin(&spelling, 0, &mut place)?;
    let request = Request { path: place.as_bytes(), route: spelling.lexical() };
    match decide::loader(image, &request) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(_) => {
            let subject = Subject { call, path: request.path, route: request.route };
            Err(report::refused(image, Reason::Loader, subject))
        }
    }
}

/// Neither a script nor a binary: what the kernel answers, without asking it, because an
/// interpreter registered for such files (`binfmt_misc`) would run unjudged.
fn not_a_program(file: &Fd) -> Result<(), Errno> {
    process::accessible(DescriptorLink::new(file.raw()).as_c_str(), libc::X_OK)?;
    Err(Errno::ENOEXEC)
}

/// Whether the loader of the new program will find the shim, and not refuse to preload it.
fn can_carry_shim(image: &Image<'_>, call: &CStr, path: &[u8]) -> Result<(), Errno> {
    let mut shim = PathBuffer::new();
    shim.push(image.text(Text::ShimPath))?;
    if shim.len() > 0
        && process::accessible(shim.c_str(0), libc::R_OK).is_ok()
        && !process::has_borrowed_identity()
    {
        return Ok(());
    }
    Err(report::refused(image, Reason::ShimUnreachable, Subject::new(call, path)))
}
