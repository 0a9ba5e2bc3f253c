//! Opens files with openat2(2), which proves that the path has no symlink. Otherwise pins the object first.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use jp_confine_policy::Capabilities;
use jp_confine_policy::autorun;
use jp_confine_policy::decide::{self, Denial, OpenVerdict, Request};
use jp_confine_policy::device::{self, Device};
use jp_confine_policy::image::Image;

use super::{Failure, How, attempt, create, in_place_of, nowhere, refuse_directory};
use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::resolve::Route;
use crate::{links, places, remembered, resolve, sys};

#[path = "planted.rs"]
mod planted;

/// The flags of openat2(2). open(2) ignores other flags, openat2 rejects them.
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

/// The flags that have an effect beside `O_PATH` (open(2)).
const KNOWN_WITH_PATH: c_int =
    libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// The flags that keep a final symlink from being followed.
pub(super) const STOPS_AT_LINK: c_int = libc::O_NOFOLLOW;

/// Removes flags without an effect.
pub(super) const fn known(flags: c_int) -> c_int {
    flags & if flags & libc::O_PATH == 0 { KNOWN } else { KNOWN_WITH_PATH }
}

/// Whether the descriptor will give no access to the object.
pub(super) const fn is_bare(how: How) -> bool {
    how.has(libc::O_PATH)
}

/// Opens a name. Fails with `ELOOP` if the path contains a symlink.
pub(super) fn open_without_links(dirfd: c_int, path: &CStr, how: How) -> Result<sys::Fd, Errno> {
    match sys::openat2(dirfd, path, how.flags, how.mode, how.resolve | sys::NO_SYMLINKS) {
        // Older kernels and some containers lack openat2. A path of one name can only have a symlink at its end.
        Err(Errno::ENOSYS | Errno::EPERM)
            if how.resolve == 0 && !path.to_bytes().contains(&b'/') =>
        {
            sys::openat(dirfd, path, how.flags | libc::O_NOFOLLOW, how.mode)
        }
        outcome => outcome,
    }
}

/// Whether the last open that the library had to check found nothing. A program that searches several directories for a
/// file goes on to the next one.
static MISSED: AtomicBool = AtomicBool::new(false);

/// Opens for reading if Landlock restricts reading exactly as the policy does. The kernel then checks the very object
/// that it opens, whatever names and symlinks lead to it. If that fails or is likely to fail, `judged` asks the policy
/// for the reason and for whether to report or to prompt.
pub(super) fn open_as_held(
    image: &Image<'_>,
    dirfd: c_int,
    path: *const c_char,
    how: How,
    judged: impl FnOnce() -> Result<c_int, Errno>,
) -> Result<c_int, Errno> {
    let holds = || image.holds_reads() && (!how.has(libc::O_DIRECTORY) || image.holds_listings());
    if !how.only_reads() || !holds() {
        return judged();
    }
    if !MISSED.load(Ordering::Relaxed) {
        match how.wait(|| sys::open_as_spelled(dirfd, path, how.flags)) {
            Ok(opened) => return Ok(opened.into_raw()),
            // A fifo was allowed, and the call waited for it.
            Err(Errno::EINTR) => return Err(Errno::EINTR),
            Err(_) => {}
        }
    }
    let outcome = judged();
    MISSED.store(outcome == Err(Errno::ENOENT), Ordering::Relaxed);
    outcome
}

/// Whether the supervisor, if there is one, must write the contents of such a file (`.git`, `commondir`).
pub(super) fn may_write_git_link(image: &Image<'_>, spelling: &Spelling, how: How) -> bool {
    how.has(libc::O_WRONLY | libc::O_CREAT)
        && autorun::may_be_git_link(spelling.lexical())
        && image.outer().is_none()
        && image.behind().supervisor
}

