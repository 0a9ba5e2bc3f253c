//! Pins with `O_PATH`: the kernel resolves the path, and `/proc/self/fd` tells where it ended.

use core::ffi::{CStr, c_int};

use jp_confine_engine::decide::Request;
use jp_confine_engine::existing;
use jp_confine_engine::image::Image;
use jp_confine_engine::views::{exist as shows, to_backing};

use super::{LINK_BUDGET, entry};
use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::fd_paths::{self, REMOVED};
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Reason, Subject};
use crate::sys::{self, Fd, Object};
use crate::views;

/// A spelling is canonical if no symlink is on the way and its starting directory's path is known.
pub(super) const TRUSTS_SPELLING: bool = true;

/// Whether a text of `/proc/self/fd` names an object without a path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    [&b"pipe:["[..], b"socket:[", b"anon_inode:", b"/memfd:", b"mnt:[", b"net:[", b"pid:["]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// Pins the object that `spelling` leads to; with `O_NOFOLLOW` in `flags`, a symlink at the end itself. Stores its
/// canonical path in `path`, or text such as `pipe:[…]` for an object without one. If a view is on the way, respells
/// `spelling`.
///
/// # Errors
/// The kernel's for a path that leads nowhere; `EACCES` if the place is unknown.
pub(crate) fn pin(
    image: &Image<'_>,
    spelling: &mut Spelling,
    flags: c_int,
    path: &mut PathBuffer,
) -> Result<Object, Errno> {
    if !shows(image) {
        return pin_as_spelled(spelling, flags, path);
    }
    if !views::concern(image, spelling) {
        let pinned = pin_as_spelled(spelling, flags, path);
        if !may_pass_view(image, &pinned, path) {
            return pinned;
        }
    }
    views::follow(image, spelling, flags & libc::O_NOFOLLOW != 0)?;
    pin_as_spelled(spelling, flags, path)
}

/// Whether a name that the kernel followed, with this result, may lead through a view. It then leads nowhere, or to the
/// real place of the view.
fn may_pass_view<T>(image: &Image<'_>, reached: &Result<T, Errno>, path: &PathBuffer) -> bool {
    match reached {
        Ok(_) => to_backing(image, path.as_bytes()).is_some(),
        Err(errno) => *errno == Errno::ELOOP || views::may_hide(image, *errno),
    }
}

/// Like [`pin`], without regard to views.
///
/// # Errors
/// As [`pin`].
pub(crate) fn pin_as_spelled(
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

/// Looks the path up again, in a build that `tests/race` must find faulty: it judges an object and then uses its name.
/// The product keeps the object that it judged.
fn looked_up_again(dirfd: c_int, path: &CStr, flags: c_int) -> Option<Fd> {
    if cfg!(feature = "unpinned") { sys::openat(dirfd, path, flags, 0).ok() } else { None }
}

/// Pins the object that `spelling` leads to if no symlink is on the way. `None` if there is one, or if the kernel
/// cannot tell.
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

/// Opens the pinned object with this `status`. Uses its path if that leads to it, which is faster: the kernel creates a
/// process's names in `/proc` at their first use, and removes them when the process ends.
///
/// # Errors
/// As open(2).
pub(crate) fn open_held(
    object: &Object,
    status: &libc::stat,
    spelling: &Spelling,
    flags: c_int,
) -> Result<Fd, Errno> {
    // The filter passes openat(2) where Landlock holds reads, but never openat2(2) if the supervisor judges it again.
    if !spelling.is_lexical() || sys::is_rejudged() {
        return sys::reopen(object, flags);
    }
    let (root, path) = spelling.rooted();
    match sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS) {
        Ok(file) if sys::identity(&sys::fstat(file.raw())?) == sys::identity(status) => Ok(file),
        Err(Errno::EACCES) if !spelling.is_elsewhere(Errno::EACCES) => Err(Errno::EACCES),
        _ => sys::reopen(object, flags),
    }
}

/// Stores the canonical path of a pinned object in `to`.
///
/// # Errors
/// As [`locate`].
pub(crate) fn place_of(object: &Object, to: &mut PathBuffer) -> Result<(), Errno> {
    locate(object.raw(), to)
}

