//! Hooks for file attributes that exist only on Linux.

use core::ffi::{c_char, c_int, c_uint};

use jp_confine_engine::set_id;

use crate::errno::{Errno, Reply};
use crate::fd_paths::DescriptorLink;
use crate::hooks::attributes::{self, Times, set_some_times, truncate};
use crate::{libc_functions, memory, sys};

/// The mode bits that chmod(2) sets.
const PERMISSIONS: c_uint = 0o7777;
const EXECUTABLE: c_uint = 0o111;

#[unsafe(no_mangle)]
extern "C" fn truncate64(path: *const c_char, length: i64) -> c_int {
    truncate(path, length)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn futimesat(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timeval,
) -> c_int {
    set_some_times(c"futimesat", dirfd, path, Times::from_timeval(times), 0).reply()
}

/// The outcome of a call on a descriptor. If the descriptor is only pinned, repeats the call by the object's name.
/// musl's `fchmod` and `fchown` do that (src/stat/fchmod.c, src/unistd/fchown.c), and its other calls do not.
pub(crate) fn or_by_name(
    outcome: Result<(), Errno>,
    fd: c_int,
    by_name: impl FnOnce(*const c_char) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let is_held = || sys::fcntl(fd, libc::F_GETFD, 0).is_ok();
    if outcome != Err(Errno::EBADF) || libc_functions::is_glibc() || !is_held() {
        return outcome;
    }
    by_name(DescriptorLink::new(fd).as_c_str().as_ptr())
}

/// Whether a file already has `mode`, and the program may set it. Copying programs set the mode that they have just
/// created a file with. The supervisor, which judges each such call (`docs/decisions/0035`), need not see that.
pub(crate) fn has_mode(fd: c_int, mode: c_uint) -> bool {
    own_file(fd).is_some_and(|status| status.st_mode & PERMISSIONS == mode & PERMISSIONS)
}

/// Whether a file already has this owner, and the program may set it. False for executable files, because setting the
/// owner clears their set-ID bits and capabilities.
pub(crate) fn has_owner(fd: c_int, [uid, gid]: [c_uint; 2]) -> bool {
    let stays = |wanted: c_uint, has: c_uint| wanted == c_uint::MAX || wanted == has;
    own_file(fd).is_some_and(|status| {
        let is_plain = status.st_mode & (set_id::BITS | EXECUTABLE) == 0;
        is_plain && stays(uid, status.st_uid) && stays(gid, status.st_gid)
    })
}

/// The status of a regular file that the program owns and has open for writing. None without a supervisor.
fn own_file(fd: c_int) -> Option<libc::stat> {
    let writes = |flags: c_int| matches!(flags & libc::O_ACCMODE, libc::O_WRONLY | libc::O_RDWR);
    if !sys::is_supervised() || !sys::fcntl(fd, libc::F_GETFL, 0).is_ok_and(writes) {
        return None;
    }
    let status = sys::fstat(fd).ok()?;
    let is_own = sys::process::effective_user().is_ok_and(|user| user == status.st_uid);
    (is_own && status.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(status)
}

/// Whether neither of two times is to be set. Then the kernel does not look at the path (`utimensat(2)`).
///
/// # Errors
/// `EFAULT`.
pub(crate) fn sets_nothing(times: *const libc::timespec) -> Result<bool, Errno> {
    if times.is_null() {
        return Ok(false);
    }
    let omits = |index: usize| -> Result<bool, Errno> {
        let at = times.wrapping_add(index);
        memory::check(at.addr())?;
        memory::check(at.addr().wrapping_add(8))?;
        // SAFETY: both words were just found readable.
        Ok(unsafe { at.read_unaligned() }.tv_nsec == libc::UTIME_OMIT)
    };
    Ok(omits(0)? && omits(1)?)
}

/// utimensat(2) with the kernel's meaning: without a path it is about the descriptor.
pub(crate) fn utimensat_by_number(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timespec,
    flags: c_int,
) -> c_int {
    if !path.is_null() {
        return attributes::utimensat(dirfd, path, times, flags);
    }
    match sets_nothing(times) {
        Ok(true) => 0,
        Ok(false) if dirfd == libc::AT_FDCWD => Err::<c_int, _>(Errno::EFAULT).reply(),
        Ok(false) if flags != 0 => Err::<c_int, _>(Errno::EINVAL).reply(),
        Ok(false) => attributes::futimens(dirfd, times),
        Err(errno) => Err::<c_int, _>(errno).reply(),
    }
}
