//! Opening files: the `open` family, and the mediated open that everything else is built on.

use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_policy::Capabilities;
use jp_confine_policy::decide::{self, Denial, OpenRequest, OpenVerdict, Request, Verdict};
use jp_confine_policy::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::path::Spelling;
use crate::places::DescriptorLink;
use crate::report::{self, Subject};
use crate::resolve::{self, LINK_BUDGET};
use crate::{cancellation, links, session, sys};

/// The flags openat2(2) knows. open(2) ignores others, openat2 refuses them.
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

/// The flags that mean something beside `O_PATH` (open(2)).
const KNOWN_WITH_PATH: c_int =
    libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// An open as the program asked for it.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) flags: c_int,
    pub(crate) mode: c_uint,
    /// Resolve flags of openat2(2), on top of the shim's own.
    pub(crate) resolve: u64,
    /// The thread may be cancelled where the open waits.
    pub(crate) cancellable: bool,
}

impl How {
    pub(crate) const fn new(flags: c_int, mode: c_uint) -> Self {
        let known = if flags & libc::O_PATH == 0 { KNOWN } else { KNOWN_WITH_PATH };
        Self { flags: flags & known, mode, resolve: 0, cancellable: false }
    }

    /// As one of the calls that are cancellation points.
    pub(crate) const fn cancellable(self) -> Self {
        Self { cancellable: true, ..self }
    }

    /// Makes the call in which the open waits for the other end of a fifo.
    fn wait<T>(self, call: impl FnOnce() -> T) -> T {
        if self.cancellable { cancellation::point(call) } else { call() }
    }

    const fn has(self, flag: c_int) -> bool {
        self.flags & flag == flag
    }

    const fn with(self, flag: c_int) -> Self {
        Self { flags: self.flags | flag, ..self }
    }

    const fn without(self, flag: c_int) -> Self {
        Self { flags: self.flags & !flag, ..self }
    }

    const fn exclusive(self) -> bool {
        self.has(libc::O_CREAT | libc::O_EXCL)
    }

    /// A link at the end of the path is not followed.
    const fn stops_at_link(self) -> bool {
        self.has(libc::O_NOFOLLOW) || self.exclusive()
    }

    /// Everything the open may need, whether or not the file exists.
    fn need(self) -> Capabilities {
        let access = self.flags & libc::O_ACCMODE;
        let write = access != libc::O_RDONLY || self.has(libc::O_TRUNC);
        Capabilities::NONE
            .with_if(access != libc::O_WRONLY, Capabilities::READ)
            .with_if(write, Capabilities::UPDATE)
            .with_if(self.has(libc::O_CREAT), Capabilities::CREATE)
    }

    /// What the policy says; a bare `O_PATH` descriptor gives no access, so that it only must not
    /// show what is hidden.
    fn judge(self, image: &Image<'_>, request: &Request<'_>) -> OpenVerdict {
        if self.has(libc::O_PATH) {
            return match decide::metadata(image, request) {
                Verdict::Allow => OpenVerdict::Allow,
                Verdict::Deny(denial) => OpenVerdict::Deny(denial),
            };
        }
        let access = self.flags & libc::O_ACCMODE;
        let how = OpenRequest {
            read: access != libc::O_WRONLY,
            write: access != libc::O_RDONLY || self.has(libc::O_TRUNC),
            create: self.has(libc::O_CREAT),
            exclusive: self.exclusive(),
        };
        decide::open(image, request, how)
    }
}

/// The mediated open.
///
/// # Errors
/// As open(2); `EACCES` or `ENOENT` where the policy refuses.
pub(crate) fn open_at(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    how: How,
) -> Result<c_int, Errno> {
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(dirfd, path)?;
    open_spelled(image, call, &mut spelling, how)
}

