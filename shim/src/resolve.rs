//! Pinning: holding the object that a path leads to, and knowing its canonical path.
//!
//! A pinned object is held by an `O_PATH` descriptor, so that what is judged is what is used,
//! whatever happens to names meanwhile. The kernel does the walking; `/proc/self/fd` tells where
//! it ended.

use core::ffi::{CStr, c_int};

use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::buffer::{Buffer, PathBuffer};
use crate::errno::Errno;
use crate::path::Spelling;
use crate::places;
use crate::report::{self, Reason, Subject};
use crate::sys::{self, Fd};

/// How many links are followed by hand before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// Whether a `/proc/self/fd` text names an object that has no path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    [&b"pipe:["[..], b"socket:[", b"anon_inode:", b"/memfd:", b"mnt:[", b"net:[", b"pid:["]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// Whether the object of a descriptor is a symbolic link itself.
pub(crate) fn is_symlink(object: &Fd) -> bool {
    sys::fstat(object.raw()).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
}

/// Pins what `spelling` leads to; with `O_NOFOLLOW` in `flags` a link at the end itself. Its
/// canonical path goes to `path`, or `pipe:[…]` and the like for an object without one.
///
/// # Errors
/// The kernel's, for a path that leads nowhere; `EACCES` where the place cannot be told.
pub(crate) fn pin(spelling: &Spelling, flags: c_int, path: &mut PathBuffer) -> Result<Fd, Errno> {
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

/// Pins the object of an operation that follows links (or, with `O_NOFOLLOW`, does not), and has
/// the policy judge it: by its spelling where no link lies on the way, else by where it is.
///
/// # Errors
/// The kernel's, or what `judge` and the report make of a refusal.
pub(crate) fn pin_judged(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    flags: c_int,
    judge: impl Fn(&Image<'_>, &Request<'_>) -> Verdict,
) -> Result<Fd, Errno> {
    expand_alias(image, spelling, flags & libc::O_NOFOLLOW == 0)?;
    if spelling.is_lexical() && judge(image, &spelling.request()) == Verdict::Allow {
        let (root, path) = spelling.rooted();
        let flags = libc::O_PATH | libc::O_CLOEXEC | flags;
        match sys::openat2(root, path, flags, 0, sys::NO_SYMLINKS) {
            Err(Errno::ELOOP | Errno::ENOSYS | Errno::EPERM) => {}
            Err(errno) if spelling.is_elsewhere(errno) => {}
            settled => return settled,
        }
    }
    let mut path = PathBuffer::new();
    match pin(spelling, flags, &mut path) {
        Ok(fd) if is_anonymous(path.as_bytes()) => {
            require_own(image, call, spelling)?;
            Ok(fd)
        }
        Ok(fd) => {
            let request = Request { path: path.as_bytes(), route: spelling.lexical() };
            let subject = Subject { call, path: request.path, route: request.route };
            report::settle(image, judge(image, &request), subject)?;
            Ok(fd)
        }
        Err(errno) => {
            spelling.collapse();
            let subject = Subject::new(call, spelling.lexical());
            report::settle(image, judge(image, &spelling.request()), subject)?;
            Err(errno)
        }
    }
}

/// Puts the canonical path of an open descriptor into `to`, as the policy names it: without the
/// kernel's mark on a removed file, and with `/proc/self` for the process itself.
///
/// # Errors
/// `EBADF`, or `EACCES` where the place cannot be told.
pub(crate) fn locate(fd: c_int, to: &mut PathBuffer) -> Result<(), Errno> {
    const REMOVED: &[u8] = b" (deleted)";
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

/// `/proc/PID/…` of this very process is `/proc/self/…` to the policy.
fn own_process(path: &mut PathBuffer) -> Result<(), Errno> {
    const PROC: &[u8] = b"/proc/";
    let Some(rest) = path.as_bytes().strip_prefix(PROC) else { return Ok(()) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Not getpid(2): the process may count in another pid namespace than this /proc does.
    let mut own = Buffer::<16>::new();
    own.fill(|bytes, room| sys::readlinkat(libc::AT_FDCWD, c"/proc/self", bytes, room))?;
    if rest.get(..digits) != Some(own.as_bytes()) {
        return Ok(());
    }
    path.replace_start(PROC.len().saturating_add(digits), b"/proc/self")
}

/// A directory entry: the directory it is in, held, and its name there.
pub(crate) struct Entry<'a> {
    dir: Directory,
    /// The canonical path of the directory, a slash, the name, and a slash where one was given.
    text: &'a PathBuffer,
    name_at: usize,
    slash: bool,
}

enum Directory {
    /// That of another entry.
    Borrowed(c_int),
    Held(Fd),
}

impl Entry<'_> {
    pub(crate) const fn dirfd(&self) -> c_int {
        match &self.dir {
            Directory::Borrowed(fd) => *fd,
            Directory::Held(fd) => fd.raw(),
        }
    }

    /// The descriptor that holds the directory, if it is not that of another entry.
    pub(crate) fn into_held(self) -> Option<Fd> {
        match self.dir {
            Directory::Borrowed(_) => None,
            Directory::Held(fd) => Some(fd),
        }
    }

    /// Whether a slash follows the name.
    pub(crate) const fn wants_directory(&self) -> bool {
        self.slash
    }

    pub(crate) fn name(&self) -> &CStr {
        self.text.c_str(self.name_at)
    }

    /// The canonical path of the entry.
    pub(crate) fn path(&self) -> &[u8] {
        match self.text.as_bytes() {
            [path @ .., b'/'] if self.slash => path,
            path => path,
        }
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request::canonical(self.path())
    }
}

/// Pins the directory that `spelling`'s last component is an entry of. Afterwards `spelling`
/// holds the canonical path. `None` where the last component is `.`, `..` or the root, which
/// name no entry.
///
/// # Errors
/// The kernel's, where there is no such directory; `EACCES` where the place cannot be told.
pub(crate) fn entry<'a>(
    image: &Image<'_>,
    spelling: &'a mut Spelling,
) -> Result<Option<Entry<'a>>, Errno> {
    if !spelling.split().ordinary {
        return Ok(None);
    }
    expand_alias(image, spelling, false)?;
    let slash = spelling.wants_directory();
    let name_at = spelling.split().name_at;
    let dir = match pin_parent(spelling, name_at) {
        Ok(fd) => fd,
        Err(_) => pin_parent_through_links(spelling, name_at)?,
    };
    let name_at = spelling.split().name_at;
    Ok(Some(Entry { dir: Directory::Held(dir), text: spelling.text(), name_at, slash }))
}

