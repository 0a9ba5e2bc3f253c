//! Hooks that change the length, mode, owner and times of a file. Each needs `update` (spec §5.2) and acts on the
//! object that was judged.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint};

use jp_confine_engine::{Capabilities, set_id};

use crate::errno::{Errno, Reply};
use crate::hooks::{object, set_id_bits};
use crate::sys::TimesPointer;
#[cfg(target_os = "linux")]
use crate::{hooks::linux, libc_functions};
use crate::{memory, sys};

const UPDATE: Capabilities = Capabilities::UPDATE;

/// `O_NOFOLLOW` where `AT_SYMLINK_NOFOLLOW` is among `flags`.
pub(super) const fn nofollow(flags: c_int) -> c_int {
    if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { 0 } else { libc::O_NOFOLLOW }
}

/// The path that a call is about, or none if `AT_EMPTY_PATH` makes it about the descriptor.
pub(super) fn path_of(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
) -> Result<Option<*const c_char>, Errno> {
    if !sys::may_be_empty(flags) || memory::first_byte(path)? != 0 {
        return Ok(Some(path));
    }
    // The working directory has no descriptor number.
    Ok((dirfd == libc::AT_FDCWD).then_some(c".".as_ptr()))
}

fn cut(call: &CStr, path: *const c_char, length: i64) -> Result<(), Errno> {
    if length < 0 {
        return Err(Errno::EINVAL);
    }
    let object = object::at_path(call, libc::AT_FDCWD, path, 0, UPDATE)?;
    sys::truncate(&object, length)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn truncate(path: *const c_char, length: i64) -> c_int {
    cut(c"truncate", path, length).reply()
}

pub(super) fn set_mode(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | sys::EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    #[cfg(target_os = "linux")]
    let Some(path) = path_of(dirfd, path, flags)? else {
        return on_descriptor(call, dirfd, || {
            check_mode_of(call, dirfd, mode)?;
            sys::set_mode_of(dirfd, mode)
        });
    };
    let object = object::for_mode(call, dirfd, path, nofollow(flags))?;
    if mode & set_id::BITS != 0 {
        set_id_bits::check(sys::status(&object)?, mode)
            .map_err(|()| set_id_bits::refuse_at(call, dirfd, path))?;
    }
    sys::set_mode(&object, mode)
}

/// Denies set-user-ID and set-group-ID bits that the descriptor's object does not have.
fn check_mode_of(call: &CStr, fd: c_int, mode: c_uint) -> Result<(), Errno> {
    if mode & set_id::BITS == 0 {
        return Ok(());
    }
    set_id_bits::check(sys::fstat(fd)?, mode).map_err(|()| set_id_bits::refuse_on(call, fd))
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn chmod(path: *const c_char, mode: c_uint) -> c_int {
    set_mode(c"chmod", libc::AT_FDCWD, path, mode, 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn lchmod(path: *const c_char, mode: c_uint) -> c_int {
    set_mode(c"lchmod", libc::AT_FDCWD, path, mode, libc::AT_SYMLINK_NOFOLLOW).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fchmodat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    flags: c_int,
) -> c_int {
    set_mode(c"fchmodat", dirfd, path, mode, flags).reply()
}

/// Makes a call on a descriptor if its object may be updated.
fn on_descriptor(
    call: &CStr,
    fd: c_int,
    act: impl FnOnce() -> Result<(), Errno>,
) -> Result<(), Errno> {
    object::at_descriptor(call, fd, UPDATE)?;
    act()
}

/// fchmod(2) with the kernel's meaning.
pub(super) fn set_mode_of_descriptor(fd: c_int, mode: c_uint) -> Result<(), Errno> {
    on_descriptor(c"fchmod", fd, || {
        check_mode_of(c"fchmod", fd, mode)?;
        #[cfg(target_os = "linux")]
        if linux::attributes::has_mode(fd, mode) {
            return Ok(());
        }
        sys::fchmod(fd, mode)
    })
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fchmod(fd: c_int, mode: c_uint) -> c_int {
    let set = set_mode_of_descriptor(fd, mode);
    #[cfg(target_os = "linux")]
    let set = linux::attributes::or_by_name(set, fd, |name| {
        set_mode(c"fchmod", libc::AT_FDCWD, name, mode, 0)
    });
    set.reply()
}

pub(super) fn set_owner(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    owner: [c_uint; 2],
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | sys::EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    let Some(path) = path_of(dirfd, path, flags)? else {
        return on_descriptor(call, dirfd, || sys::set_owner_of(dirfd, owner));
    };
    let object = object::at_path(call, dirfd, path, nofollow(flags), UPDATE)?;
    sys::set_owner(&object, owner)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn chown(path: *const c_char, uid: c_uint, gid: c_uint) -> c_int {
    set_owner(c"chown", libc::AT_FDCWD, path, [uid, gid], 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn lchown(path: *const c_char, uid: c_uint, gid: c_uint) -> c_int {
    set_owner(c"lchown", libc::AT_FDCWD, path, [uid, gid], libc::AT_SYMLINK_NOFOLLOW).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fchownat(
    dirfd: c_int,
    path: *const c_char,
    uid: c_uint,
    gid: c_uint,
    flags: c_int,
) -> c_int {
    set_owner(c"fchownat", dirfd, path, [uid, gid], flags).reply()
}

/// fchown(2) with the kernel's meaning.
pub(super) fn set_owner_of_descriptor(fd: c_int, owner: [c_uint; 2]) -> Result<(), Errno> {
    on_descriptor(c"fchown", fd, || {
        #[cfg(target_os = "linux")]
        if linux::attributes::has_owner(fd, owner) {
            return Ok(());
        }
        sys::fchown(fd, owner)
    })
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn fchown(fd: c_int, uid: c_uint, gid: c_uint) -> c_int {
    let owner = [uid, gid];
    let set = set_owner_of_descriptor(fd, owner);
    #[cfg(target_os = "linux")]
    let set = linux::attributes::or_by_name(set, fd, |name| {
        set_owner(c"fchown", libc::AT_FDCWD, name, owner, 0)
    });
    set.reply()
}

/// Sets times; null `times` mean now.
fn set_times(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    times: TimesPointer,
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | sys::EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    if path.is_null() {
        return if dirfd == libc::AT_FDCWD {
            Err(Errno::EFAULT)
        } else {
            set_times_of_descriptor(call, dirfd, times)
        };
    }
    let Some(path) = path_of(dirfd, path, flags)? else {
        return on_descriptor(call, dirfd, || sys::set_times_of(dirfd, times));
    };
    let object = object::at_path(call, dirfd, path, nofollow(flags), UPDATE)?;
    sys::set_times(&object, times)
}

fn set_times_of_descriptor(call: &CStr, fd: c_int, times: TimesPointer) -> Result<(), Errno> {
    on_descriptor(call, fd, || sys::futimens(fd, times))
}

/// Two times of the program in any unit, as the library's own `timespec`s.
pub(super) struct Times([libc::timespec; 2]);

impl Times {
    /// Reads an array of two `timeval`s. A null array gives none, which means now.
    ///
    /// # Errors
    /// `EFAULT`, or `EINVAL` for microseconds out of range.
    pub(super) fn from_timeval(times: *const libc::timeval) -> Result<Option<Self>, Errno> {
        if times.is_null() {
            return Ok(None);
        }
        let read = |index: usize| -> Result<libc::timespec, Errno> {
            let at = times.wrapping_add(index);
            memory::check(at.addr())?;
            memory::check(at.addr().wrapping_add(8))?;
            // SAFETY: both words were just found readable.
            let time = unsafe { at.read_unaligned() };
            if !(0..1_000_000).contains(&time.tv_usec) {
                return Err(Errno::EINVAL);
            }
            Ok(libc::timespec {
                tv_sec: time.tv_sec,
                tv_nsec: c_long::from(time.tv_usec).saturating_mul(1000),
            })
        };
        Ok(Some(Self([read(0)?, read(1)?])))
    }

    /// Reads a `utimbuf`. A null pointer gives none, which means now.
    ///
    /// # Errors
    /// `EFAULT`.
    fn from_utimbuf(times: *const libc::utimbuf) -> Result<Option<Self>, Errno> {
        if times.is_null() {
            return Ok(None);
        }
        memory::check(times.addr())?;
        memory::check(times.addr().wrapping_add(8))?;
        // SAFETY: both words were just found readable.
        let times = unsafe { times.read_unaligned() };
        let whole = |seconds| libc::timespec { tv_sec: seconds, tv_nsec: 0 };
        Ok(Some(Self([whole(times.actime), whole(times.modtime)])))
    }
}

pub(super) fn set_some_times(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    times: Result<Option<Times>, Errno>,
    flags: c_int,
) -> Result<(), Errno> {
    let times = times?;
    let address = times.as_ref().map_or(core::ptr::null(), |Times(both)| both.as_ptr());
    set_times(call, dirfd, path, address, flags)
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn utimensat(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timespec,
    flags: c_int,
) -> c_int {
    if path.is_null() {
        // glibc checks this; musl leaves it to the kernel, which takes it for futimens(3).
        #[cfg(target_os = "linux")]
        if !libc_functions::is_glibc() {
            return futimens(dirfd, times);
        }
        return Err::<c_int, _>(Errno::EINVAL).reply();
    }
    #[cfg(target_os = "linux")]
    match linux::attributes::sets_nothing(times) {
        Ok(false) => {}
        nothing => return nothing.map(|_| ()).reply(),
    }
    set_times(c"utimensat", dirfd, path, times, flags).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn futimens(fd: c_int, times: *const libc::timespec) -> c_int {
    set_times_of_descriptor(c"futimens", fd, times).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn utimes(path: *const c_char, times: *const libc::timeval) -> c_int {
    let times = Times::from_timeval(times);
    set_some_times(c"utimes", libc::AT_FDCWD, path, times, 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn lutimes(path: *const c_char, times: *const libc::timeval) -> c_int {
    let times = Times::from_timeval(times);
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    set_some_times(c"lutimes", libc::AT_FDCWD, path, times, flags).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(super) extern "C" fn futimes(fd: c_int, times: *const libc::timeval) -> c_int {
    set_some_times(c"futimes", fd, core::ptr::null(), Times::from_timeval(times), 0).reply()
}

#[cfg_attr(target_os = "linux", unsafe(no_mangle))]
pub(crate) extern "C" fn utime(path: *const c_char, times: *const libc::utimbuf) -> c_int {
    let times = Times::from_utimbuf(times);
    set_some_times(c"utime", libc::AT_FDCWD, path, times, 0).reply()
}