/// As [`open_at`], of a path already read.
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
    if spelling.is_lexical() {
        match how.judge(image, &spelling.request()) {
            OpenVerdict::Deny(denial) => refusal = Some(denial),
            verdict => {
                if links::are_expected(spelling.lexical())
                    && let Some(fd) = open_beneath(image, spelling, how)
                {
                    return Ok(fd);
                }
                let subject = Subject::new(call, spelling.lexical());
                let (root, path) = spelling.rooted();
                match attempt(image, verdict, subject, root, path, how) {
                    Err(Errno::ELOOP) => {
                        links::expect(spelling.lexical());
                        if let Some(fd) = open_beneath(image, spelling, how) {
                            return Ok(fd);
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

/// Why no file is made of a name with a slash behind it, nor of `.` or `..`, be there one or not.
#[cold]
#[inline(never)]
fn make_directory(image: &Image<'_>, call: &CStr, spelling: &mut Spelling, how: How) -> Errno {
    let outcome = if spelling.is_dotted() {
        let flags = libc::O_DIRECTORY;
        let judge = |image: &Image<'_>, request: &Request<'_>| match how.judge(image, request) {
            OpenVerdict::Deny(denial) => Verdict::Deny(denial),
            _ => Verdict::Allow,
        };
        resolve::pin_judged(image, call, spelling, flags, judge).map(|_| ())
    } else {
        match resolve::entry(image, spelling) {
            Ok(Some(entry)) => {
                let subject = Subject::new(call, entry.path());
                report::settle_open(image, how.judge(image, &entry.request()), subject).map(|_| ())
            }
            Ok(None) => Ok(()),
            Err(errno) => return nowhere(image, call, spelling, how, None, errno),
        }
    };
    outcome.err().unwrap_or(Errno::EISDIR)
}

/// Opens a name at which no link is followed, as far as `verdict` allows.
fn attempt(
    image: &Image<'_>,
    verdict: OpenVerdict,
    subject: Subject<'_>,
    dirfd: c_int,
    path: &CStr,
    how: How,
) -> Result<c_int, Errno> {
    let open = |how: How| {
        let resolve = how.resolve | sys::NO_SYMLINKS;
        how.wait(|| sys::openat2(dirfd, path, how.flags, how.mode, resolve)).map(sys::Fd::into_raw)
    };
    match verdict {
        OpenVerdict::Allow => open(how),
        OpenVerdict::OnlyNew(_) => open(how.with(libc::O_EXCL)),
        OpenVerdict::OnlyExisting(denial) => match open(how.without(libc::O_CREAT)) {
            Err(Errno::ENOENT) => Err(report::denied(image, denial, subject)),
            opened => {
                opened.and_then(|fd| refuse_directory(sys::Fd::adopt(fd)).map(sys::Fd::into_raw))
            }
        },
        OpenVerdict::Deny(denial) => Err(report::denied(image, denial, subject)),
    }
}

/// `O_CREAT` never opens a directory (open(2), `EISDIR`), also where it had to be left out.
fn refuse_directory(object: sys::Fd) -> Result<sys::Fd, Errno> {
    let kind = sys::fstat(object.raw())?.st_mode & libc::S_IFMT;
    if kind == libc::S_IFDIR { Err(Errno::EISDIR) } else { Ok(object) }
}

/// Whether an error is the kernel's in any case, and not a refusal.
const fn is_open(verdict: OpenVerdict) -> bool {
    matches!(verdict, OpenVerdict::Allow | OpenVerdict::OnlyNew(_))
}

/// Lets the kernel follow links, but none that leads out of the directory that the path is relative
/// to, where that directory and everything below it grants what is needed. `None` where this does
/// not settle it.
#[inline(never)]
fn open_beneath(image: &Image<'_>, spelling: &mut Spelling, how: How) -> Option<c_int> {
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
    let opened = how.wait(|| sys::openat2(pin.raw(), path, how.flags, how.mode, sys::BENEATH));
    in_place_of(pin, &opened.ok()?, how).ok()
}

/// The slow path: a link somewhere, or a spelling that only the kernel understands.
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

/// A path that leads nowhere gets the verdict of its spelling, so that a refusal tells nothing
/// about what exists (spec §1); but tools look for their files in every directory above the
/// workspace, and there that something is absent is no secret.
#[cold]
fn nowhere(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
    refusal: Option<Denial>,
    errno: Errno,
) -> Errno {
    spelling.collapse();
    let refusal = refusal.or_else(|| match how.judge(image, &spelling.request()) {
        OpenVerdict::Deny(denial) => Some(denial),
        _ => None,
    });
    match refusal {
        Some(denial) if how.has(libc::O_CREAT) || !is_absent(denial, spelling, errno) => {
            report::denied(image, denial, Subject::new(call, spelling.lexical()))
        }
        _ => errno,
    }
}

/// Whether the path leads nowhere because what everybody may see of it is absent.
fn is_absent(denial: Denial, spelling: &mut Spelling, errno: Errno) -> bool {
    if errno != Errno::ENOENT || denial.visible == 0 {
        return false;
    }
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let found = spelling
        .text_mut()
        .with_part(0, denial.visible, |visible| sys::openat(libc::AT_FDCWD, visible, flags, 0));
    found.is_err_and(|errno| errno == Errno::ENOENT)
}

/// Opens what exists at the end of the path: holds it, has it judged, and opens it anew through
/// its descriptor, with the flags asked.
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
    judge_held(image, call, spelling, &held, &path, how)
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
    let request = Request { path: path.as_bytes(), route: spelling.lexical() };
    let existing = if how.exclusive() { how } else { how.without(libc::O_CREAT) };
    let subject = Subject { call, path: request.path, route: request.route };
    report::settle_open(image, existing.judge(image, &request), subject)?;
    if how.exclusive() {
        return Err(Errno::EEXIST);
    }
    if how.has(libc::O_NOFOLLOW) && !how.has(libc::O_PATH) && resolve::is_symlink(held) {
        return Err(Errno::ELOOP);
    }
    Ok(())
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
    let link = DescriptorLink::new(held.raw());
    let opened = how.wait(|| sys::openat(libc::AT_FDCWD, link.as_c_str(), again.flags, 0))?;
    in_place_of(held, &opened, how)
}

/// The descriptor under the number of the pin, which was the lowest free one: the one that the
/// program must get (open(2)).
fn in_place_of(pin: sys::Fd, opened: &sys::Fd, how: How) -> Result<c_int, Errno> {
    sys::replace(&pin, opened, how.flags & libc::O_CLOEXEC)?;
    Ok(pin.into_raw())
}

enum Failure {
    /// The errno to give.
    Settled(Errno),
    /// There is no such place; the spelling decides what the program may know.
    Nowhere(Errno),
}

/// Creates a file at the end of a path with links in it, the last of which may dangle. `why` is what
/// keeps the path from leading anywhere.
#[inline(never)]
fn create(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
    why: Errno,
) -> Result<c_int, Failure> {
    for _ in 0..LINK_BUDGET {
        let mut next = PathBuffer::new();
        let entry = resolve::entry(image, spelling).map_err(Failure::Nowhere)?;
        let entry = entry.ok_or(Failure::Nowhere(why))?;
        if entry.wants_directory() {
            return Err(Failure::Nowhere(Errno::EISDIR));
        }
        let link =
            next.fill(|bytes, room| sys::readlinkat(entry.dirfd(), entry.name(), bytes, room));
        if link.is_err() || how.stops_at_link() {
            let verdict = how.judge(image, &entry.request());
            let subject = Subject::new(call, entry.path());
            let how_here = how.with(libc::O_NOFOLLOW);
            match attempt(image, verdict, subject, entry.dirfd(), entry.name(), how_here) {
                Err(Errno::ELOOP) if !how.stops_at_link() => continue,
                Err(Errno::EEXIST) if !how.exclusive() => {
                    return Err(Failure::Settled(only_new(image, verdict, subject)));
                }
                Ok(fd) => {
                    return under_lowest(entry.into_held(), fd, how).map_err(Failure::Settled);
                }
                Err(errno) => return Err(Failure::Settled(errno)),
            }
        }
        spelling.follow(next.as_bytes()).map_err(Failure::Settled)?;
    }
    Err(Failure::Settled(Errno::ELOOP))
}

/// As [`in_place_of`], where a directory may have been held.
fn under_lowest(held: Option<sys::Fd>, fd: c_int, how: How) -> Result<c_int, Errno> {
    match held {
        Some(held) => in_place_of(held, &sys::Fd::adopt(fd), how),
        None => Ok(fd),
    }
}

/// A file stands where only a new one would have been allowed.
fn only_new(image: &Image<'_>, verdict: OpenVerdict, subject: Subject<'_>) -> Errno {
    match verdict {
        OpenVerdict::OnlyNew(denial) => report::denied(image, denial, subject),
        _ => Errno::EEXIST,
    }
}

/// `O_TMPFILE`: a file without a name is created in a directory.
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
    // The kernel shows such files as `#INODE`; any name below the directory is judged alike.
    path.push(b"#")?;
    let request = Request { path: path.as_bytes(), route: spelling.lexical() };
    let verdict = decide::access(image, &request, Capabilities::CREATE);
    let subject = Subject { call, path: request.path, route: request.route };
    report::settle(image, verdict, subject)?;
    let opened = sys::openat(directory.raw(), c".", how.flags, how.mode)?;
    in_place_of(directory, &opened, how)
}

/// Whether the object of an open descriptor may be opened once more, differently.
///
/// # Errors
/// `EBADF`; `EACCES` or `ENOENT` where the policy refuses.
pub(crate) fn judge_reopen(call: &CStr, fd: c_int, how: How) -> Result<(), Errno> {
    let image = session::image()?;
    let mut path = PathBuffer::new();
    resolve::locate(fd, &mut path)?;
    if resolve::is_anonymous(path.as_bytes()) {
        return Ok(());
    }
    let existing = how.without(libc::O_CREAT | libc::O_EXCL);
    let verdict = existing.judge(image, &Request::canonical(path.as_bytes()));
    report::settle_open(image, verdict, Subject::new(call, path.as_bytes())).map(|_| ())
}

/// open(2), without its variable argument: the C entry points extract that.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn jp_open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    open_at(c"open", libc::AT_FDCWD, path, How::new(flags, mode).cancellable()).reply()
}

/// openat(2), likewise.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn jp_openat(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    open_at(c"openat", dirfd, path, How::new(flags, mode).cancellable()).reply()
}

/// creat(2).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn creat(path: *const c_char, mode: c_uint) -> c_int {
    let how = How::new(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    open_at(c"creat", libc::AT_FDCWD, path, how.cancellable()).reply()
}

#[unsafe(no_mangle)]
extern "C" fn creat64(path: *const c_char, mode: c_uint) -> c_int {
    creat(path, mode)
}

/// What `open` is in a program built with `_FORTIFY_SOURCE`.
#[unsafe(no_mangle)]
extern "C" fn __open_2(path: *const c_char, flags: c_int) -> c_int {
    jp_open(path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __open64_2(path: *const c_char, flags: c_int) -> c_int {
    jp_open(path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __openat_2(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    jp_openat(dirfd, path, flags, 0)
}

#[unsafe(no_mangle)]
extern "C" fn __openat64_2(dirfd: c_int, path: *const c_char, flags: c_int) -> c_int {
    jp_openat(dirfd, path, flags, 0)
}