/// As [`entry`], where the directory may well be that of `other`, which is held already.
pub(crate) fn entry_beside<'a>(
    image: &Image<'_>,
    other: &Entry<'_>,
    spelling: &'a mut Spelling,
) -> Result<Option<Entry<'a>>, Errno> {
    let split = spelling.split();
    let here = spelling.text().as_bytes().get(..split.name_at);
    let there = other.text.as_bytes().get(..other.name_at);
    if split.ordinary && spelling.is_lexical() && here == there {
        let slash = spelling.wants_directory();
        let dir = Directory::Borrowed(other.dirfd());
        return Ok(Some(Entry { dir, text: spelling.text(), name_at: split.name_at, slash }));
    }
    entry(image, spelling)
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
    for _ in 0..LINK_BUDGET {
        let mut target = PathBuffer::new();
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

/// Replaces a link that was known when the policy was compiled, so that the common case stays
/// common below `/bin` and the like. Where the last component is not followed it stays.
pub(crate) fn expand_alias(
    image: &Image<'_>,
    spelling: &mut Spelling,
    follow: bool,
) -> Result<(), Errno> {
    if !spelling.is_lexical() {
        return Ok(());
    }
    match decide::alias(image, spelling.lexical()) {
        Some((consumed, target)) if follow || consumed < spelling.lexical().len() => {
            spelling.rewrite(consumed, target)
        }
        _ => Ok(()),
    }
}
