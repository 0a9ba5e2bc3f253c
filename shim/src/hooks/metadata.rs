//! Hooks for metadata: `stat`, `access`, `readlink`, `realpath`. Metadata is allowed (R6). Only names in a hidden area
//! look absent, and a lexical test alone decides that.

use core::ffi::{c_char, c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::AtomicBool;
#[cfg(target_os = "linux")]
use core::sync::atomic::Ordering;

use jp_confine_engine::decide::{self, Denial, Verdict};
use jp_confine_engine::image::Image;

use crate::buffer::PathBuffer;
use crate::errno::{Errno, Reply};
#[cfg(target_os = "linux")]
use crate::hooks::linux::told_paths;
use crate::memory::Text;
#[cfg(target_os = "linux")]
use crate::mmap_box::MmapBox;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::next::Original;
#[cfg(target_os = "linux")]
use crate::views;
use crate::{memory, session, sys, working_directory};

/// Calls `act` with the name, unless it is in a hidden area. If a view shows the name, `act` gets its own path. Symlinks
/// are followed, except at the end if the call `stops` there. If the name cannot be read, the kernel reports why.
///
/// # Errors
/// `ENOENT` for a hidden name; `EACCES` without a policy; those of `act`.
pub(crate) fn look<T>(
    dirfd: c_int,
    path: *const c_char,
    stops: bool,
    act: impl Fn(c_int, *const c_char) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let entry = None::<(&'static AtomicBool, fn(c_int, *const c_char) -> Result<T, Errno>)>;
    look_at(dirfd, path, stops, act, entry)
}

/// Like [`look`]. The `entry` does the same without following a symlink, and fails with `ELOOP` where it may have met
/// one. Its flag says whether a name was missing since then. If so, others may be missing, too.
///
/// # Errors
/// As [`look`].
pub(crate) fn look_at<T>(
    dirfd: c_int,
    path: *const c_char,
    stops: bool,
    act: impl Fn(c_int, *const c_char) -> Result<T, Errno>,
    entry: Option<(&'static AtomicBool, impl Fn(c_int, *const c_char) -> Result<T, Errno>)>,
) -> Result<T, Errno> {
    #[cfg(target_os = "macos")]
    let _ = (stops, entry);
    let image = session::image()?;
    let Ok(text) = Text::at(path) else { return act(dirfd, path) };
    let is_shown =
        dirfd == libc::AT_FDCWD && stays_below(text) && working_directory::shows_everything(image);
    if !is_shown {
        match require_visible(image, dirfd, text)? {
            Sight::AsNamed => {}
            #[cfg(target_os = "linux")]
            Sight::ThroughView => return look_through_view(image, dirfd, text, stops, act),
        }
    }
    #[cfg(target_os = "linux")]
    if jp_confine_engine::views::exist(image) {
        return look_among_views(image, dirfd, text, stops, act, entry);
    }
    act(dirfd, path)
}

/// Has the kernel look at a name that no view shows. If it finds nothing, a symlink on the way may lead to a view. Where
/// names are missing, looks at the entry itself: then only a symlink takes a second call.
#[cfg(target_os = "linux")]
fn look_among_views<T>(
    image: &Image<'_>,
    dirfd: c_int,
    path: Text,
    stops: bool,
    act: impl Fn(c_int, *const c_char) -> Result<T, Errno>,
    entry: Option<(&'static AtomicBool, impl Fn(c_int, *const c_char) -> Result<T, Errno>)>,
) -> Result<T, Errno> {
    let name = path.as_ptr();
    let entry = entry.filter(|_| !stops);
    let first = entry.as_ref().filter(|(missed, _)| missed.load(Ordering::Relaxed));
    let (found, was_entry) = match first.map(|(missed, entry)| (missed, entry(dirfd, name))) {
        Some((missed, Err(Errno::ELOOP))) => {
            missed.store(false, Ordering::Relaxed);
            (act(dirfd, name), stops)
        }
        Some((_, found)) => (found, true),
        None => (act(dirfd, name), stops),
    };
    let Err(errno) = found else { return found };
    if let Some((missed, _)) = entry
        && errno == Errno::ENOENT
        && !was_entry
    {
        missed.store(true, Ordering::Relaxed);
    }
    if views::may_hide(image, errno) && views::may_lead(dirfd, path, was_entry, errno) {
        return look_through_view(image, dirfd, path, stops, act);
    }
    Err(errno)
}

/// How the kernel gets a name.
enum Sight {
    /// As the program wrote it.
    AsNamed,
    /// By the path that it leads to, because a view is on the way.
    #[cfg(target_os = "linux")]
    ThroughView,
}

/// Denies a name in a hidden area.
///
/// # Errors
/// `ENOENT`.
#[inline(never)] // keeps its stack use from adding up with that of the call
fn require_visible(image: &Image<'_>, dirfd: c_int, path: Text) -> Result<Sight, Errno> {
    let mut spelling = Spelling::new();
    if spelling.read_text(dirfd, path).is_err() {
        return Ok(Sight::AsNamed);
    }
    #[cfg(target_os = "linux")]
    if views::concern(image, &spelling) {
        return Ok(Sight::ThroughView);
    }
    if !spelling.is_lexical() {
        spelling.collapse();
        #[cfg(target_os = "linux")]
        if views::concern(image, &spelling) {
            return Ok(Sight::ThroughView);
        }
    }
    match decide::metadata(image, &spelling.request()) {
        Verdict::Allow => Ok(Sight::AsNamed),
        Verdict::Deny(denial) => Err(absent(image, denial, &spelling)),
    }
}

/// Calls `act` with the path that the name leads to.
#[cfg(target_os = "linux")]
#[cold]
#[inline(never)]
fn look_through_view<T>(
    image: &Image<'_>,
    dirfd: c_int,
    path: Text,
    stops: bool,
    act: impl Fn(c_int, *const c_char) -> Result<T, Errno>,
) -> Result<T, Errno> {
    let mut spelling = MmapBox::<Spelling>::blank()?;
    if spelling.read_text(dirfd, path).is_err() {
        return act(dirfd, path.as_ptr());
    }
    let is_led = views::follow(image, &mut spelling, stops)?;
    if !is_led && !spelling.is_lexical() {
        spelling.collapse();
    }
    match decide::metadata(image, &spelling.request()) {
        Verdict::Allow if is_led => act(libc::AT_FDCWD, spelling.text().c_str(0).as_ptr()),
        Verdict::Allow => act(dirfd, path.as_ptr()),
        Verdict::Deny(denial) => Err(absent(image, denial, &spelling)),
    }
}

/// Denies a name in a hidden area. If the name cannot be read, the kernel reports why.
///
/// # Errors
/// `ENOENT` for a hidden name; `EACCES` without a policy.
#[cfg(target_os = "macos")]
pub(crate) fn visible(dirfd: c_int, path: *const c_char) -> Result<(), Errno> {
    look(dirfd, path, false, |_, _| Ok(()))
}

/// The error for a hidden name. If an object exists there, this records the denial.
#[cold]
#[inline(never)]
fn absent(image: &Image<'_>, denial: Denial, spelling: &Spelling) -> Errno {
    if sys::find(libc::AT_FDCWD, spelling.text().c_str(0)).is_ok() {
        report::denied(image, denial, Subject::new(c"stat", spelling.lexical()));
    }
    Errno::ENOENT
}

/// Whether the path is relative and never goes up, so that it cannot leave the directory by name.
fn stays_below(path: Text) -> bool {
    let mut copy = PathBuffer::new();
    path.first() != b'/'
        && path.copy_to(&mut copy).is_ok()
        && !copy.as_bytes().windows(2).any(|pair| pair == b"..")
}

pub(super) fn status(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> Result<(), Errno> {
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    let ask = |flags| move |dirfd, path| sys::fstatat(dirfd, path, buffer, flags);
    let entry = |dirfd, path| {
        ask(flags | libc::AT_SYMLINK_NOFOLLOW)(dirfd, path)?;
        let mode = buffer.wrapping_byte_add(offset_of!(libc::stat, st_mode));
        // SAFETY: the kernel has just filled this structure.
        not_symlink(unsafe { mode.cast::<libc::mode_t>().read_unaligned() })
    };
    look_at(dirfd, path, stops, ask(flags), Some((&MISSED, entry)))
}

/// See [`look_at`], for the calls of stat(2).
pub(super) static MISSED: AtomicBool = AtomicBool::new(false);

/// Fails if a file of this mode is a symlink.
///
/// # Errors
/// `ELOOP`.
pub(super) const fn not_symlink(mode: libc::mode_t) -> Result<(), Errno> {
    if mode & libc::S_IFMT == libc::S_IFLNK { Err(Errno::ELOOP) } else { Ok(()) }
}

macro_rules! stat_family {
    ($($name:ident: $flags:expr;)*) => {
        $(
            #[cfg_attr(target_os = "linux", unsafe(no_mangle))]
            pub(crate) extern "C" fn $name(path: *const c_char, buffer: *mut c_void) -> c_int {
                status(libc::AT_FDCWD, path, buffer, $flags).reply()
            }
        )*
    };
}

stat_family! {
    stat: 0;
    lstat: libc::AT_SYMLINK_NOFOLLOW;
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fstatat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_void,
    flags: c_int,
) -> c_int {
    status(dirfd, path, buffer, flags).reply()
}

pub(super) fn may(
    dirfd: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> Result<(), Errno> {
    let stops = flags & libc::AT_SYMLINK_NOFOLLOW != 0;
    // A success may be that of a symlink, which always has all rights.
    let entry = |dirfd, path| {
        let found = sys::faccessat(dirfd, path, libc::F_OK, flags | libc::AT_SYMLINK_NOFOLLOW);
        if found == Err(Errno::ENOENT) { found } else { Err(Errno::ELOOP) }
    };
    let ask = |dirfd, path| sys::faccessat(dirfd, path, mode, flags);
    look_at(dirfd, path, stops, ask, Some((&NOT_ACCESSIBLE, entry)))
}

/// See [`look_at`], for the calls of access(2).
static NOT_ACCESSIBLE: AtomicBool = AtomicBool::new(false);

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    may(libc::AT_FDCWD, path, mode, 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn faccessat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_int,
    flags: c_int,
) -> c_int {
    may(dirfd, path, mode, flags).reply()
}

fn link_text(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> Result<usize, Errno> {
    let length = look(dirfd, path, true, |dirfd, path| sys::read_link(dirfd, path, buffer, room))?;
    #[cfg(target_os = "linux")]
    let length = told_paths::shown_link(dirfd, path, (buffer, room), length)?;
    Ok(length)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, room: usize) -> isize {
    link_text(libc::AT_FDCWD, path, buffer, room).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn readlinkat(
    dirfd: c_int,
    path: *const c_char,
    buffer: *mut c_char,
    room: usize,
) -> isize {
    link_text(dirfd, path, buffer, room).reply()
}

pub(crate) type RealPath = extern "C" fn(*const c_char, *mut c_char) -> *mut c_char;

static REALPATH: Original = Original::new(c"realpath");

fn real_path(path: *const c_char, resolved: *mut c_char) -> Result<*mut c_char, Errno> {
    if path.is_null() {
        return Err(Errno::EINVAL);
    }
    memory::first_byte(path)?;
    let original = REALPATH.address().ok_or(Errno::EACCES)?;
    // SAFETY: the address is that of libc's function of this name and type.
    let original = unsafe { core::mem::transmute::<usize, RealPath>(original) };
    let is_led = look(libc::AT_FDCWD, path, false, |_, named| Ok(named != path))?;
    #[cfg(target_os = "linux")]
    if jp_confine_engine::views::exist(session::image()?) {
        return told_paths::real_path(path, resolved, is_led, original);
    }
    let _ = is_led;
    Ok(original(path, resolved))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn realpath(path: *const c_char, resolved: *mut c_char) -> *mut c_char {
    real_path(path, resolved).reply()
}
