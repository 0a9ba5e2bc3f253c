//! Handles the `open` family.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use jp_confine_engine::decide::{self, OpenRequest, OpenVerdict, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry::{self, Change};
use jp_confine_engine::{Capabilities, device, report_protocol, set_id};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::io::Errno;

use super::{git_links, terminals};
use crate::prompt::during_run::subject::Subject;
use crate::record::usage::UseKind;
use crate::supervisor::descriptor_slot;
use crate::supervisor::resolve::object::{Object, PinnedEntry, ResolvedObject};
use crate::supervisor::resolve::{Argument, HELD_ENTRY};
use crate::supervisor::task::Task;
use crate::sys::notification::CallResult;
use crate::sys::proc::HERE;

/// The flags with a meaning. open(2) ignores others.
const KNOWN: i32 = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_NOCTTY
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_NONBLOCK
    | libc::O_SYNC
    | libc::O_ASYNC
    | libc::O_DIRECT
    | libc::O_DIRECTORY
    | libc::O_NOFOLLOW
    | libc::O_NOATIME
    | libc::O_CLOEXEC
    | libc::O_PATH
    | libc::O_TMPFILE;

/// Those with a meaning besides `O_PATH`.
const KNOWN_WITH_PATH: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// How often a name may appear and disappear between two lookups.
const PATIENCE: u32 = 40;

/// The flags and mode of the caller's open.
#[derive(Clone, Copy)]
pub(crate) struct OpenArguments {
    flags: i32,
    mode: u32,
}

impl OpenArguments {
    pub(crate) const fn new(flags: i32, mode: u32) -> Self {
        let known = if flags & libc::O_PATH == 0 { KNOWN } else { KNOWN_WITH_PATH };
        Self { flags: flags & known, mode: set_id::of_new(mode & 0o7777) }
    }

    pub(crate) const fn flags(self) -> i32 {
        self.flags
    }

    /// The mode of a file that it creates.
    pub(super) const fn mode(self) -> Mode {
        Mode::from_raw_mode(self.mode)
    }

    pub(crate) const fn has(self, flag: i32) -> bool {
        self.flags & flag == flag
    }

    pub(crate) const fn with(self, flag: i32) -> Self {
        Self { flags: self.flags | flag, ..self }
    }

    pub(crate) const fn without(self, flag: i32) -> Self {
        Self { flags: self.flags & !flag, ..self }
    }

    pub(crate) const fn exclusive(self) -> bool {
        self.has(libc::O_CREAT | libc::O_EXCL)
    }

    /// Rejects incompatible flags, whatever the path is.
    pub(super) const fn check(self) -> Result<(), Errno> {
        let unnamed = self.has(libc::O_TMPFILE);
        let reads_only = self.flags & libc::O_ACCMODE == libc::O_RDONLY;
        let makes_directory = self.has(libc::O_CREAT | libc::O_DIRECTORY);
        if (unnamed && reads_only) || makes_directory { Err(Errno::INVAL) } else { Ok(()) }
    }

    /// Whether it may create or truncate a file.
    pub(super) const fn changes(self) -> bool {
        self.has(libc::O_CREAT) || self.has(libc::O_TRUNC) || self.has(libc::O_TMPFILE)
    }

    /// Whether a symlink at the end of the path is not followed.
    pub(crate) const fn stops_at_link(self) -> bool {
        self.has(libc::O_NOFOLLOW) || self.exclusive()
    }

    /// The open as the policy judges it.
    const fn request(self) -> OpenRequest {
        OpenRequest::of_flags(self.flags)
    }

    /// The rights needed on an existing object.
    pub(super) fn need_on_existing(self) -> Capabilities {
        self.request().need_on_existing()
    }

    /// The rights needed by an open that may create a file, including those it would need if the file existed.
    pub(super) fn need_to_make(self) -> Capabilities {
        let existing = if self.exclusive() { Capabilities::NONE } else { self.need_on_existing() };
        existing.union(Capabilities::CREATE)
    }

    /// The policy's verdict.
    pub(super) fn judge(self, image: &Image<'_>, request: &Request<'_>) -> OpenVerdict {
        decide::open(image, request, self.request())
    }

