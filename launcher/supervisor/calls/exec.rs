//! execve(2): judges the program, interpreter and loader as the kernel will find them, without views. Then the caller
//! makes the call itself, because nobody else can make it. A caller that changes the path or the arguments meanwhile is
//! still limited to programs that Landlock allows. A prompt leaves much time for that. So after a yes, everything is
//! looked up and judged again.

use std::ffi::{CString, OsStr};
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::executable::ExecutableKind;
use jp_confine_engine::image::Image;
use jp_confine_engine::invocation::{self, Invocation};
use jp_confine_engine::{Capabilities, report_protocol};
use rustix::fs::{Access, AtFlags, FileType, OFlags, accessat};
use rustix::io::Errno;

use super::loaders;
use crate::prompt::during_run::FileIdentity;
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::record::usage::UseKind;
use crate::supervisor::arguments;
use crate::supervisor::caller::Caller;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::{Object, ResolvedObject};
use crate::supervisor::task::Task;
use crate::sys::executable;
use crate::sys::notification::CallResult;
use crate::sys::proc::{HERE, name_of};

/// How many `#!` lines the kernel follows (`exec_binprm` in fs/exec.c).
const SCRIPT_DEPTH: u32 = 5;

/// execve(2), execveat(2). The first program was typed with its arguments, so rules about programs do not apply to it.
/// If the program is the one found at the start, no prompt is needed either.
pub(crate) fn execute(
    task: &Task<'_>,
    dirfd: i32,
    path: u64,
    given: Given,
    flags: i32,
) -> Result<CallResult, Errno> {
    let begun = &task.policy.begun;
    let is_typed = !begun.load(Ordering::Acquire);
    let is_judged = invocation::is_limited(task.image()) && !is_typed;
    let typed = task.policy.consent.about().typed.as_deref().filter(|_| is_typed);
    let judge = |image: &Image<'_>, request: &Request<'_>| may_execute_typed(image, request, typed);
    loop {
        let consents = task.consents();
        let words = if is_judged { Some(arguments::read(&task.caller, given.argv)?) } else { None };
        let image = start(task, dirfd, path, (words.as_deref(), &judge, given), flags)?;
        if task.consents() == consents {
            task.begin_start(&image);
            begun.store(true, Ordering::Release);
            return Ok(CallResult::Continue);
        }
    }
}

/// The addresses of the new program's arguments and environment in the caller's memory.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) argv: u64,
    pub(crate) envp: u64,
}

/// Decides whether a program may be executed.
type Judge<'j> = &'j dyn Fn(&Image<'_>, &Request<'_>) -> Verdict;

/// Judges a program, and its arguments if rules may be about them. Returns the binary that the kernel executes.
fn start(
    task: &Task<'_>,
    dirfd: i32,
    path: u64,
    (words, judge, given): (Option<&[Vec<u8>]>, Judge<'_>, Given),
    flags: i32,
) -> Result<Object, Errno> {
    if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_NOFOLLOW) != 0 {
        return Err(Errno::INVAL);
    }
    let text = task.caller.text(path)?;
    let held = text.is_empty() && flags & libc::AT_EMPTY_PATH != 0;
    if held {
        if dirfd == libc::AT_FDCWD {
            return Err(Errno::ACCESS);
        }
        let object = Object::of_descriptor(&task.caller, task.caller.object(dirfd)?)?;
        let _acting = task.begin()?;
        if let Some(path) = task.judged_path(&object)? {
            let subject = Subject::new(path).holding(FileIdentity::from(&object.stat));
            task.settle(may_execute(task.image(), &subject.request()), subject)?;
            task.learn(UseKind::Used, path, Capabilities::EXECUTE);
        }
        judge_words(task, &object, words)?;
        judge_place(task, &object)?;
        return admit(task, object, given);
    }
    let argument = Argument::of_text(task.caller.without_views(), dirfd, text)?;
    let _acting = task.begin()?;
    let object = find(task, &argument, flags & libc::AT_SYMLINK_NOFOLLOW != 0, judge)?;
    judge_words(task, &object, words)?;
    judge_place(task, &object)?;
    admit(task, object, given)
}

