//! Pinning by `O_PATH`: the kernel does the walking, and `/proc/self/fd` tells where it ended.

use core::ffi::{CStr, c_int};

use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use super::{LINK_BUDGET, entry};
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::far::Far;
use crate::path::Spelling;
use crate::places::{self, REMOVED};
use crate::report::{self, Reason, Subject};
use crate::sys::{self, Fd, Object};

/// Where no link lies on the way, a spelling from a directory whose path is known is canonical.
pub(super) const TRUSTS_SPELLING: bool = true;

/// Whether a `/proc/self/fd` text names an object that has no path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    [&b"pipe:["[..], b"socket:[", b"anon_inode:", b"/memfd:", b"mnt:[", b"net:[", b"pid:["]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// Pins what `spelling` leads to; with `O_NOFOLLOW` in `flags` a link at the end itself. Its
/// canonical path goes to `path`, or `pipe:[…]` and the like for an object without one.
///
/// # Errors
/// The kernel's, for a path that leads nowhere; `EACCES` where the place cannot be told.
pub(crate) fn pin(
    spelling: &Spelling,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<Object, Errno> {
    let (dirfd, spelled) = spelling.as_spelled();
    let flags = libc::O_PATH | libc::O_CLOEXEC | flags;
    let fd = sys::openat(dirfd, spelled, flags, 0)?;
    locate(fd.raw(), path)?;
    Ok(looked_up_again(dirfd, spelled, flags).unwrap_or(fd))
}

/// What a path leads to by now, in the build that `tests/race` must find wanting: one that judges an
/// object and then uses its name. The product holds what it judged.
fn looked_up_again(dirfd: c_int, path: &CStr, flags: c_int) -> Option<Fd> {
    if cfg!(feature = "unpinned") { sys::openat(dirfd, path, flags, 0).ok() } else { None }
}

/// Pins what `spelling` leads to if no link is on the way; `None` where one is, or the kernel cannot
/// tell.
pub(crate) fn pin_without_links(
    spelling: &Spelling,
    flags: c_int,
) -> Option<Result<Object, Errno>> {
    let (root, path) = spelling.rooted();
    let flags = libc::O_PATH | libc::O_CLOEXEC | flags;
    match sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS) {
        Err(Errno::ELOOP | Errno::ENOSYS | Errno::EPERM) => None,
        Err(errno) if spelling.is_elsewhere(errno) => None,
        settled => Some(settled),
    }
}

/// Opens the held object of which `status` is told. Its path is the quicker way where that leads to it: the
/// names in `/proc` are made when a process uses the first of them, and taken down when it ends.
///
/// # Errors
/// As open(2).
pub(crate) fn open_held(
    object: &Object,
    status: &libc::stat,
    spelling: &Spelling,
    flags: c_int,
) -> Result<Fd, Errno> {
    if !spelling.is_lexical() {
        return sys::reopen(object, flags);
    }
    let (root, path) = spelling.rooted();
    match sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS) {
        Ok(file) if sys::identity(&sys::fstat(file.raw())?) == sys::identity(status) => Ok(file),
        Err(Errno::EACCES) if !spelling.is_elsewhere(Errno::EACCES) => Err(Errno::EACCES),
        _ => sys::reopen(object, flags),
    }
}

/// Puts the canonical path of a held object into `to`.
///
/// # Errors
/// As [`locate`].
pub(crate) fn place_of(object: &Object, to: &mut PathBuffer) -> Result<(), Errno> {
    locate(object.raw(), to)
}

/// Puts the canonical path of an open descriptor into `to`, as the policy names it: without the
/// kernel's mark on a removed file, and with `/proc/self` for the process itself.
///
/// # Errors
/// `EBADF`, or `EACCES` where the place cannot be told.
pub(crate) fn locate(fd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    places::of_descriptor(fd, to)?;
    if is_anonymous(to.as_bytes()) {
        return Ok(());
    }
    if to.as_bytes().first() != Some(&b'/') {
        return Err(Errno::EACCES);
    }
    if to.as_bytes().ends_with(REMOVED) && sys::fstat(fd)?.st_nlink == 0 {
        to.truncate(to.len().saturating_sub(REMOVED.len()));
    }
    own_process(to)
}

/// Respells a path that leads nowhere from where the last directory on its way is that exists; whether a link was
/// on that way. Elsewhere, and where nobody is to learn that the directory exists, it loses its `..`.
#[cold]
#[inline(never)]
pub(crate) fn place_absent(image: &Image<'_>, spelling: &mut Spelling) -> bool {
    let is_placed = spelling.is_lexical() && respell_from_last(image, spelling).is_ok_and(|is| is);
    if !is_placed {
        spelling.collapse();
    }
    is_placed
}

fn respell_from_last(image: &Image<'_>, spelling: &mut Spelling) -> Result<bool, Errno> {
    let mut place = Far::<PathBuffer>::blank()?;
    let (end, directory) = last_directory(spelling)?;
    locate(directory.raw(), &mut place)?;
    let spelled = spelling.lexical().get(..end).unwrap_or(&[]);
    let is_shown = decide::metadata(image, &Request::canonical(place.as_bytes())) == Verdict::Allow;
    if is_anonymous(place.as_bytes()) || place.as_bytes() == spelled || !is_shown {
        return Ok(false);
    }
    spelling.rewrite(end, place.as_bytes())?;
    Ok(true)
}

