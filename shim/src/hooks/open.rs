//! Hooks for the `open` family, and the mediated open that all other opens use.

use core::ffi::{CStr, c_char, c_int, c_uint};

use jp_confine_engine::decide::{self, OpenRequest, OpenVerdict, Request};
use jp_confine_engine::image::Image;
use jp_confine_engine::no_entry;
use jp_confine_engine::{report_protocol, set_id};

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
use crate::hooks::entries::Enforcing;
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::resolve::{self, LINK_BUDGET, Route};
use crate::{cancellation, session, sys};

#[cfg(target_os = "linux")]
#[path = "open/linux.rs"]
mod system;
#[cfg(target_os = "macos")]
#[path = "open/macos.rs"]
mod system;

pub(crate) use system::open_spelled;

/// The parameters of an open, as the program gave them.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) flags: c_int,
    pub(crate) mode: c_uint,
    /// Resolve flags of openat2(2), in addition to the library's own.
    #[cfg(target_os = "linux")]
    pub(crate) resolve: u64,
    /// Whether the thread may be cancelled while the open waits.
    pub(crate) cancellable: bool,
}

impl How {
    pub(crate) const fn new(flags: c_int, mode: c_uint) -> Self {
        Self {
            flags: system::known(flags),
            mode: set_id::of_new(mode),
            #[cfg(target_os = "linux")]
            resolve: 0,
            cancellable: false,
        }
    }

    /// Marks the open as a cancellation point.
    pub(crate) const fn cancellable(self) -> Self {
        Self { cancellable: true, ..self }
    }

    /// Makes the call that opens, which may wait for the other end of a fifo.
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

    /// The name under which a denied exclusive open is reported.
    const fn told(self) -> &'static CStr {
        report_protocol::exclusive(self.flags & libc::O_ACCMODE == libc::O_RDWR, self.mode)
    }

    /// Whether the open only reads or lists, and neither creates nor changes anything.
    #[cfg(target_os = "linux")]
    const fn only_reads(self) -> bool {
        const ELSE: c_int = libc::O_ACCMODE
            | libc::O_CREAT
            | libc::O_TRUNC
            | libc::O_PATH
            | libc::O_TMPFILE & !libc::O_DIRECTORY;
        self.flags & ELSE == libc::O_RDONLY && self.resolve == 0
    }

    /// Whether a symlink at the end of the path is not followed.
    const fn stops_at_link(self) -> bool {
        self.flags & system::STOPS_AT_LINK != 0 || self.exclusive()
    }

    /// The open as the policy judges it.
    const fn request(self) -> OpenRequest {
        OpenRequest::of_flags(self.flags)
    }

    /// The policy's verdict.
    #[inline(never)] // frees its stack before a denial is reported
    pub(super) fn judge(self, image: &Image<'_>, request: &Request<'_>) -> OpenVerdict {
        decide::open(image, request, self.request())
    }

    /// Judges the open, and reports or prompts on a denial.
    ///
    /// # Errors
    /// `EACCES` or `ENOENT` if the policy denies it.
    pub(super) fn apply_verdict(
        self,
        image: &Image<'_>,
        request: &Request<'_>,
        subject: Subject<'_>,
    ) -> Result<OpenVerdict, Errno> {
        report::apply_open_verdict(
            image,
            request,
            |image, request| self.judge(image, request),
            subject,
        )
    }
}

/// Opens a file if the policy allows it.
///
/// # Errors
/// As open(2); `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn open_at(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    how: How,
) -> Result<c_int, Errno> {
    let image = session::image()?;
    system::open_as_held(image, dirfd, path, how, || judge_and_open(image, call, dirfd, path, how))
}

#[inline(never)] // keeps its stack out of the common case
fn judge_and_open(
    image: &Image<'_>,
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    how: How,
) -> Result<c_int, Errno> {
    let mut spelling = Spelling::new();
    spelling.read(dirfd, path)?;
    let is_plain = || matches!(call.to_bytes(), b"open" | b"openat" | b"fopen");
    let call = if how.exclusive() && is_plain() { how.told() } else { call };
    #[cfg(target_os = "linux")]
    if system::may_write_git_link(image, &spelling, how) {
        return sys::open_by_supervisor(dirfd, path, how.flags, how.mode);
    }
    open_spelled(image, call, &mut spelling, how)
}

enum Failure {
    /// The errno to return.
    Settled(Errno),
    /// The place does not exist. Its spelling decides what the program may learn.
    Nowhere(Errno),
}

