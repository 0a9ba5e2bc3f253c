//! Changes the length, mode, owner and times of files. Each change needs `update`, and acts on the object that was
//! judged.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::decide::{self, Request};
use jp_confine_engine::{Capabilities, config_mode, set_id};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid,
    chmodat, chownat, fchmod, fchown, fcntl_getfl, futimens, utimensat,
};
use rustix::io::Errno;

use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::record::usage::UseKind;
use crate::supervisor::resolve::Argument;
use crate::supervisor::resolve::object::{Object, ResolvedObject};
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::{HERE, limits, name_of};
use crate::sys::{actions, signals};

const UPDATE: Capabilities = Capabilities::UPDATE;
const DONE: CallResult = CallResult::Value(0);

/// The path of a call, where it starts, and its `AT_…` flags.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) dirfd: i32,
    pub(crate) path: u64,
    pub(crate) flags: i32,
}

/// The object of a call with a descriptor and a path.
pub(super) enum AttributeTarget<'a> {
    /// The object that a path leads to.
    Path(Argument<'a>),
    /// The object of a descriptor, with `AT_EMPTY_PATH`.
    Descriptor(Object),
}

impl<'a> AttributeTarget<'a> {
    /// Reads the arguments. `flags` are the `AT_…` flags.
    ///
    /// # Errors
    /// As [`Argument::read`].
    pub(super) fn read(task: &Task<'a>, dirfd: i32, path: u64, flags: i32) -> Result<Self, Errno> {
        Self::of_text(task, dirfd, task.caller.text(path)?, flags)
    }

    /// As [`Self::read`], but a null path may stand for an empty one.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn read_optional(
        task: &Task<'a>,
        dirfd: i32,
        path: u64,
        flags: i32,
    ) -> Result<Self, Errno> {
        if path == 0 && flags & libc::AT_EMPTY_PATH != 0 {
            return Self::of_text(task, dirfd, CString::default(), flags);
        }
        Self::read(task, dirfd, path, flags)
    }

    fn of_text(task: &Task<'a>, dirfd: i32, text: CString, flags: i32) -> Result<Self, Errno> {
        if flags & libc::AT_EMPTY_PATH == 0 || !text.is_empty() {
            return Argument::of_text(task.caller, dirfd, text).map(Self::Path);
        }
        let file = task.caller.object_at(dirfd)?;
        Object::of_descriptor(&task.caller, file).map(Self::Descriptor)
    }

    /// The pinned object, if the policy grants `update` on it.
    ///
    /// # Errors
    /// The kernel's errors, and `EACCES` or `ENOENT` if the policy denies it.
    pub(super) fn hold(self, task: &Task<'_>, flags: i32) -> Result<Object, Errno> {
        self.hold_for(task, flags, UPDATE)
    }

    /// As [`Self::hold`], but requires `need`.
    ///
    /// # Errors
    /// As [`Self::hold`].
    pub(super) fn hold_for(
        self,
        task: &Task<'_>,
        flags: i32,
        need: Capabilities,
    ) -> Result<Object, Errno> {
        let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
        match self {
            Self::Path(argument) => task.object(&argument, stops, need),
            Self::Descriptor(object) => judge(task, &object, need).map(|()| object),
        }
    }
}

impl AttributeTarget<'_> {
    /// As [`Self::hold`], for giving the object this mode.
    ///
    /// # Errors
    /// As [`Self::hold`].
    fn hold_for_mode(self, task: &Task<'_>, flags: i32, mode: u32) -> Result<Object, Errno> {
        let Self::Path(argument) = &self else { return self.hold(task, flags) };
        let Ok(ResolvedObject::Object(object)) =
            argument.find(flags & libc::AT_SYMLINK_NOFOLLOW != 0)
        else {
            return self.hold(task, flags);
        };
        let request = object.path().map(Request::canonical);
        let is_tried = config_mode::is_harmless(object.stat.st_mode, mode)
            && request.is_some_and(|it| config_mode::is_kept_by_list_alone(task.image(), &it));
        if is_tried { Ok(object) } else { self.hold(task, flags) }
    }
}

