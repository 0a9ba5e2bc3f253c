//! Opens files with openat2(2), which proves that no symlink was on the way. Otherwise pins the object first.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use jp_confine_engine::Capabilities;
use jp_confine_engine::autorun;
use jp_confine_engine::decide::{self, OpenVerdict, Request};
use jp_confine_engine::device::{self, Device};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry::{self, Change};

use super::{Failure, How, attempt, create, in_place_of, judge_missing, refuse_directory};
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::hooks::entries::Enforcing;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::resolve::Route;
use crate::{fd_paths, links, path_cache, resolve, sys, views};

#[path = "planted.rs"]
mod planted;

/// The flags that openat2(2) knows. open(2) ignores others, and openat2 rejects them.
const KNOWN: c_int = libc::O_ACCMODE
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

/// The flags that have a meaning with `O_PATH` (open(2)).
const KNOWN_WITH_PATH: c_int =
    libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// The flags that prevent following a symlink at the end of the path.
pub(super) const STOPS_AT_LINK: c_int = libc::O_NOFOLLOW;

/// Removes flags without a meaning.
pub(super) const fn known(flags: c_int) -> c_int {
    flags & if flags & libc::O_PATH == 0 { KNOWN } else { KNOWN_WITH_PATH }
}

/// Opens a name. Fails with `ELOOP` if a symlink is on the way.
pub(super) fn open_without_links(dirfd: c_int, path: &CStr, how: How) -> Result<sys::Fd, Errno> {
    match sys::openat2(dirfd, path, how.flags, how.mode, how.resolve | sys::NO_SYMLINKS) {
        // Older kernels and containers lack openat2. A single name has no symlinks but at its end.
        Err(Errno::ENOSYS | Errno::EPERM)
            if how.resolve == 0 && !path.to_bytes().contains(&b'/') =>
        {
            sys::openat(dirfd, path, how.flags | libc::O_NOFOLLOW, how.mode)
        }
        outcome => outcome,
    }
}

/// Whether the last open that the library had to judge found nothing. A program that looks for a file in several places
/// continues with the next.
static MISSED: AtomicBool = AtomicBool::new(false);

/// Opens for reading if Landlock restricts reading exactly as the policy does. Then the kernel has judged the object
/// that it opens, whatever names and symlinks lead there. If that fails, `judged` determines the policy's reason, and
/// whether to report it or prompt. If a failure is likely, only `judged` is tried.
pub(super) fn open_as_held(
    image: &Image<'_>,
    dirfd: c_int,
    path: *const c_char,
    how: How,
    judged: impl FnOnce() -> Result<c_int, Errno>,
) -> Result<c_int, Errno> {
    let holds = || {
        image.holds_reads()
            && (!how.has(libc::O_DIRECTORY) || image.holds_listings())
            && !views::may_go_up(image, dirfd, path)
    };
    if !how.only_reads() || !holds() {
        return judged();
    }
    if !MISSED.load(Ordering::Relaxed) {
        match how.wait(|| sys::open_as_spelled(dirfd, path, how.flags)) {
            Ok(opened) => return Ok(opened.into_raw()),
            // The fifo was allowed, and this has waited for it.
            Err(Errno::EINTR) => return Err(Errno::EINTR),
            Err(_) => {}
        }
    }
    let outcome = judged();
    MISSED.store(outcome == Err(Errno::ENOENT), Ordering::Relaxed);
    outcome
}

/// Whether the open may write a Git link (`.git`, `commondir`). Only the supervisor, if there is one, performs it.
pub(super) fn may_write_git_link(image: &Image<'_>, spelling: &Spelling, how: How) -> bool {
    how.has(libc::O_WRONLY | libc::O_CREAT)
        && autorun::may_be_git_link(spelling.lexical())
        && image.outer().is_none()
        && image.behind().supervisor
}

