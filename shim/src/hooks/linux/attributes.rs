//! What a file is, as only Linux's libraries have it.

use core::ffi::{c_char, c_int};

use crate::errno::{Errno, Reply};
use crate::hooks::attributes::{self, Times, set_some_times, truncate};
use crate::places::DescriptorLink;
use crate::{libc_functions, memory, sys};

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

/// The outcome of a call on a descriptor, made anew by the name of its object where that is only held: musl's
/// `fchmod` and `fchown` do so (src/stat/fchmod.c, src/unistd/fchown.c), and not its other calls.
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

/// Whether neither of two times is to be set: then nobody looks at the path (`utimensat(2)`).
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

/// utimensat(2) as the kernel has it: without a path it is about the descriptor.
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