fn judge(task: &Task<'_>, object: &Object, need: Capabilities) -> Result<(), Errno> {
    let Some(path) = task.judged_path(object)? else { return Ok(()) };
    let is_writable = || is_writable(&object.file);
    let verdict = decide::opened(task.image(), &Request::canonical(path), need, is_writable);
    task.settle(verdict, Subject::new(path))?;
    task.learn(UseKind::Used, path, need);
    Ok(())
}

/// Whether a descriptor is open for writing.
fn is_writable(file: &OwnedFd) -> bool {
    let is_of = |flags: OFlags| matches!(flags & OFlags::RWMODE, OFlags::WRONLY | OFlags::RDWR);
    fcntl_getfl(file).is_ok_and(is_of)
}

/// Acts on a descriptor of the caller's, if its object may be updated.
pub(super) fn on_descriptor(
    task: &Task<'_>,
    fd: i32,
    act: impl FnOnce(&Object) -> Result<(), Errno>,
) -> Result<CallResult, Errno> {
    let file = task.caller.descriptor(fd)?;
    let object = Object::of_descriptor(&task.caller, file)?;
    let _acting = task.begin()?;
    judge(task, &object, UPDATE)?;
    act(&object).map(|()| DONE)
}

/// truncate(2).
pub(crate) fn truncate(task: &Task<'_>, path: u64, length: i64) -> Result<CallResult, Errno> {
    if length < 0 {
        return Err(Errno::INVAL);
    }
    let argument = task.argument(libc::AT_FDCWD, path)?;
    let limit = limits::file_size(task.caller.proc(), task.caller.tid())?;
    task.caller.confirm()?;
    let _acting = task.begin()?;
    let object = task.object(&argument, false, UPDATE)?;
    if length.unsigned_abs() > limit && object.stat.st_size < length {
        // The kernel reports this in two ways (truncate(2)).
        task.caller.confirm()?;
        signals::tell_of_length(task.caller.status()?.process, task.caller.tid());
        return Err(Errno::FBIG);
    }
    let name = CString::new(name_of(object.file.as_fd())).map_err(|_| Errno::ACCESS)?;
    // Waits for a process that has a lease on it.
    task.wait(|| actions::truncate(&name, length)).map(|()| DONE)
}

/// chmod(2), fchmodat(2), fchmodat2(2).
pub(crate) fn set_mode(
    task: &Task<'_>,
    At { dirfd, path, flags }: At,
    mode: u32,
) -> Result<CallResult, Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let target = AttributeTarget::read(task, dirfd, path, flags)?;
    let _acting = task.begin()?;
    let object = target.hold_for_mode(task, flags, mode)?;
    if object.kind() == FileType::Symlink {
        return Err(Errno::OPNOTSUPP);
    }
    check_mode(task, &object, mode)?;
    let mode = Mode::from_raw_mode(mode & 0o7777);
    chmodat(HERE, name_of(object.file.as_fd()), mode, AtFlags::empty()).map(|()| DONE)
}

/// fchmod(2).
pub(crate) fn set_mode_of(task: &Task<'_>, fd: i32, mode: u32) -> Result<CallResult, Errno> {
    on_descriptor(task, fd, |object| {
        check_mode(task, object, mode)?;
        fchmod(&object.file, Mode::from_raw_mode(mode & 0o7777))
    })
}

/// Denies set-user-ID and set-group-ID bits.
fn check_mode(task: &Task<'_>, object: &Object, mode: u32) -> Result<(), Errno> {
    if set_id::may_become(object.stat.st_mode, mode) {
        Ok(())
    } else {
        Err(refuse_bits(task, object))
    }
}