    /// The name of a `call` with these arguments in records: one that only creates a file has a name of its own.
    pub(super) fn name(self, call: &'static str) -> &'static str {
        if !self.exclusive() {
            return call;
        }
        let is_for_both = self.flags & libc::O_ACCMODE == libc::O_RDWR;
        report_protocol::exclusive(is_for_both, self.mode).to_str().unwrap_or(call)
    }

    /// The flags of the supervisor's own open. No terminal may become its session's.
    fn own_flags(self) -> OFlags {
        let flags = self.flags | libc::O_CLOEXEC | libc::O_NOCTTY;
        OFlags::from_bits_retain(flags.unsigned_abs())
    }

    fn answer(self, file: OwnedFd) -> CallResult {
        CallResult::Descriptor { file, closes: self.has(libc::O_CLOEXEC) }
    }
}

/// open(2), openat(2), creat(2).
pub(crate) fn open(
    task: &Task<'_>,
    (dirfd, path): (i32, u64),
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    how.check()?;
    let argument = task.argument(dirfd, path)?;
    if how.changes() {
        descriptor_slot::expect(&task.caller)?;
    }
    let _acting = task.begin()?;
    open_argument(&task.called(how.name(task.call)), &argument, how)
}

/// As [`open`], with an argument that has been read.
pub(crate) fn open_argument(
    task: &Task<'_>,
    argument: &Argument<'_>,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    if let Some(page) = task.policy.shared_page(argument.text()) {
        return Ok(how.answer(page));
    }
    if how.has(libc::O_TMPFILE) {
        return open_unnamed(task, argument, how);
    }
    if how.has(libc::O_CREAT) && argument.wants_directory() {
        return Err(make_directory(task, argument, how));
    }
    for _ in 0..PATIENCE {
        match argument.find(how.stops_at_link()) {
            Ok(ResolvedObject::Object(object)) => {
                return open_held(task, argument, &object, how);
            }
            Ok(ResolvedObject::Missing(entry)) if how.has(libc::O_CREAT) && !entry.slash => {
                match create(task, &entry, how) {
                    Err(Errno::EXIST) if !how.exclusive() => {}
                    made => return made.map(|file| how.answer(file)),
                }
            }
            Ok(ResolvedObject::Missing(entry)) if how.has(libc::O_CREAT) => {
                // A dangling symlink whose text ends in a slash.
                return Err(error_at(task, &entry.request(), how, Errno::ISDIR));
            }
            Ok(ResolvedObject::Missing(_)) => {
                return Err(nowhere(task, argument, how, Errno::NOENT));
            }
            Err(errno) => return Err(nowhere(task, argument, how, errno)),
        }
    }
    Err(Errno::ACCESS)
}

/// Opens a pinned object.
pub(super) fn open_held(
    task: &Task<'_>,
    argument: &Argument<'_>,
    object: &Object,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    Ok(match open_object(task, argument, object, how)? {
        Some(file) => how.answer(file),
        None => CallResult::Continue,
    })
}