/// Reports a program in a place where Landlock lets none start. Otherwise the caller's own call would fail without any
/// report.
fn judge_place(task: &Task<'_>, program: &Object) -> Result<(), Errno> {
    let (Some(starts), Some(path)) = (&task.policy.starts, program.path()) else { return Ok(()) };
    let place = Path::new(OsStr::from_bytes(path));
    if starts.iter().any(|start| start.holds(place)) {
        return Ok(());
    }
    Err(task.refused(Reason::MadeLater, Subject::new(path)))
}

/// Whether the rules about programs allow these arguments (spec §11.3).
fn judge_words(task: &Task<'_>, program: &Object, words: Option<&[Vec<u8>]>) -> Result<(), Errno> {
    let Some(words) = words else { return Ok(()) };
    let (called, arguments) =
        words.split_first().map_or((&[][..], &[][..]), |(first, rest)| (first.as_slice(), rest));
    let path = program.path().unwrap_or_default();
    let invocation = Invocation { program: path, called, arguments: arguments.len() };
    let mut is = |place: usize, word: &[u8]| arguments.get(place).is_some_and(|it| it == word);
    if invocation::judge(task.image(), &invocation, &mut is).is_ok() {
        return Ok(());
    }
    let line = words.iter().flat_map(|word| word.iter().copied().chain([0]));
    let line: Vec<u8> = line.take(report_protocol::MAX_COMMAND_LINE).collect();
    Err(task.refused(Reason::Command, Subject::by_route(path, &line)))
}

pub(super) fn may_execute(image: &Image<'_>, request: &Request<'_>) -> Verdict {
    decide::access(image, request, Capabilities::EXECUTE)
}

/// As [`may_execute`], but typing the program counts as consent to the file at the path `typed`. If the name leads
/// elsewhere by now, that is another program.
fn may_execute_typed(image: &Image<'_>, request: &Request<'_>, typed: Option<&Path>) -> Verdict {
    let is_meant = typed.is_some_and(|typed| typed.as_os_str().as_bytes() == request.path);
    if is_meant { may_execute(image, &request.consented()) } else { may_execute(image, request) }
}

pub(super) fn find(
    task: &Task<'_>,
    argument: &Argument<'_>,
    stops: bool,
    judge: Judge<'_>,
) -> Result<Object, Errno> {
    if is_absent(task, argument) {
        return Err(Errno::NOENT);
    }
    task.object_judged(argument, stops, judge)
}

/// Whether it is a missing name in a hidden area. A search along `PATH` tries many of those, so they are not reported.
fn is_absent(task: &Task<'_>, argument: &Argument<'_>) -> bool {
    let Ok(path) = task.spelled(argument) else { return false };
    matches!(may_execute(task.image(), &Request::canonical(&path)),
        Verdict::Deny(denial) if denial.hidden)
        && !matches!(argument.find(false), Ok(ResolvedObject::Object(_)))
}

/// Follows the program to the binary that the kernel executes.
fn admit(task: &Task<'_>, program: Object, given: Given) -> Result<Object, Errno> {
    let mut program = program;
    for scripts in 0..=SCRIPT_DEPTH {
        let (kind, next) = inspect(task, &program)?;
        match kind {
            ExecutableKind::Script => {
                let argument = named(task.caller.without_views(), next)?;
                program = find(task, &argument, false, &may_execute)?;
            }
            ExecutableKind::Dynamic => return admit_loader(task, next).map(|()| program),
            ExecutableKind::Static => return Ok(program),
            ExecutableKind::Loader(libc) => {
                let words = (scripts == 0).then_some(given);
                return loaders::judge(task, &program, libc, words).map(|()| program);
            }
            ExecutableKind::Foreign => {
                let path = program.path().unwrap_or_default();
                return Err(task.refused(Reason::Foreign, Subject::new(path)));
            }
            ExecutableKind::Other => return Err(not_a_program(&program)),
        }
    }
    Err(Errno::LOOP)
}