/// Like [`open_at`], for a path that has been read.
///
/// # Errors
/// As [`open_at`].
pub(crate) fn open_spelled(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
) -> Result<c_int, Errno> {
    if how.has(libc::O_TMPFILE) {
        return open_unnamed(image, call, spelling, how);
    }
    if how.has(libc::O_CREAT) && spelling.wants_directory() {
        return Err(make_directory(image, call, spelling, how));
    }
    resolve::expand_alias(image, spelling, !how.stops_at_link())?;
    // If devices may exist, the object must be pinned and examined before it is opened.
    if spelling.is_lexical() && !image.judges_devices() {
        match how.judge(image, &spelling.request()) {
            OpenVerdict::Deny(_) => {}
            verdict => {
                if links::are_expected(spelling.lexical())
                    && let Some(settled) = open_beneath(image, spelling, how)
                {
                    return settled;
                }
                let subject = Subject::new(call, spelling.lexical());
                let (root, path) = spelling.rooted();
                let since = if is_walk(spelling, how) { path_cache::now() } else { None };
                match attempt(image, verdict, subject, root, path, how) {
                    Ok(fd) => {
                        if let Some(since) = since {
                            fd_paths::remember(fd, spelling.lexical(), since);
                        }
                        return Ok(fd);
                    }
                    Err(Errno::ELOOP) => {
                        links::expect(spelling.lexical());
                        if let Some(settled) = open_beneath(image, spelling, how) {
                            return settled;
                        }
                    }
                    Err(Errno::ENOSYS | Errno::EPERM | Errno::EEXIST) => {}
                    Err(errno) if is_open(verdict) && spelling.is_elsewhere(errno) => {}
                    settled => return settled,
                }
            }
        }
    }
    open_through_links(image, call, spelling, how)
}

/// Whether a directory is opened relative to its parent's descriptor. Such a caller will continue below it.
const fn is_walk(spelling: &Spelling, how: How) -> bool {
    how.has(libc::O_DIRECTORY) && spelling.is_by_descriptor() && !spelling.is_dotted()
}

/// The error for creating a file with a trailing slash, `.` or `..`, whether it exists or not.
#[cold]
#[inline(never)]
fn make_directory(image: &Image<'_>, call: &CStr, spelling: &mut Spelling, how: How) -> Errno {
    let layer = Enforcing { image, call };
    let exists = Change::of_open(how.request()).error::<Enforcing<'_>>(spelling.last());
    if spelling.is_dotted() {
        let flags = libc::O_DIRECTORY;
        let judge = |image: &Image<'_>, request: &Request<'_>| how.judge(image, request).at_all();
        let held = resolve::pin_judged(image, call, spelling, flags, judge);
        return held.and_then(|held| sys::find(held.raw(), c".")).err().unwrap_or(exists);
    }
    match resolve::entry(image, spelling) {
        Ok(Some(entry)) => {
            let (how, place) = (how.request(), entry.request());
            no_entry::open_error(&layer, how, &place, Errno::EISDIR, |_| false)
        }
        Ok(None) => exists,
        Err(errno) => judge_missing(image, call, spelling, how, errno),
    }
}

/// Whether an error of the open is certainly the kernel's, and not a denial.
const fn is_open(verdict: OpenVerdict) -> bool {
    matches!(verdict, OpenVerdict::Allow | OpenVerdict::OnlyNew(_))
}

/// Has the kernel follow symlinks, but none that leave the starting directory. That requires the directory and
/// everything below to grant the open. Returns `None` if this does not settle it.
#[inline(never)]
fn open_beneath(
    image: &Image<'_>,
    spelling: &mut Spelling,
    how: How,
) -> Option<Result<c_int, Errno>> {
    if how.resolve != 0 || how.stops_at_link() || how.has(libc::O_PATH) {
        return None;
    }
    let end = spelling.directory_end()?;
    let directory = spelling.text().as_bytes().get(..end)?;
    if !decide::grants_beneath(image, directory, how.request().need_in_any_case()) {
        return None;
    }
    let pin = resolve::pin_from_root(spelling, end).ok()?;
    let path = spelling.text().c_str(end.saturating_add(1));
    match how.wait(|| sys::openat2(pin.raw(), path, how.flags, how.mode, sys::BENEATH)) {
        Ok(opened) => in_place_of(pin, &opened, how).ok().map(Ok),
        // The open waited for a fifo until a signal handler ran. Opening it again would wait forever.
        Err(Errno::EINTR) => Some(Err(Errno::EINTR)),
        Err(_) => None,
    }
}

/// The slow path, for a symlink on the way or a spelling that only the kernel understands.
#[inline(never)]
fn open_through_links(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
) -> Result<c_int, Errno> {
    let outcome = match open_existing(image, call, spelling, how) {
        Err(Failure::Nowhere(why)) if how.has(libc::O_CREAT) => {
            create(image, call, spelling, how, why)
        }
        settled => settled,
    };
    outcome.map_err(|failure| match failure {
        Failure::Settled(errno) => errno,
        Failure::Nowhere(errno) => judge_missing(image, call, spelling, how, errno),
    })
}