/// Reports an attempt to make a file run with another user's rights.
pub(super) fn refuse_bits(task: &Task<'_>, object: &Object) -> Errno {
    task.refused(Reason::SetId, Subject::new(object.path().unwrap_or(b"/")))
}

/// The owner to set. All bits set means unchanged.
fn owner(uid: u32, gid: u32) -> (Option<Uid>, Option<Gid>) {
    let uid = (uid != u32::MAX).then(|| Uid::from_raw(uid));
    let gid = (gid != u32::MAX).then(|| Gid::from_raw(gid));
    (uid, gid)
}

/// chown(2), lchown(2), fchownat(2).
pub(crate) fn set_owner(
    task: &Task<'_>,
    At { dirfd, path, flags }: At,
    (uid, gid): (u32, u32),
) -> Result<CallResult, Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    let target = AttributeTarget::read(task, dirfd, path, flags)?;
    let _acting = task.begin()?;
    let object = target.hold(task, flags)?;
    let (uid, gid) = owner(uid, gid);
    chownat(&object.file, "", uid, gid, AtFlags::EMPTY_PATH).map(|()| DONE)
}

/// fchown(2).
pub(crate) fn set_owner_of(
    task: &Task<'_>,
    fd: i32,
    uid: u32,
    gid: u32,
) -> Result<CallResult, Errno> {
    let (uid, gid) = owner(uid, gid);
    on_descriptor(task, fd, |object| fchown(&object.file, uid, gid))
}

/// The format of a call's times.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Two `struct timespec`.
    Nanoseconds,
    /// Two `struct timeval`.
    Microseconds,
    /// Two seconds: `struct utimbuf`.
    Seconds,
}

/// The times at `address`, or now without an address.
fn times(task: &Task<'_>, address: u64, unit: Unit) -> Result<Timestamps, Errno> {
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    if address == 0 {
        return Ok(Timestamps { last_access: now, last_modification: now });
    }
    let [access, modification] = match unit {
        Unit::Nanoseconds | Unit::Microseconds => {
            let [a, b, c, d] = task.caller.words(address)?.map(u64::cast_signed);
            [(a, b), (c, d)]
        }
        Unit::Seconds => task.caller.words(address)?.map(|seconds| (seconds.cast_signed(), 0)),
    };
    let time = |(tv_sec, fraction): (i64, i64)| match unit {
        Unit::Microseconds if !(0..1_000_000).contains(&fraction) => Err(Errno::INVAL),
        Unit::Microseconds => Ok(Timespec { tv_sec, tv_nsec: fraction * 1000 }),
        Unit::Nanoseconds | Unit::Seconds => Ok(Timespec { tv_sec, tv_nsec: fraction }),
    };
    Ok(Timestamps { last_access: time(access)?, last_modification: time(modification)? })
}

/// utime(2), utimes(2), futimesat(2), utimensat(2).
pub(crate) fn set_times(
    task: &Task<'_>,
    At { dirfd, path, flags }: At,
    (address, unit): (u64, Unit),
) -> Result<CallResult, Errno> {
    let times = times(task, address, unit)?;
    let is_omitted = |time: Timespec| time.tv_nsec == UTIME_OMIT;
    if is_omitted(times.last_access) && is_omitted(times.last_modification) {
        // Then the kernel ignores the path (utimensat(2)).
        return Ok(DONE);
    }
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::INVAL);
    }
    if path == 0 && dirfd != libc::AT_FDCWD {
        if flags != 0 {
            return Err(Errno::INVAL);
        }
        return on_descriptor(task, dirfd, |object| futimens(&object.file, &times));
    }
    let target = AttributeTarget::read(task, dirfd, path, flags)?;
    let _acting = task.begin()?;
    let object = target.hold(task, flags)?;
    if object.kind() == FileType::Symlink {
        return utimensat(&object.file, "", &times, AtFlags::EMPTY_PATH).map(|()| DONE);
    }
    utimensat(HERE, name_of(object.file.as_fd()), &times, AtFlags::empty()).map(|()| DONE)
}