fn inspect(task: &Task<'_>, program: &Object) -> Result<(ExecutableKind, Vec<u8>), Errno> {
    match program.kind() {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Err(Errno::ACCESS),
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = match task.caller.proc().reopen(program.file.as_fd(), flags) {
        Err(Errno::ACCESS) if may_be_started(program).is_ok() => {
            let path = program.path().unwrap_or_default();
            return Err(task.refused(Reason::Unreadable, Subject::new(path)));
        }
        file => file?,
    };
    executable::inspect(file)
}

/// A program that another program names. An empty path means the working directory, as in the kernel.
pub(super) fn named(caller: Caller<'_>, path: Vec<u8>) -> Result<Argument<'_>, Errno> {
    let path = if path.is_empty() { b".".to_vec() } else { path };
    let path = CString::new(path).map_err(|_| Errno::NOEXEC)?;
    let argument = Argument::of_text(caller, libc::AT_FDCWD, path)?;
    caller.confirm()?;
    Ok(argument)
}

/// Judges the loader that the program names as a program, nothing more. With a supervisor, programs without the library
/// are confined as well.
fn admit_loader(task: &Task<'_>, path: Vec<u8>) -> Result<(), Errno> {
    let argument = named(task.caller.without_views(), path)?;
    let found = argument.find(false)?;
    let ResolvedObject::Object(loader) = found else {
        return Err(Errno::NOENT);
    };
    let path = loader.path().ok_or(Errno::ACCESS)?;
    let route = loader.route(&argument);
    let subject = Subject::by_route(path, &route);
    match may_execute(task.image(), &subject.request()) {
        Verdict::Allow => Ok(()),
        Verdict::Deny(_) => Err(task.refused(Reason::Loader, subject)),
    }
}

/// The kernel's errno for a file that is neither a script nor a binary. The kernel is not asked, because an interpreter
/// registered for such files (`binfmt_misc`) would run unjudged.
fn not_a_program(file: &Object) -> Errno {
    may_be_started(file).err().unwrap_or(Errno::NOEXEC)
}

/// Whether the caller has execute permission on the file, whatever it contains.
fn may_be_started(file: &Object) -> Result<(), Errno> {
    accessat(HERE, name_of(file.file.as_fd()), Access::EXEC_OK, AtFlags::EACCESS)
}

#[cfg(test)]
mod tests {
    use jp_confine_engine::build::{Grant, GrantKind, Origin};
    use jp_confine_engine::file_policy::FilePolicy;
    use jp_confine_engine::pattern::Places;
    use jp_confine_engine::tiers::Tiers;

    use super::*;

    /// Typing a name is no consent to another program that it leads to later, whether or not that needs a prompt.
    #[test]
    fn typing_is_consent_to_what_was_there() {
        let workspace = Path::new("/w");
        let places = Places::without_home(workspace);
        let prompt_paths = vec!["<workspace>/asked/*".to_owned()];
        let policy = FilePolicy { prompt_paths, ..FilePolicy::default() };
        let tiers = Tiers::new(&policy, Some(&[]), places).expect("patterns");
        let origin = Origin::Flag { text: String::new() };
        let all = Grant::new("/w".into(), Capabilities::ALL, GrantKind::Plain, origin);
        let paths = ["/w/asked/a", "/w/asked/b", "/w/plain"];
        let of = paths.map(Path::new);
        let image = crate::compile::image::image_over(&[all], Some(&tiers), &of, workspace)
            .expect("an image");
        let image = crate::compile::image::parse_image(&image).expect("an image");
        let allowed = |typed: Option<&str>| {
            paths.map(|path| {
                let request = Request::canonical(path.as_bytes());
                may_execute_typed(&image, &request, typed.map(Path::new)) == Verdict::Allow
            })
        };
        assert_eq!(allowed(Some("/w/asked/a")), [true, false, true]);
        assert_eq!(allowed(Some("/w/plain")), [false, false, true]);
        assert_eq!(allowed(None), [false, false, true]);
    }
}