/// As [`open_at`], for a path already read.
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
    let mut refusal = None;
    // If the policy has rules for devices, the object must be pinned to look at it.
    if spelling.is_lexical() && !image.judges_devices() {
        match how.judge(image, &spelling.request()) {
            OpenVerdict::Deny(denial) => refusal = Some(denial),
            verdict => {
                if links::are_expected(spelling.lexical())
                    && let Some(settled) = open_beneath(image, spelling, how)
                {
                    return settled;
                }
                let subject = Subject::new(call, spelling.lexical());
                let (root, path) = spelling.rooted();
                let since = if is_walk(spelling, how) { remembered::now() } else { None };
                match attempt(image, verdict, subject, root, path, how) {
                    Ok(fd) => {
                        if let Some(since) = since {
                            places::remember(fd, spelling.lexical(), since);
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
    open_through_links(image, call, spelling, how, refusal)
}

/// Whether a directory is opened relative to its parent's descriptor. A caller that does so goes on to the entries.
const fn is_walk(spelling: &Spelling, how: How) -> bool {
    how.has(libc::O_DIRECTORY) && spelling.is_by_descriptor() && !spelling.is_dotted()
}

/// The error for creating a file whose name ends in a slash or is `.` or `..`, whether or not it exists.
#[cold]
#[inline(never)]
fn make_directory(image: &Image<'_>, call: &CStr, spelling: &mut Spelling, how: How) -> Errno {
    let exists = !spelling.split().ordinary && how.exclusive();
    let outcome = if spelling.is_dotted() {
        let flags = libc::O_DIRECTORY;
        let judge = |image: &Image<'_>, request: &Request<'_>| how.judge_at_all(image, request);
        resolve::pin_judged(image, call, spelling, flags, judge)
            .and_then(|held| sys::find(held.raw(), c"."))
    } else {
        match resolve::entry(image, spelling) {
            Ok(Some(entry)) => {
                let request = entry.request();
                how.settle(image, &request, Subject::of(call, &request)).map(|_| ())
            }
            Ok(None) => Ok(()),
            Err(errno) => return nowhere(image, call, spelling, how, None, errno),
        }
    };
    outcome.err().unwrap_or(if exists { Errno::EEXIST } else { Errno::EISDIR })
}

/// Whether an error can only be the kernel's and not a denial.
const fn is_open(verdict: OpenVerdict) -> bool {
    matches!(verdict, OpenVerdict::Allow | OpenVerdict::OnlyNew(_))
}

/// Lets the kernel follow symlinks that stay in the directory that the path is relative to. This requires that the
/// policy grants the rights on that directory and everything below it. `None` if this does not settle the open.
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
    if !decide::grants_beneath(image, directory, how.need()) {
        return None;
    }
    let pin = resolve::pin_from_root(spelling, end).ok()?;
    let path = spelling.text().c_str(end.saturating_add(1));
    match how.wait(|| sys::openat2(pin.raw(), path, how.flags, how.mode, sys::BENEATH)) {
        Ok(opened) => in_place_of(pin, &opened, how).ok().map(Ok),
        // The call waited for a fifo until a signal handler ran. Opening it again would wait forever.
        Err(Errno::EINTR) => Some(Err(Errno::EINTR)),
        Err(_) => None,
    }
}

/// The slow path: the path has a symlink, or a spelling that only the kernel can resolve.
#[inline(never)]
fn open_through_links(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
    refusal: Option<Denial>,
) -> Result<c_int, Errno> {
    let outcome = match open_existing(image, call, spelling, how) {
        Err(Failure::Nowhere(why)) if how.has(libc::O_CREAT) => {
            create(image, call, spelling, how, why)
        }
        settled => settled,
    };
    outcome.map_err(|failure| match failure {
        Failure::Settled(errno) => errno,
        Failure::Nowhere(errno) => nowhere(image, call, spelling, how, refusal, errno),
    })
}

/// Opens an existing object: pins it, checks it, and reopens it through its descriptor with the program's flags.
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
    let held = resolve::pin(spelling, flags, &mut path).map_err(Failure::Nowhere)?;
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
    existing.settle(image, &request, Subject::of(call, &request))?;
    if how.exclusive() {
        return Err(Errno::EEXIST);
    }
    if image.judges_devices() {
        settle_device(image, call, held.raw(), &request, how)?;
    }
    if how.has(libc::O_NOFOLLOW) && !how.has(libc::O_PATH) && is_symlink(held) {
        return Err(Errno::ELOOP);
    }
    Ok(())
}

/// Checks the policy for the device, if the pinned object is a device node.
///
/// # Errors
/// `EACCES` if the policy denies it.
#[cold]
#[inline(never)]
pub(super) fn settle_device(
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
    let need = if how.has(libc::O_PATH) { Capabilities::NONE } else { how.need() };
    let need = need.difference(Capabilities::CREATE);
    let verdict = device::judge(image, request, device, need);
    report::settle(image, verdict, Subject::of(call, request))
}

/// Whether the object is a symlink itself.
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

/// Stands for an unnamed file in its directory when the policy is checked.
const UNNAMED: &[u8] = b"#";

/// `O_TMPFILE`: creates a file without a name in a directory.
#[inline(never)]
fn open_unnamed(
    image: &Image<'_>,
    call: &CStr,
    spelling: &Spelling,
    how: How,
) -> Result<c_int, Errno> {
    let mut path = PathBuffer::new();
    let directory = resolve::pin(spelling, libc::O_DIRECTORY, &mut path)?;
    path.push_separator()?;
    // The kernel shows such files as `#INODE`. The policy treats any name in the directory alike.
    path.push(UNNAMED)?;
    let route = Route::into(image, spelling, UNNAMED)?;
    let request = route.request(path.as_bytes());
    let verdict = decide::access(image, &request, Capabilities::CREATE);
    report::settle(image, verdict, Subject::of(call, &request))?;
    let opened = sys::openat(directory.raw(), c".", how.flags, how.mode)?;
    in_place_of(directory, &opened, how)
}