/// Opens the existing object at the end of the path. Pins it, judges it, and opens it again through its descriptor with
/// the requested flags.
#[inline(never)]
fn open_existing(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
) -> Result<c_int, Failure> {
    let follow = if how.stops_at_link() { libc::O_NOFOLLOW } else { 0 };
    let flags = follow | how.flags & libc::O_DIRECTORY;
    let mut path = PathBuffer::new();
    let held = resolve::pin(image, spelling, flags, &mut path).map_err(Failure::Nowhere)?;
    let makes = how.has(libc::O_CREAT);
    judge_held(image, call, spelling, &held, &path, how)
        .and_then(|()| if makes { planted::check(image, spelling, &held) } else { Ok(()) })
        .and_then(|()| open_held(held, how))
        .map_err(Failure::Settled)
}

fn judge_held(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    held: &sys::Fd,
    path: &PathBuffer,
    how: How,
) -> Result<(), Errno> {
    if resolve::is_anonymous(path.as_bytes()) {
        return resolve::require_own(image, call, spelling);
    }
    let mut route = Route::default();
    let request = Request::by_route(path.as_bytes(), route.to(image, spelling)?);
    let existing = if how.exclusive() { how } else { how.without(libc::O_CREAT) };
    existing.apply_verdict(image, &request, Subject::of(call, &request))?;
    if how.exclusive() {
        return Err(Errno::EEXIST);
    }
    if image.judges_devices() {
        apply_verdict_to_device(image, call, held.raw(), &request, how)?;
    }
    if how.has(libc::O_NOFOLLOW) && !how.has(libc::O_PATH) && is_symlink(held) {
        return Err(Errno::ELOOP);
    }
    Ok(())
}

/// Judges the device, if the pinned object is a device node.
///
/// # Errors
/// `EACCES` if the policy denies it.
#[cold]
#[inline(never)]
pub(super) fn apply_verdict_to_device(
    image: &Image<'_>,
    call: &CStr,
    held: c_int,
    request: &Request<'_>,
    how: How,
) -> Result<(), Errno> {
    let stat = sys::fstat(held)?;
    let is_block = match stat.st_mode & libc::S_IFMT {
        libc::S_IFBLK => true,
        libc::S_IFCHR => false,
        _ => return Ok(()),
    };
    let (major, minor) = (libc::major(stat.st_rdev), libc::minor(stat.st_rdev));
    let device = Device { is_block, major, minor };
    let verdict = device::judge(image, request, device, how.request().need_on_existing());
    report::apply_verdict(image, verdict, Subject::of(call, request))
}

/// Whether the object is itself a symlink.
fn is_symlink(object: &sys::Fd) -> bool {
    sys::status(object).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

fn open_held(held: sys::Fd, how: How) -> Result<c_int, Errno> {
    if how.has(libc::O_PATH | libc::O_NOFOLLOW) {
        if !how.has(libc::O_CLOEXEC) {
            sys::fcntl(held.raw(), libc::F_SETFD, 0)?;
        }
        return Ok(held.into_raw());
    }
    let held = if how.has(libc::O_CREAT) { refuse_directory(held)? } else { held };
    let again = how.without(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    let opened = how.wait(|| sys::reopen(&held, again.flags))?;
    in_place_of(held, &opened, how)
}

/// The name that is judged for a nameless file in its directory.
const UNNAMED: &[u8] = b"#";

/// `O_TMPFILE`: creates a nameless file in a directory.
#[inline(never)]
fn open_unnamed(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
) -> Result<c_int, Errno> {
    resolve::expand_alias(image, spelling, true)?;
    let mut path = PathBuffer::new();
    let directory = resolve::pin(image, spelling, libc::O_DIRECTORY, &mut path)?;
    path.push_separator()?;
    // The kernel shows such files as `#INODE`. The verdict is the same for any name below the directory.
    path.push(UNNAMED)?;
    let route = Route::into(image, spelling, UNNAMED)?;
    let request = route.request(path.as_bytes());
    let verdict = decide::access(image, &request, Capabilities::CREATE);
    report::apply_verdict(image, verdict, Subject::of(call, &request))?;
    let opened = sys::openat(directory.raw(), c".", how.flags, how.mode)?;
    in_place_of(directory, &opened, how)
}
