//! link(2): the object that gets a second name is pinned, so that no other can take its place.

use std::os::fd::AsFd as _;

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::{Capabilities, existing};
use rustix::fs::{AtFlags, FileType, linkat};
use rustix::io::Errno;

use super::entries::{exists, is_making_what_exists, may_create, no_entry};
use crate::prompt::during_run::subject::Subject;
use crate::record::usage::UseKind;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::{Object, PinnedEntry, ResolvedObject};
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::{HERE, name_of};

/// The object that gets another name.
enum Old<'a> {
    Descriptor(Object),
    Path(Argument<'a>),
}

/// link(2), linkat(2).
pub(crate) fn make_link(
    task: &Task<'_>,
    (olddirfd, old): (i32, u64),
    (newdirfd, new): (i32, u64),
    flags: i32,
) -> Result<CallResult, Errno> {
    if flags & !(libc::AT_EMPTY_PATH | libc::AT_SYMLINK_FOLLOW) != 0 {
        return Err(Errno::INVAL);
    }
    let text = task.caller.text(old)?;
    let old = if text.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
        let object = task.caller.object_at(olddirfd)?;
        Old::Descriptor(Object::of_descriptor(&task.caller, object)?)
    } else {
        Old::Path(Argument::of_text(task.caller, olddirfd, text)?)
    };
    let new = task.argument(newdirfd, new)?;
    let _acting = task.begin()?;
    let object = match old {
        Old::Descriptor(object) => object,
        Old::Path(argument) => find(task, &argument, flags & libc::AT_SYMLINK_FOLLOW == 0)?,
    };
    let entry = match new.entry() {
        Ok(Some(entry)) => entry,
        Ok(None) => return Err(no_entry(task, &new, Errno::EXIST)),
        Err(errno) => return Err(task.nowhere(&new, may_create, errno)),
    };
    let path = task.judged_path(&object)?;
    settle(task, path, object.kind(), &entry)?;
    let name = name_of(object.file.as_fd());
    let outcome = linkat(HERE, name, &entry.directory, &entry.name, AtFlags::SYMLINK_FOLLOW);
    task.learn_link(&entry);
    match (outcome, path) {
        (Err(Errno::EXIST), _) => task.learn(UseKind::Existed, &entry.path, Capabilities::CREATE),
        (_, Some(path)) => {
            task.learn_pair(UseKind::Linked, path, &entry.path, Capabilities::CREATE);
        }
        (_, None) => task.learn(UseKind::Made, &entry.path, Capabilities::CREATE),
    }
    outcome.map(|()| CallResult::Value(0))
}

/// Whether an object may get the name `entry`. It is judged by its path, if it has one.
///
/// # Errors
/// `EEXIST` if that name exists and the caller may know.
fn settle(
    task: &Task<'_>,
    path: Option<&[u8]>,
    kind: FileType,
    entry: &PinnedEntry,
) -> Result<(), Errno> {
    let (image, target) = (task.image(), entry.request());
    let Some(path) = path else {
        let verdict = may_create(image, &target);
        if is_making_what_exists(image, verdict, entry) {
            return Err(Errno::EXIST);
        }
        return task.settle(verdict, Subject::new(&entry.path));
    };
    let source = Request::canonical(path);
    let verdict = match kind {
        FileType::Symlink => decide::link_symlink(image, &source, &target),
        _ => decide::link(image, &source, &target),
    };
    if verdict != Verdict::Allow && existing::shows(image, &target) && exists(entry) {
        refuse_hidden(task, &source)?;
        return Err(Errno::EXIST);
    }
    if verdict != Verdict::Allow {
        refuse_by_spelling(task, &target, may_create)?;
    }
    settle_pair(task, verdict, (&source, &target), Capabilities::NONE)
}

/// Denies access that the spelling of one end denies to everybody.
pub(super) fn refuse_by_spelling(
    task: &Task<'_>,
    end: &Request<'_>,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<(), Errno> {
    let verdict = decide::kept_by_spelling(task.image(), end, judge);
    task.settle(verdict, Subject::by_route(end.path, end.route))
}

/// Denies moving a hidden object onto one that stays, because a hidden object must look absent. The kernel looks for it
/// first.
pub(super) fn refuse_hidden(task: &Task<'_>, source: &Request<'_>) -> Result<(), Errno> {
    let verdict = decide::metadata(task.image(), source);
    task.settle(verdict, Subject::by_route(source.path, source.route))
}

fn find(task: &Task<'_>, argument: &Argument<'_>, stops: bool) -> Result<Object, Errno> {
    match argument.find(stops) {
        Ok(ResolvedObject::Object(object)) => Ok(object),
        Ok(ResolvedObject::Missing(_)) => {
            Err(task.nowhere(argument, decide::metadata, Errno::NOENT))
        }
        Err(errno) => Err(task.nowhere(argument, decide::metadata, errno)),
    }
}

/// Reports a denial for the path that it is about, along with the other path. Or asks a person, about both paths if
/// `also` is wanted at the other.
pub(super) fn settle_pair(
    task: &Task<'_>,
    verdict: Verdict,
    pair: (&Request<'_>, &Request<'_>),
    also: Capabilities,
) -> Result<(), Errno> {
    settle_pair_changing(task, verdict, pair, also, "")
}

/// As [`settle_pair`], with `changes` to a Git configuration.
pub(super) fn settle_pair_changing(
    task: &Task<'_>,
    verdict: Verdict,
    (first, second): (&Request<'_>, &Request<'_>),
    also: Capabilities,
    changes: &str,
) -> Result<(), Errno> {
    let Verdict::Deny(denial) = verdict else { return Ok(()) };
    let (about, other) = if denial.second { (second, first) } else { (first, second) };
    let subject = Subject::by_route(about.path, about.route);
    let subject = Subject { other: other.path, also, changes, ..subject };
    task.settle(verdict, subject)
}