/// The error for a path that leads nowhere.
#[cold]
#[inline(never)]
fn judge_missing(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
    errno: Errno,
) -> Errno {
    let route = match Route::of(image, spelling) {
        Ok(route) => route,
        Err(unknown) => return unknown,
    };
    resolve::place_absent(image, spelling);
    let place = route.request(spelling.lexical());
    no_entry::open_error(&Enforcing { image, call }, how.request(), &place, errno, is_absent)
}

/// Whether nothing is at the path.
fn is_absent(path: &[u8]) -> bool {
    let Ok(mut name) = MmapBox::<PathBuffer>::blank() else { return false };
    name.push(path).is_ok() && sys::find(libc::AT_FDCWD, name.c_str(0)) == Err(Errno::ENOENT)
}

/// Opens a name without following a symlink at its end, as far as `verdict` allows.
fn attempt(
    image: &Image<'_>,
    verdict: OpenVerdict,
    subject: Subject<'_>,
    dirfd: c_int,
    path: &CStr,
    how: How,
) -> Result<c_int, Errno> {
    let open =
        |how: How| how.wait(|| system::open_without_links(dirfd, path, how)).map(sys::Fd::into_raw);
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

/// `O_CREAT` never opens a directory (open(2), `EISDIR`), even if this open had to leave it out.
fn refuse_directory(object: sys::Fd) -> Result<sys::Fd, Errno> {
    let kind = sys::fstat(object.raw())?.st_mode & libc::S_IFMT;
    if kind == libc::S_IFDIR { Err(Errno::EISDIR) } else { Ok(object) }
}

/// Moves the descriptor to the pin's number. That was the lowest free one, which the program must get (open(2)).
fn in_place_of(pin: sys::Fd, opened: &sys::Fd, how: How) -> Result<c_int, Errno> {
    sys::replace(&pin, opened, how.flags & libc::O_CLOEXEC)?;
    Ok(pin.into_raw())
}

/// Creates a file at the end of a path with symlinks. The last one may dangle. `why` is the error that the path gave.
#[inline(never)]
fn create(
    image: &Image<'_>,
    call: &CStr,
    spelling: &mut Spelling,
    how: How,
    why: Errno,
) -> Result<c_int, Failure> {
    let route = Route::of_change(image, spelling).map_err(Failure::Settled)?;
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
            let request = route.request(entry.path());
            let subject = Subject::of(call, &request);
            let verdict = how.apply_verdict(image, &request, subject).map_err(Failure::Settled)?;
            match attempt(image, verdict, subject, entry.dirfd(), entry.name(), how) {
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

/// Like [`in_place_of`], if a directory may be pinned.
fn under_lowest(held: Option<sys::Fd>, fd: c_int, how: How) -> Result<c_int, Errno> {
    match held {
        Some(held) => in_place_of(held, &sys::Fd::adopt(fd), how),
        None => Ok(fd),
    }
}

/// The error for an existing file where the policy allows only a new one.
fn only_new(image: &Image<'_>, verdict: OpenVerdict, subject: Subject<'_>) -> Errno {
    match verdict {
        OpenVerdict::OnlyNew(denial) => report::denied(image, denial, subject),
        _ => Errno::EEXIST,
    }
}

/// Whether the object of an open descriptor may be opened again with other flags.
///
/// # Errors
/// `EBADF`; `EACCES` or `ENOENT` if the policy denies it.
#[inline(never)]
pub(crate) fn judge_reopen(call: &CStr, fd: c_int, how: How) -> Result<(), Errno> {
    let image = session::image()?;
    let mut path = PathBuffer::new();
    resolve::locate(fd, &mut path)?;
    if resolve::is_anonymous(path.as_bytes()) {
        return Ok(());
    }
    let existing = how.without(libc::O_CREAT | libc::O_EXCL);
    let request = Request::canonical(path.as_bytes());
    existing.apply_verdict(image, &request, Subject::new(call, path.as_bytes()))?;
    #[cfg(target_os = "linux")]
    if image.judges_devices() {
        system::apply_verdict_to_device(image, call, fd, &request, how)?;
    }
    Ok(())
}

/// open(2), without its variable argument, which the C entry points extract.
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
#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn creat(path: *const c_char, mode: c_uint) -> c_int {
    let how = How::new(libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, mode);
    open_at(c"creat", libc::AT_FDCWD, path, how.cancellable()).reply()
}
