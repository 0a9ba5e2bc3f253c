//! Pins and judges the object of a path or descriptor. Used by the hooks for attributes.

use core::ffi::{CStr, c_char, c_int};

use jp_confine_engine::decide::{self, Request, Verdict};
use jp_confine_engine::image::Image;
use jp_confine_engine::{Capabilities, config_mode};
#[cfg(target_os = "linux")]
use jp_confine_engine::{decide::Denial, tier::Restraint};

use crate::buffer::PathBuffer;
use crate::errno::Errno;
use crate::path::Spelling;
use crate::report::{self, Subject};
use crate::sys::{self, Object};
use crate::{resolve, session};

/// Pins the object that `path` leads to, if `need` is granted on it. With `O_NOFOLLOW` in `flags`, a symlink at the end
/// is the object.
///
/// # Errors
/// As openat(2) with `O_PATH`; `EACCES` or `ENOENT` if the policy denies it.
pub(crate) fn at_path(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    need: Capabilities,
) -> Result<Object, Errno> {
    at_path_by(call, dirfd, path, flags, need, decide::access)
}

/// Like [`at_path`], for a change of mode. For git configuration files, a supervisor decides which modes are allowed.
/// It judges each change of a mode, even if another layer has.
///
/// # Errors
/// As [`at_path`].
#[inline(never)]
pub(super) fn for_mode(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
) -> Result<Object, Errno> {
    at_path_by(call, dirfd, path, flags, Capabilities::UPDATE, |image, request, need| {
        match decide::access(image, request, need) {
            Verdict::Deny(denial) if denial.ask && is_judged_later(image, request) => {
                Verdict::Allow
            }
            verdict => verdict,
        }
    })
}

#[cold]
#[inline(never)]
fn is_judged_later(image: &Image<'_>, request: &Request<'_>) -> bool {
    image.behind().supervisor && config_mode::is_kept_by_list_alone(image, request)
}

/// Like [`at_path`], for an object that libc then opens itself. If the supervisor sees that open and can show a prompt,
/// the library shows none, to avoid a second one. Only the library prompts about sensitive objects.
///
/// # Errors
/// As [`at_path`].
#[cfg(target_os = "linux")]
pub(super) fn for_libc(
    call: &CStr,
    path: *const c_char,
    need: Capabilities,
) -> Result<Object, Errno> {
    at_path_by(call, libc::AT_FDCWD, path, 0, need, |image, request, need| {
        match decide::access(image, request, need) {
            Verdict::Deny(denial) if need == Capabilities::READ && asks_later(image, &denial) => {
                Verdict::Allow
            }
            verdict => verdict,
        }
    })
}

#[cfg(target_os = "linux")]
fn asks_later(image: &Image<'_>, denial: &Denial) -> bool {
    let decided = image.at_level(denial.level);
    denial.ask && denial.restraint != Some(Restraint::Sensitive) && decided.behind().supervisor
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "it is a part of both, and of the stack that they need")]
fn at_path_by(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    need: Capabilities,
    judge: impl Fn(&Image<'_>, &Request<'_>, Capabilities) -> Verdict,
) -> Result<Object, Errno> {
    let image = session::image()?;
    let mut spelling = Spelling::new();
    spelling.read(dirfd, path)?;
    let pinned = resolve::pin_judged(image, call, &mut spelling, flags, |image, request| {
        judge(image, request, need)
    });
    #[cfg(target_os = "linux")]
    if pinned.is_err() && need == Capabilities::UPDATE && image.is_learned_from() {
        ask_for_update(image, &spelling, dirfd, path, flags);
    }
    pinned
}

/// Shows a learning supervisor the request for a missing object, unless it was denied. Uses a call that changes
/// nothing.
#[cfg(target_os = "linux")]
#[cold]
#[inline(never)]
fn ask_for_update(
    image: &Image<'_>,
    spelling: &Spelling,
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
) {
    let request = Request::canonical(spelling.lexical());
    if decide::access(image, &request, Capabilities::UPDATE) != Verdict::Allow {
        return;
    }
    let stays = usize::MAX;
    let stops = if flags & libc::O_NOFOLLOW != 0 { libc::AT_SYMLINK_NOFOLLOW } else { 0 };
    let path = path.expose_provenance();
    let arguments = [sys::word(dirfd), path, stays, stays, sys::word(stops), 0];
    let _ = sys::call(libc::SYS_fchownat, arguments);
}

/// Whether `need` is granted on the object of an open descriptor. Objects without a path are the program's own.
///
/// # Errors
/// `EBADF`; `EACCES` if the policy denies it.
pub(crate) fn at_descriptor(call: &CStr, fd: c_int, need: Capabilities) -> Result<(), Errno> {
    let image = session::image()?;
    let mut path = PathBuffer::new();
    resolve::locate(fd, &mut path)?;
    if resolve::is_anonymous(path.as_bytes()) {
        return Ok(());
    }
    let request = Request::canonical(path.as_bytes());
    let verdict = decide::opened(image, &request, need, || is_writable(fd));
    report::apply_verdict(image, verdict, Subject::new(call, path.as_bytes()))
}

/// Whether a descriptor is open for writing.
#[cold]
fn is_writable(fd: c_int) -> bool {
    sys::fcntl(fd, libc::F_GETFL, 0)
        .is_ok_and(|flags| matches!(flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR))
}
