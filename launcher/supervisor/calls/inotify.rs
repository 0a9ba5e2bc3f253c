//! inotify(7): its events name a directory's entries and report uses of a file, so watching needs read.

use std::os::fd::AsFd as _;

use jp_confine_engine::Capabilities;
use rustix::fs::inotify;
use rustix::io::Errno;

use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::name_of;

/// `inotify_add_watch(2)`.
pub(crate) fn add(task: &Task<'_>, fd: i32, path: u64, mask: u32) -> Result<CallResult, Errno> {
    let queue = task.caller.descriptor(fd)?;
    let argument = task.argument(libc::AT_FDCWD, path)?;
    let _acting = task.begin()?;
    let flags = inotify::WatchFlags::from_bits_retain(mask);
    let stops = flags.contains(inotify::WatchFlags::DONT_FOLLOW);
    let object = task.object(&argument, stops, Capabilities::READ)?;
    // The link to the descriptor must be followed. Its target may itself be a symlink.
    let flags = flags - inotify::WatchFlags::DONT_FOLLOW;
    let watch = inotify::add_watch(queue, name_of(object.file.as_fd()), flags)?;
    Ok(CallResult::Value(watch.into()))
}
