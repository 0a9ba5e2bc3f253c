//! link(2): the object that gets a second name is pinned, so that no other can take its place.

use std::os::fd::AsFd as _;

use jp_confine_engine::Capabilities;
use jp_confine_engine::changes::{self, may_create};
use jp_confine_engine::decide;
use jp_confine_engine::no_entry::Change;
use rustix::fs::{AtFlags, FileType, linkat};
use rustix::io::Errno;

use super::entries::pin;
use crate::record::usage::UseKind;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::Object;
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
        Old::Path(argument) => {
            let stops = flags & libc::AT_SYMLINK_FOLLOW == 0;
            task.object_judged(&argument, stops, decide::metadata)?
        }
    };
    let entry = pin(task, &new, Change::Create, may_create)?;
    let path = task.judged_path(&object)?;
    let is_symlink = object.kind() == FileType::Symlink;
    changes::settle_link(task, path.map(|path| (path, is_symlink)), &entry)?;
    let name = name_of(object.file.as_fd());
    let outcome = linkat(HERE, name, &entry.directory, &entry.name, AtFlags::SYMLINK_FOLLOW);
    if is_symlink {
        task.policy.generation.advance();
    }
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
