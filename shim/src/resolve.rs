//! Pinning: holding the object that a path leads to, and knowing its canonical path.
//!
//! A pinned object is held by an `O_PATH` descriptor, so that what is judged is what is used,
//! whatever happens to names meanwhile. The kernel does the walking; `/proc/self/fd` tells where
//! it ended.

use core::ffi::{CStr, c_int};

use jp_confine_policy::decide::{self, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::errno::Errno;
use crate::path::{PathBuffer, Spelling};
use crate::places::{self, DescriptorLink};
use crate::report::{self, Reason, Subject};
use crate::sys::{self, Fd};

/// How many links are followed by hand before `ELOOP` (`path_resolution(7)`).
pub(crate) const LINK_BUDGET: u32 = 40;

/// An object, held.
pub(crate) struct Pinned {
    pub(crate) fd: Fd,
    /// Its canonical path, or `pipe:[…]` and the like for an object without one.
    pub(crate) path: PathBuffer,
}

impl Pinned {
    /// A name through which the kernel reaches exactly this object.
    pub(crate) fn link(&self) -> DescriptorLink {
        DescriptorLink::new(self.fd.raw())
    }

    /// An object without a place in any directory.
    pub(crate) fn is_anonymous(&self) -> bool {
        is_anonymous(self.path.as_bytes())
    }

    pub(crate) fn request<'a>(&'a self, route: &'a [u8]) -> Request<'a> {
        Request { path: self.path.as_bytes(), route }
    }

    pub(crate) fn is_symlink(&self) -> bool {
        sys::fstat(self.fd.raw()).is_ok_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFLNK)
    }
}

/// Whether a `/proc/self/fd` text names an object that has no path.
pub(crate) fn is_anonymous(text: &[u8]) -> bool {
    [&b"pipe:["[..], b"socket:[", b"anon_inode:", b"/memfd:", b"mnt:[", b"net:[", b"pid:["]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// Pins what `spelling` leads to; with `O_NOFOLLOW` in `flags` a link at the end itself.
///
/// # Errors
/// The kernel's, for a path that leads nowhere; `EACCES` where the place cannot be told.
#[inline(never)]
pub(crate) fn pin(spelling: &Spelling, flags: c_int) -> Result<Pinned, Errno> {
    let (dirfd, path) = spelling.kernel();
    pin_at(dirfd, path, flags)
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
        let (dirfd, path) = spelling.kernel();
        let flags = libc::O_PATH | libc::O_CLOEXEC | flags;
        match sys::openat2(dirfd, path, flags, 0, sys::NO_SYMLINKS) {
            Err(Errno::ELOOP | Errno::ENOSYS | Errno::EPERM) => {}
            settled => return settled,
        }
    }
    match pin(spelling, flags) {
        Ok(pinned) if pinned.is_anonymous() => {
            require_own(image, call, spelling)?;
            Ok(pinned.fd)
        }
        Ok(pinned) => {
            let route = spelling.lexical();
            let subject = Subject { call, path: pinned.path.as_bytes(), route };
            report::settle(image, judge(image, &pinned.request(route)), subject)?;
            Ok(pinned.fd)
        }
        Err(errno) => {
            spelling.collapse();
            let subject = Subject::new(call, spelling.lexical());
            report::settle(image, judge(image, &spelling.request()), subject)?;
            Err(errno)
        }
    }
}

/// As [`pin`], of a path relative to a descriptor.
///
/// # Errors
/// As [`pin`].
pub(crate) fn pin_at(dirfd: c_int, path: &CStr, flags: c_int) -> Result<Pinned, Errno> {
    let fd = sys::openat(dirfd, path, libc::O_PATH | libc::O_CLOEXEC | flags, 0)?;
    let mut pinned = Pinned { fd, path: PathBuffer::new() };
    locate(pinned.fd.raw(), &mut pinned.path)?;
    Ok(pinned)
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
    let Some(rest) = path.as_bytes().strip_prefix(b"/proc/") else { return Ok(()) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // Not getpid(2): the process may count in another pid namespace than this /proc does.
    let mut own = PathBuffer::new();
    own.fill(|bytes, room| sys::readlinkat(libc::AT_FDCWD, c"/proc/self", bytes, room))?;
    if rest.get(..digits) != Some(own.as_bytes()) {
        return Ok(());
    }
    own.clear();
    own.push(b"/proc/self")?;
    own.push(rest.get(digits..).unwrap_or(&[]))?;
    path.clear();
    path.push(own.as_bytes())
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
    /// The program's own descriptor, or the working directory.
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
    if spelling.is_lexical() && spelling.tail() != 0 && name_at == spelling.tail() {
        let dir = Directory::Borrowed(spelling.dirfd());
        return Ok(Some(Entry { dir, text: spelling.text(), name_at, slash }));
    }
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

/// Makes `spelling`, whose directory is canonical, the place that its last component, a link to
/// `target`, leads to.
pub(crate) fn follow(spelling: &mut Spelling, target: &PathBuffer) -> Result<(), Errno> {
    let mut next = PathBuffer::new();
    if target.as_bytes().first() != Some(&b'/') {
        let name_at = spelling.split().name_at;
        next.push(spelling.text().as_bytes().get(..name_at).unwrap_or(&[]))?;
    }
    next.push(target.as_bytes())?;
    spelling.read_own(libc::AT_FDCWD, next.as_bytes())
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
        follow(spelling, &target)?;
    }
    let subject = Subject::new(call, spelling.lexical());
    Err(report::refused(image, Reason::OtherProcess, subject))
}

/// The common case: no link on the way, so that the spelling is the canonical path.
fn pin_parent(spelling: &Spelling, name_at: usize) -> Result<Fd, Errno> {
    if !spelling.is_lexical() {
        return Err(Errno::ELOOP);
    }
    let mut parent = PathBuffer::new();
    let start = spelling.tail();
    parent.push(spelling.text().as_bytes().get(start..name_at).unwrap_or(&[]))?;
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    sys::openat2(spelling.kernel().0, parent.c_str(0), flags, 0, sys::NO_SYMLINKS)
}

/// Lets the kernel follow the links, asks where it arrived, and spells the entry from there.
#[inline(never)]
fn pin_parent_through_links(spelling: &mut Spelling, name_at: usize) -> Result<Fd, Errno> {
    let mut text = PathBuffer::new();
    let (dirfd, _) = spelling.kernel();
    let start = spelling.tail();
    text.push(spelling.text().as_bytes().get(start..name_at).unwrap_or(&[]))?;
    if text.len() == 0 {
        text.push(b".")?;
    }
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let fd = sys::openat(dirfd, text.c_str(0), flags, 0)?;
    locate(fd.raw(), &mut text)?;
    if text.as_bytes().first() != Some(&b'/') {
        return Err(Errno::EACCES);
    }
    text.push_separator()?;
    text.push(spelling.text().as_bytes().get(name_at..).unwrap_or(&[]))?;
    spelling.become_absolute(&text)?;
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