/// The last directory on the way that exists, and where its path ends.
fn last_directory(spelling: &mut Spelling) -> Result<(usize, Fd), Errno> {
    let mut end = spelling.lexical().len();
    loop {
        let before = spelling.lexical().get(..end).unwrap_or(&[]);
        end = before
            .iter()
            .rposition(|&byte| byte == b'/')
            .filter(|at| *at > 0)
            .ok_or(Errno::ENOENT)?;
        let found = spelling
            .text_mut()
            .with_part(0, end, |path| sys::openat(libc::AT_FDCWD, path, DIRECTORY, 0));
        match found {
            Err(Errno::ENOENT) => {}
            found => return found.map(|directory| (end, directory)),
        }
    }
}

/// Whether the path is to the memory of a process, whose directory's path ends at `end`, that this
/// one traces: a debugger, which has that memory by `ptrace(2)` already.
fn is_memory_of_tracee(path: &[u8], end: usize) -> bool {
    path.ends_with(b"/mem") && path.get(..end).is_some_and(|process| traced(process) == Ok(true))
}

fn traced(process: &[u8]) -> Result<bool, Errno> {
    const TRACER: &[u8] = b"\nTracerPid:\t";
    let mut name = Buffer::<64>::new();
    name.push(process)?;
    name.push(b"/status")?;
    let file = sys::open_canonical(name.c_str(0), libc::O_RDONLY | libc::O_CLOEXEC)?;
    // The line is among the first.
    let mut text = [0; 512];
    let length = sys::read(file.raw(), &mut text)?;
    let text = text.get(..length).unwrap_or_default();
    let line = text.windows(TRACER.len()).position(|part| part == TRACER);
    let number = line.and_then(|at| text.get(at.saturating_add(TRACER.len())..));
    let number = number.unwrap_or_default();
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A thread traces, and is known by its number in this process.
    name.clear();
    name.push(b"/proc/self/task/")?;
    name.push(number.get(..digits).unwrap_or_default())?;
    Ok(digits > 0 && sys::openat(libc::AT_FDCWD, name.c_str(0), DIRECTORY, 0).is_ok())
}

/// `/proc/PID/…` of this very process is `/proc/self/…` to the policy.
fn own_process(path: &mut PathBuffer) -> Result<(), Errno> {
    const PROC: &[u8] = b"/proc/";
    let Some(rest) = path.as_bytes().strip_prefix(PROC) else { return Ok(()) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Not getpid(2): the process may count in another pid namespace than this /proc does.
    let mut own = Buffer::<16>::new();
    own.fill(|bytes, room| sys::readlinkat(libc::AT_FDCWD, c"/proc/self", bytes, room))?;
    let is_own = rest.get(..digits) == Some(own.as_bytes());
    if !is_own && !is_memory_of_tracee(path.as_bytes(), PROC.len().saturating_add(digits)) {
        return Ok(());
    }
    path.replace_start(PROC.len().saturating_add(digits), b"/proc/self")
}

/// Refuses an object without a path unless the program holds it already: unless it was reached
/// through the descriptors of this very process. Those of others are in `/proc` too.
///
/// # Errors
/// `EACCES`.
#[inline(never)]
pub(crate) fn require_own(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
) -> Result<(), Errno> {
    let mut target = Far::<PathBuffer>::blank()?;
    for _ in 0..LINK_BUDGET {
        let Some(entry) = entry(image, spelling)? else { break };
        if entry.path().starts_with(b"/proc/self/") {
            return Ok(());
        }
        let read =
            target.fill(|bytes, room| sys::readlinkat(entry.dirfd(), entry.name(), bytes, room));
        if read.is_err() || entry.path().starts_with(b"/proc/") {
            break;
        }
        spelling.follow(target.as_bytes())?;
    }
    let subject = Subject::new(call, spelling.lexical());
    Err(report::refused(image, Reason::OtherProcess, subject))
}

const DIRECTORY: c_int = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;

/// Holds the directory of the entry whose name begins at `name_at`; where links lie on the way the
/// entry is respelled from where they lead, of which `before` is told.
///
/// # Errors
/// The kernel's, and those of `before`; `EACCES` where the place cannot be told.
pub(super) fn hold_directory(
    spelling: &mut Spelling,
    name_at: usize,
    before: impl FnOnce(&Spelling) -> Result<(), Errno>,
) -> Result<Fd, Errno> {
    pin_parent(spelling, name_at).or_else(|_| {
        before(spelling)?;
        pin_parent_through_links(spelling, name_at)
    })
}

/// The common case: no link on the way, so that the spelling is the canonical path.
fn pin_parent(spelling: &mut Spelling, name_at: usize) -> Result<Fd, Errno> {
    if !spelling.is_lexical() {
        return Err(Errno::ELOOP);
    }
    pin_from_root(spelling, name_at)
}

/// Pins the directory that the path up to `end` names, if no link is on the way.
///
/// # Errors
/// As openat2(2).
pub(crate) fn pin_from_root(spelling: &mut Spelling, end: usize) -> Result<Fd, Errno> {
    spelling.text_mut().with_part(0, end, |directory| {
        let fd = sys::openat2(libc::AT_FDCWD, directory, DIRECTORY, 0, sys::NO_SYMLINKS)?;
        Ok(looked_up_again(libc::AT_FDCWD, directory, DIRECTORY).unwrap_or(fd))
    })
}

/// Lets the kernel follow the links, asks where it arrived, and spells the entry from there.
#[inline(never)]
fn pin_parent_through_links(spelling: &mut Spelling, name_at: usize) -> Result<Fd, Errno> {
    let (dirfd, start) = (spelling.dirfd(), spelling.tail());
    let fd = spelling.text_mut().with_part(start, name_at, |directory| {
        let directory = if directory.is_empty() { c"." } else { directory };
        sys::openat(dirfd, directory, DIRECTORY, 0)
    })?;
    spelling.respell_directory(|path| locate(fd.raw(), path))?;
    Ok(fd)
}