/// Stores the canonical path of an open descriptor in `to`, in the policy's form: without the kernel's mark on a
/// removed file, and with `/proc/self` for the process itself.
///
/// # Errors
/// `EBADF`, or `EACCES` if the place is unknown.
pub(crate) fn locate(fd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    fd_paths::of_descriptor(fd, to)?;
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

/// Respells a path that leads nowhere by the place where it would lead. Follows the symlinks that the policy shows, even
/// if nothing is there.
#[cold]
#[inline(never)]
pub(crate) fn place_absent(image: &Image<'_>, spelling: &mut Spelling) {
    // Usually no symlink is on the way, as the kernel tells at once.
    let is_direct = spelling.is_lexical() && pin_without_links(spelling, 0).is_some();
    let is_led = !is_direct && views::follow_shown(image, spelling).is_ok();
    spelling.collapse();
    if is_led {
        let _ = respell_from_last(image, spelling);
    } else if let Some(shown) = to_backing(image, spelling.lexical()) {
        let _ = spelling.rewrite(shown.end, shown.target);
    }
}

/// Respells a path from its last existing directory, for symlinks that stand for an object.
fn respell_from_last(image: &Image<'_>, spelling: &mut Spelling) -> Result<(), Errno> {
    let mut place = MmapBox::<PathBuffer>::blank()?;
    let (end, directory) = last_directory(spelling)?;
    locate(directory.raw(), &mut place)?;
    let is_shown = existing::shows(image, &Request::canonical(place.as_bytes()));
    if is_anonymous(place.as_bytes()) || !is_shown {
        return Ok(());
    }
    spelling.rewrite(end, place.as_bytes())
}

/// The last existing directory on the way, and the end of its path.
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

/// Whether the path is the memory of a process that this one traces. `end` is the end of that process's directory. Such
/// a debugger already has access to the memory by `ptrace(2)`.
fn is_memory_of_tracee(path: &[u8], end: usize) -> bool {
    path.ends_with(b"/mem") && path.get(..end).is_some_and(|process| traced(process) == Ok(true))
}

fn traced(process: &[u8]) -> Result<bool, Errno> {
    const TRACER: &[u8] = b"\nTracerPid:\t";
    let mut name = Buffer::<64>::new();
    name.push(process)?;
    name.push(b"/status")?;
    let file = sys::open_canonical(name.c_str(0), libc::O_RDONLY | libc::O_CLOEXEC)?;
    // The line is one of the first.
    let mut text = [0; 512];
    let length = sys::read(file.raw(), &mut text)?;
    let text = text.get(..length).unwrap_or_default();
    let line = text.windows(TRACER.len()).position(|part| part == TRACER);
    let number = line.and_then(|at| text.get(at.saturating_add(TRACER.len())..));
    let number = number.unwrap_or_default();
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // The tracer is a thread. Its number identifies it in this process.
    name.clear();
    name.push(b"/proc/self/task/")?;
    name.push(number.get(..digits).unwrap_or_default())?;
    Ok(digits > 0 && sys::openat(libc::AT_FDCWD, name.c_str(0), DIRECTORY, 0).is_ok())
}

/// Rewrites this process's own `/proc/PID/…` to `/proc/self/…`, the policy's form.
fn own_process(path: &mut PathBuffer) -> Result<(), Errno> {
    const PROC: &[u8] = b"/proc/";
    let Some(rest) = path.as_bytes().strip_prefix(PROC) else { return Ok(()) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Not getpid(2), because this `/proc` may belong to another PID namespace than the process.
    let mut own = Buffer::<16>::new();
    own.fill(|bytes, room| sys::readlinkat(libc::AT_FDCWD, c"/proc/self", bytes, room))?;
    let is_own = rest.get(..digits) == Some(own.as_bytes());
    if !is_own && !is_memory_of_tracee(path.as_bytes(), PROC.len().saturating_add(digits)) {
        return Ok(());
    }
    path.replace_start(PROC.len().saturating_add(digits), b"/proc/self")
}

/// Denies an object without a path unless the program already has it, that is, reached it through this process's own
/// descriptors. `/proc` also shows those of other processes.
///
/// # Errors
/// `EACCES`.
#[inline(never)]
pub(crate) fn require_own(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
) -> Result<(), Errno> {
    let mut target = MmapBox::<PathBuffer>::blank()?;
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

/// Pins the directory of the entry whose name begins at `name_at`. If symlinks are on the way, first calls `before`,
/// and then respells the entry from the place that they lead to.
///
/// # Errors
/// The kernel's, and those of `before`; `EACCES` if the place is unknown.
pub(super) fn hold_directory(
    image: &Image<'_>,
    spelling: &mut Spelling,
    name_at: usize,
    before: impl FnOnce(&Spelling) -> Result<(), Errno>,
) -> Result<Fd, Errno> {
    pin_parent(spelling, name_at).or_else(|_| {
        before(spelling)?;
        if !shows(image) {
            return pin_parent_through_links(spelling, name_at);
        }
        if !views::concern(image, spelling) {
            let pinned = pin_parent_through_links(spelling, name_at);
            if !may_pass_view(image, &pinned, spelling.text()) {
                return pinned;
            }
        }
        views::follow(image, spelling, true)?;
        pin_parent_through_links(spelling, spelling.split().name_at)
    })
}

/// Pins in the common case: no symlink is on the way, so the spelling is the canonical path.
fn pin_parent(spelling: &mut Spelling, name_at: usize) -> Result<Fd, Errno> {
    if !spelling.is_lexical() {
        return Err(Errno::ELOOP);
    }
    pin_from_root(spelling, name_at)
}

/// Pins the directory named by the path up to `end`, if no symlink is on the way.
///
/// # Errors
/// As openat2(2).
pub(crate) fn pin_from_root(spelling: &mut Spelling, end: usize) -> Result<Fd, Errno> {
    spelling.text_mut().with_part(0, end, |directory| {
        let fd = sys::openat2(libc::AT_FDCWD, directory, DIRECTORY, 0, sys::NO_SYMLINKS)?;
        Ok(looked_up_again(libc::AT_FDCWD, directory, DIRECTORY).unwrap_or(fd))
    })
}

/// Has the kernel follow the symlinks, asks where it arrived, and respells the entry from there.
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