/// As [`open_held`], but `None` if the caller can open it itself.
///
/// The kernel cannot hand over a descriptor opened with `O_PATH`. Such a descriptor gives no access either: calls that
/// use it are judged as if they named its path. The flag cannot change in calls that have it in a register.
fn open_object(
    task: &Task<'_>,
    argument: &Argument<'_>,
    object: &Object,
    how: OpenArguments,
) -> Result<Option<OwnedFd>, Errno> {
    if let Some(path) = task.judged_path(object)? {
        let route = object.route(argument);
        let subject = Subject::by_route(path, &route);
        if let Some(written) = git_links::rewrite(task, object, &subject.request(), how)? {
            return Ok(Some(written));
        }
        let existing = if how.exclusive() { how } else { how.without(libc::O_CREAT) };
        task.settle_open(|image, request| existing.judge(image, request), subject)?;
        if let Some(device) = object.device() {
            task.settle(
                device::judge(task.image(), &subject.request(), device, how.need_on_existing()),
                subject,
            )?;
        }
        if how.exclusive() {
            // Callers that may create it are told that it exists (spec §5.2).
            task.learn(UseKind::Used, path, Capabilities::CREATE);
        } else if object.kind() == FileType::Directory
            && how.need_on_existing() == Capabilities::READ
        {
            task.learn(UseKind::Opened, path, Capabilities::READ);
        } else {
            task.learn(UseKind::Used, path, how.need_on_existing());
        }
    }
    if how.exclusive() {
        return Err(Errno::EXIST);
    }
    let kind = object.kind();
    if kind != FileType::Directory && how.has(libc::O_DIRECTORY) {
        return Err(Errno::NOTDIR);
    }
    if kind == FileType::Symlink && !how.has(libc::O_PATH) {
        return Err(Errno::LOOP);
    }
    if kind == FileType::Directory && how.has(libc::O_CREAT) {
        return Err(Errno::ISDIR);
    }
    if how.has(libc::O_CREAT) && matches!(kind, FileType::RegularFile | FileType::Fifo) {
        argument.check_planted(object)?;
    }
    if how.has(libc::O_PATH) {
        return Ok(None);
    }
    let flags = how.without(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW).own_flags();
    let reopen = || task.caller.proc().reopen(object.file.as_fd(), flags);
    let opened = match kind {
        FileType::RegularFile => open_file(task, object, flags),
        FileType::Directory => reopen(),
        FileType::CharacterDevice if terminals::is_controlling(&object.stat) => {
            // open(2) checks the owner of `/dev/tty` itself before it looks for a terminal.
            if how.has(libc::O_NOATIME) && reopen().err() == Some(Errno::PERM) {
                return Err(Errno::PERM);
            }
            let terminal = terminals::controlling(&task.caller)?;
            match task.wait(|| task.caller.proc().reopen(terminal.as_fd(), flags)) {
                Err(Errno::ACCESS) => {
                    terminals::shared(&task.caller, &terminal, flags).ok_or(Errno::ACCESS)
                }
                opened => opened,
            }
        }
        FileType::CharacterDevice if terminals::answer_at_once(&object.stat) => reopen(),
        _ if how.has(libc::O_NONBLOCK) => reopen(),
        FileType::Fifo => open_fifo(task, object, flags),
        _ => task.wait(reopen),
    };
    opened.map(Some)
}

/// Opens a regular file. Waits only for a process that has a lease on it (`fcntl(2)`), until that is given up, or for
/// 45 seconds.
fn open_file(task: &Task<'_>, object: &Object, flags: OFlags) -> Result<OwnedFd, Errno> {
    let reopen = |flags| task.caller.proc().reopen(object.file.as_fd(), flags);
    if flags.contains(OFlags::NONBLOCK) {
        return reopen(flags);
    }
    match reopen(flags | OFlags::NONBLOCK) {
        Ok(file) => fcntl_setfl(&file, flags).map(|()| file),
        Err(Errno::AGAIN) => task.wait(|| reopen(flags)),
        refused => refused,
    }
}

/// Opens a fifo (`fifo(7)`), and waits only if the other end must be opened first. The process that opens that end must
/// never fail because too many wait already.
fn open_fifo(task: &Task<'_>, object: &Object, flags: OFlags) -> Result<OwnedFd, Errno> {
    let reopen = |flags| task.caller.proc().reopen(object.file.as_fd(), flags);
    if flags.contains(OFlags::RDWR) {
        return reopen(flags);
    }
    if flags.contains(OFlags::WRONLY)
        && let Ok(file) = reopen(flags | OFlags::NONBLOCK)
    {
        let flags = fcntl_getfl(&file)? - OFlags::NONBLOCK;
        return fcntl_setfl(&file, flags).map(|()| file);
    }
    task.wait(|| reopen(flags))
}

/// Creates a file, if the policy allows new files there. `EEXIST` if it exists by now.
fn create(task: &Task<'_>, entry: &PinnedEntry, how: OpenArguments) -> Result<OwnedFd, Errno> {
    let subject = Subject::by_route(&entry.path, &entry.route);
    if let Some(written) = git_links::create(task, entry, how)? {
        return Ok(written);
    }
    match task.settle_open(|image, request| how.judge(image, request), subject)? {
        OpenVerdict::Allow | OpenVerdict::OnlyNew(_) => {}
        OpenVerdict::OnlyExisting(denial) | OpenVerdict::Deny(denial) => {
            return Err(task.denied(denial, subject));
        }
    }
    task.prepare_to_make()?;
    let flags = how.with(libc::O_EXCL).own_flags();
    let made = openat(&entry.directory, &entry.name, flags, Mode::from_raw_mode(how.mode))?;
    task.learn(UseKind::Made, &entry.path, how.need_to_make());
    Ok(made)
}

