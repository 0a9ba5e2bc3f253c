//! Creates and deletes directory entries. None of these calls follows a symlink at the end.

use std::ffi::CString;

use jp_confine_engine::changes::{self, Pinned, may_create};
use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry::{self, Change};
use jp_confine_engine::report_protocol::{PRIVATE_DIRECTORY, is_private_directory};
use jp_confine_engine::set_id;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, mkdirat, mknodat, openat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::PinnedEntry;
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;

/// Pins the directory of an entry, has `judge` decide, and lets `act` do it there.
fn on_entry(
    task: &Task<'_>,
    argument: &Argument<'_>,
    kind: Change,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    act: impl FnOnce(&PinnedEntry) -> Result<(), Errno>,
) -> Result<CallResult, Errno> {
    let entry = pin(task, argument, kind, &judge)?;
    changes::settle_entry(task, &entry, &judge)?;
    change(task, &entry, judge, act)
}

/// Pins the directory of an entry that `judge` decides about.
pub(super) fn pin(
    task: &Task<'_>,
    argument: &Argument<'_>,
    kind: Change,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<PinnedEntry, Errno> {
    match argument.entry() {
        Ok(Some(entry)) => Ok(entry),
        Ok(None) => Err(no_entry::error(task, &argument, kind)),
        Err(errno) => Err(task.nowhere(argument, judge, errno)),
    }
}

/// Changes an entry with `act`.
fn change(
    task: &Task<'_>,
    entry: &PinnedEntry,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
    act: impl FnOnce(&PinnedEntry) -> Result<(), Errno>,
) -> Result<CallResult, Errno> {
    task.learn_link(entry);
    let outcome = act(entry);
    task.learn_link(entry);
    task.learn_change(outcome, Subject::by_route(&entry.path, &entry.route), judge);
    outcome.map(|()| CallResult::Value(0))
}

impl Pinned for PinnedEntry {
    type Error = Errno;

    fn request(&self) -> Request<'_> {
        Self::request(self)
    }

    fn find(&self) -> Result<(), Errno> {
        let name = self.name.to_bytes();
        let name = name.strip_suffix(b"/").unwrap_or(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.directory, name, flags, Mode::empty()).map(|_| ())
    }

    fn is_directory(&self) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.directory, &self.name, flags, Mode::empty()).is_ok()
    }

    fn is_symlink(&self) -> bool {
        statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
    }
}

/// mkdir(2), mkdirat(2).
pub(crate) fn make_directory(
    task: &Task<'_>,
    (dirfd, path): (i32, u64),
    mode: u32,
) -> Result<CallResult, Errno> {
    let argument = task.argument(dirfd, path)?;
    let _acting = task.begin()?;
    let private = PRIVATE_DIRECTORY.to_str().unwrap_or(task.call);
    let call = if is_private_directory(mode) { private } else { task.call };
    on_entry(&task.called(call), &argument, Change::Create, decide::make_directory, |entry| {
        task.prepare_to_make()?;
        mkdirat(&entry.directory, &entry.name, Mode::from_raw_mode(set_id::of_new(mode)))
    })
}

/// mknod(2), mknodat(2).
pub(crate) fn make_node(
    task: &Task<'_>,
    (dirfd, path): (i32, u64),
    mode: u32,
    device: u64,
) -> Result<CallResult, Errno> {
    let argument = task.argument(dirfd, path)?;
    let _acting = task.begin()?;
    // A device node bypasses every path rule. 0:0 is the whiteout of overlay filesystems.
    let kind = match mode & libc::S_IFMT {
        libc::S_IFBLK => return Err(refuse_device(task, &argument)),
        libc::S_IFCHR if device != 0 => return Err(refuse_device(task, &argument)),
        0 => FileType::RegularFile,
        _ => FileType::from_raw_mode(mode),
    };
    on_entry(task, &argument, Change::Create, may_create, |entry| {
        task.prepare_to_make()?;
        let mode = Mode::from_raw_mode(set_id::of_new(mode & !libc::S_IFMT));
        mknodat(&entry.directory, &entry.name, kind, mode, device)
    })
}

/// Reports it. Returns the kernel's errno for a process that may not create devices.
fn refuse_device(task: &Task<'_>, argument: &Argument<'_>) -> Errno {
    let path = match task.spelled(argument) {
        Ok(path) => path,
        Err(unknown) => return unknown,
    };
    task.refused(Reason::Namespace, Subject::new(&path));
    Errno::PERM
}

/// symlink(2), symlinkat(2).
pub(crate) fn make_symlink(
    task: &Task<'_>,
    target: u64,
    (dirfd, path): (i32, u64),
) -> Result<CallResult, Errno> {
    let target = task.caller.text(target)?;
    if target.is_empty() {
        return Err(Errno::NOENT);
    }
    let argument = task.argument(dirfd, path)?;
    let _acting = task.begin()?;
    let judge = |image: &Image<'_>, entry: &Request<'_>| {
        decide::symlink(image, entry, || target.as_bytes())
    };
    on_entry(task, &argument, Change::Create, judge, |entry| {
        symlinkat(&target, &entry.directory, &entry.name)?;
        task.policy.generation.advance();
        Ok(())
    })
}

/// unlink(2), rmdir(2), unlinkat(2).
pub(crate) fn remove(
    task: &Task<'_>,
    (dirfd, path): (i32, u64),
    flags: i32,
) -> Result<CallResult, Errno> {
    if flags & !libc::AT_REMOVEDIR != 0 {
        return Err(Errno::INVAL);
    }
    let argument = task.argument(dirfd, path)?;
    let _acting = task.begin()?;
    let directory = flags & libc::AT_REMOVEDIR != 0;
    let kind = if directory { Change::RemoveDirectory } else { Change::Remove };
    let judge = if directory { decide::remove_directory } else { decide::remove };
    on_entry(task, &argument, kind, judge, |entry| {
        let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        unlinkat(&entry.directory, &entry.name, flags)?;
        if directory {
            task.policy.generation.advance();
        }
        Ok(())
    })
}

/// Creates a unix socket's entry with `act`.
pub(super) fn make_socket(
    task: &Task<'_>,
    argument: &Argument<'_>,
    act: impl FnOnce(&PinnedEntry) -> Result<(), Errno>,
) -> Result<CallResult, Errno> {
    let entry = pin(task, argument, Change::Bind, may_create)?;
    changes::settle_socket(task, &entry.request())?;
    change(task, &entry, may_create, |entry| {
        task.prepare_to_make()?;
        act(entry)
    })
}

/// The bytes of a path inside an address, up to a NUL.
pub(super) fn path_text(bytes: &[u8]) -> Option<CString> {
    let text = bytes.split(|&byte| byte == 0).next().filter(|text| !text.is_empty())?;
    CString::new(text).ok()
}