/// The errno for a path that leads nowhere.
pub(super) fn nowhere(
    task: &Task<'_>,
    argument: &Argument<'_>,
    how: OpenArguments,
    errno: Errno,
) -> Errno {
    let (path, route) = match task.absent(argument) {
        Ok(place) => place,
        Err(unknown) => return unknown,
    };
    let place = Request::by_route(&path, &route);
    match how.judge(task.image(), &place) {
        OpenVerdict::Allow if how.has(libc::O_CREAT) => {
            task.learn(UseKind::Used, &path, how.need_to_make());
        }
        OpenVerdict::Allow => task.learn(UseKind::Absent, &path, how.need_on_existing()),
        _ => return error_at(task, &place, how, errno),
    }
    errno
}

/// The errno for an open that the kernel would answer with `errno`, at the place where it leads.
fn error_at(task: &Task<'_>, place: &Request<'_>, how: OpenArguments, errno: Errno) -> Errno {
    no_entry::open_error(task, how.request(), place, errno, |path| {
        openat(HERE, path, HELD_ENTRY, Mode::empty()).err() == Some(Errno::NOENT)
    })
}

/// Records for a learning run that a path led nowhere.
pub(super) fn learn_absent(
    task: &Task<'_>,
    argument: &Argument<'_>,
    how: OpenArguments,
    errno: Errno,
) {
    let absent = matches!(errno, Errno::NOENT | Errno::NOTDIR) && task.is_lesson();
    if let Some((path, _)) = absent.then(|| task.absent(argument).ok()).flatten() {
        task.learn(UseKind::Absent, &path, how.need_on_existing());
    }
}

/// The errno for creating a file from a name that ends in a slash, `.` or `..`, whether or not it exists.
fn make_directory(task: &Task<'_>, argument: &Argument<'_>, how: OpenArguments) -> Errno {
    let judge = |image: &Image<'_>, request: &Request<'_>| how.judge(image, request).at_all();
    let exists = Change::of_open(how.request()).error::<Task<'_>>(argument.last());
    if argument.is_dotted() {
        return task.object_judged(argument, false, judge).err().unwrap_or(exists);
    }
    match argument.entry() {
        Ok(Some(entry)) => error_at(task, &entry.request(), how, Errno::ISDIR),
        Ok(None) => exists,
        Err(errno) => nowhere(task, argument, how, errno),
    }
}

/// `O_TMPFILE`: creates a file without a name in a directory.
fn open_unnamed(
    task: &Task<'_>,
    argument: &Argument<'_>,
    how: OpenArguments,
) -> Result<CallResult, Errno> {
    let directory = match argument.find(how.stops_at_link()) {
        Ok(ResolvedObject::Object(object)) => object,
        Ok(ResolvedObject::Missing(_)) => return Err(Errno::NOENT),
        Err(errno) => return Err(errno),
    };
    if directory.kind() != FileType::Directory {
        return Err(Errno::NOTDIR);
    }
    let path = task.judged_path(&directory)?.ok_or(Errno::ACCESS)?;
    // The kernel shows such files as `#INODE`. Any name below the directory gets the same verdict.
    let below = |path: &[u8]| [path.strip_suffix(b"/").unwrap_or(path), b"/#"].concat();
    let (unnamed, route) = (below(path), below(&directory.route(argument)));
    let subject = Subject::by_route(&unnamed, &route);
    let verdict = decide::access(task.image(), &subject.request(), Capabilities::CREATE);
    task.settle(verdict, subject)?;
    task.prepare_to_make()?;
    let here = CString::from(c".");
    let file = openat(&directory.file, &here, how.own_flags(), Mode::from_raw_mode(how.mode))?;
    task.learn(UseKind::Made, &unnamed, Capabilities::CREATE);
    Ok(how.answer(file))
}
