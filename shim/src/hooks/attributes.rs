//! Changing what a file is: length, mode, owner, times, extended attributes. Each needs `update`
//! (spec §5.2), and acts on the object that was judged.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};

use jp_confine_policy::Capabilities;

use crate::errno::{Errno, Reply};
use crate::hooks::{metadata, object};
use crate::places::DescriptorLink;
use crate::sys::{self, Fd, word};
use crate::{libc_functions, memory, resolve};

const UPDATE: Capabilities = Capabilities::UPDATE;

/// `O_NOFOLLOW` where `AT_SYMLINK_NOFOLLOW` is among `flags`.
const fn nofollow(flags: c_int) -> c_int {
    if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { 0 } else { libc::O_NOFOLLOW }
}

/// Makes a call that takes a path, on exactly the object held.
fn through_link(
    object: &Fd,
    act: impl FnOnce(usize) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    let link = DescriptorLink::new(object.raw());
    act(link.as_c_str().as_ptr().expose_provenance())
}

/// Whether a path argument is empty, as `AT_EMPTY_PATH` wants it.
fn names_descriptor(path: *const c_char, flags: c_int) -> Result<bool, Errno> {
    if flags & libc::AT_EMPTY_PATH == 0 {
        return Ok(false);
    }
    if path.is_null() {
        return Ok(true);
    }
    Ok(memory::first_byte(path)? == 0)
}

fn cut(call: &CStr, path: *const c_char, length: i64) -> Result<(), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, 0, UPDATE)?;
    let length = length.cast_unsigned();
    let length = usize::try_from(length).map_err(|_| Errno::EINVAL)?;
    through_link(&object, |link| sys::call(libc::SYS_truncate, [link, length, 0, 0, 0, 0]))
        .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn truncate(path: *const c_char, length: i64) -> c_int {
    cut(c"truncate", path, length).reply()
}

#[unsafe(no_mangle)]
extern "C" fn truncate64(path: *const c_char, length: i64) -> c_int {
    truncate(path, length)
}

fn set_mode(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !libc::AT_SYMLINK_NOFOLLOW != 0 {
        return Err(Errno::EINVAL);
    }
    let object = object::at_path(call, dirfd, path, nofollow(flags), UPDATE)?;
    if resolve::is_symlink(&object) {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    through_link(&object, |link| {
        sys::call(libc::SYS_fchmodat, [word(libc::AT_FDCWD), link, mode as usize, 0, 0, 0])
    })
    .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn chmod(path: *const c_char, mode: c_uint) -> c_int {
    set_mode(c"chmod", libc::AT_FDCWD, path, mode, 0).reply()
}

#[unsafe(no_mangle)]
extern "C" fn lchmod(path: *const c_char, mode: c_uint) -> c_int {
    set_mode(c"lchmod", libc::AT_FDCWD, path, mode, libc::AT_SYMLINK_NOFOLLOW).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fchmodat(
    dirfd: c_int,
    path: *const c_char,
    mode: c_uint,
    flags: c_int,
) -> c_int {
    set_mode(c"fchmodat", dirfd, path, mode, flags).reply()
}

/// Makes a call on a descriptor, if its object may be updated.
fn on_descriptor(call: &CStr, fd: c_int, number: c_long, args: [usize; 6]) -> Result<(), Errno> {
    object::at_descriptor(call, fd, UPDATE)?;
    sys::call(number, args).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fchmod(fd: c_int, mode: c_uint) -> c_int {
    on_descriptor(c"fchmod", fd, libc::SYS_fchmod, [word(fd), mode as usize, 0, 0, 0, 0]).reply()
}

fn set_owner(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    owner: [c_uint; 2],
    flags: c_int,
) -> Result<(), Errno> {
    let [uid, gid] = owner.map(|id| id as usize);
    if names_descriptor(path, flags)? {
        let args = [word(dirfd), c"".as_ptr().expose_provenance(), uid, gid, word(flags), 0];
        return on_descriptor(call, dirfd, libc::SYS_fchownat, args);
    }
    let object = object::at_path(call, dirfd, path, nofollow(flags), UPDATE)?;
    let empty = c"".as_ptr().expose_provenance();
    let args = [word(object.raw()), empty, uid, gid, word(libc::AT_EMPTY_PATH), 0];
    sys::call(libc::SYS_fchownat, args).map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn chown(path: *const c_char, uid: c_uint, gid: c_uint) -> c_int {
    set_owner(c"chown", libc::AT_FDCWD, path, [uid, gid], 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lchown(path: *const c_char, uid: c_uint, gid: c_uint) -> c_int {
    set_owner(c"lchown", libc::AT_FDCWD, path, [uid, gid], libc::AT_SYMLINK_NOFOLLOW).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fchownat(
    dirfd: c_int,
    path: *const c_char,
    uid: c_uint,
    gid: c_uint,
    flags: c_int,
) -> c_int {
    set_owner(c"fchownat", dirfd, path, [uid, gid], flags).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fchown(fd: c_int, uid: c_uint, gid: c_uint) -> c_int {
    let args = [word(fd), uid as usize, gid as usize, 0, 0, 0];
    on_descriptor(c"fchown", fd, libc::SYS_fchown, args).reply()
}

/// Sets times through `utimensat(2)`; `times` is an address of two `timespec`, or zero for now.
fn set_times(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    times: usize,
    flags: c_int,
) -> Result<(), Errno> {
    if flags & !(libc::AT_SYMLINK_NOFOLLOW | libc::AT_EMPTY_PATH) != 0 {
        return Err(Errno::EINVAL);
    }
    if path.is_null() {
        let args = [word(dirfd), 0, times, 0, 0, 0];
        return on_descriptor(call, dirfd, libc::SYS_utimensat, args);
    }
    if names_descriptor(path, flags)? {
        let empty = c"".as_ptr().expose_provenance();
        let args = [word(dirfd), empty, times, word(flags), 0, 0];
        return on_descriptor(call, dirfd, libc::SYS_utimensat, args);
    }
    let object = object::at_path(call, dirfd, path, nofollow(flags), UPDATE)?;
    if resolve::is_symlink(&object) {
        let empty = c"".as_ptr().expose_provenance();
        let args = [word(object.raw()), empty, times, word(libc::AT_EMPTY_PATH), 0, 0];
        return sys::call(libc::SYS_utimensat, args).map(|_| ());
    }
    through_link(&object, |link| {
        sys::call(libc::SYS_utimensat, [word(libc::AT_FDCWD), link, times, 0, 0, 0])
    })
    .map(|_| ())
}

/// Two times of the program's, in whatever unit, as `timespec`s of the shim's.
struct Times([libc::timespec; 2]);

impl Times {
    /// From an array of two `timeval`s, or none for now.
    ///
    /// # Errors
    /// `EFAULT`, or `EINVAL` for microseconds out of range.
    fn from_timeval(times: *const libc::timeval) -> Result<Option<Self>, Errno> {
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
            Ok(libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec.saturating_mul(1000) })
        };
        Ok(Some(Self([read(0)?, read(1)?])))
    }

    /// From a `utimbuf`, or none for now.
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

fn set_some_times(
    call: &CStr,
    dirfd: c_int,
    path: *const c_char,
    times: Result<Option<Times>, Errno>,
    flags: c_int,
) -> Result<(), Errno> {
    let times = times?;
    let address = times.as_ref().map_or(0, |Times(both)| both.as_ptr().expose_provenance());
    set_times(call, dirfd, path, address, flags)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn utimensat(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timespec,
    flags: c_int,
) -> c_int {
    if path.is_null() {
        // glibc checks; musl lets the kernel take it for futimens(3).
        if libc_functions::is_glibc() {
            return Err::<c_int, _>(Errno::EINVAL).reply();
        }
        return futimens(dirfd, times);
    }
    set_times(c"utimensat", dirfd, path, times.expose_provenance(), flags).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn futimens(fd: c_int, times: *const libc::timespec) -> c_int {
    set_times(c"futimens", fd, core::ptr::null(), times.expose_provenance(), 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn utimes(path: *const c_char, times: *const libc::timeval) -> c_int {
    let times = Times::from_timeval(times);
    set_some_times(c"utimes", libc::AT_FDCWD, path, times, 0).reply()
}

#[unsafe(no_mangle)]
extern "C" fn lutimes(path: *const c_char, times: *const libc::timeval) -> c_int {
    let times = Times::from_timeval(times);
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    set_some_times(c"lutimes", libc::AT_FDCWD, path, times, flags).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn futimesat(
    dirfd: c_int,
    path: *const c_char,
    times: *const libc::timeval,
) -> c_int {
    set_some_times(c"futimesat", dirfd, path, Times::from_timeval(times), 0).reply()
}

#[unsafe(no_mangle)]
extern "C" fn futimes(fd: c_int, times: *const libc::timeval) -> c_int {
    set_some_times(c"futimes", fd, core::ptr::null(), Times::from_timeval(times), 0).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn utime(path: *const c_char, times: *const libc::utimbuf) -> c_int {
    let times = Times::from_utimbuf(times);
    set_some_times(c"utime", libc::AT_FDCWD, path, times, 0).reply()
}

/// What a call on an extended attribute of that name needs: attributes of the user's are content,
/// the others describe the file.
fn need_to_read(name: *const c_char) -> Result<Option<Capabilities>, Errno> {
    let mut text = crate::buffer::PathBuffer::new();
    memory::copy_path(name, &mut text)?;
    Ok(text.as_bytes().starts_with(b"user.").then_some(Capabilities::READ))
}

fn set_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    rest: [usize; 4],
) -> Result<(), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, UPDATE)?;
    let [name, value, size, flags] = rest;
    through_link(&object, |link| sys::call(libc::SYS_setxattr, [link, name, value, size, flags, 0]))
        .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn setxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let rest = [name.expose_provenance(), value.expose_provenance(), size, word(flags)];
    set_attribute(c"setxattr", path, 0, rest).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lsetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let rest = [name.expose_provenance(), value.expose_provenance(), size, word(flags)];
    set_attribute(c"lsetxattr", path, libc::O_NOFOLLOW, rest).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fsetxattr(
    fd: c_int,
    name: *const c_char,
    value: *const c_void,
    size: usize,
    flags: c_int,
) -> c_int {
    let (name, value) = (name.expose_provenance(), value.expose_provenance());
    let args = [word(fd), name, value, size, word(flags), 0];
    on_descriptor(c"fsetxattr", fd, libc::SYS_fsetxattr, args).reply()
}

fn remove_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    name: *const c_char,
) -> Result<(), Errno> {
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, UPDATE)?;
    through_link(&object, |link| {
        sys::call(libc::SYS_removexattr, [link, name.expose_provenance(), 0, 0, 0, 0])
    })
    .map(|_| ())
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn removexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"removexattr", path, 0, name).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lremovexattr(path: *const c_char, name: *const c_char) -> c_int {
    remove_attribute(c"lremovexattr", path, libc::O_NOFOLLOW, name).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fremovexattr(fd: c_int, name: *const c_char) -> c_int {
    let args = [word(fd), name.expose_provenance(), 0, 0, 0, 0];
    on_descriptor(c"fremovexattr", fd, libc::SYS_fremovexattr, args).reply()
}

fn read_attribute(
    call: &CStr,
    path: *const c_char,
    follow: c_int,
    name: *const c_char,
    buffer: [usize; 2],
) -> Result<usize, Errno> {
    let [value, size] = buffer;
    let name_at = name.expose_provenance();
    let Some(need) = need_to_read(name)? else {
        metadata::visible(libc::AT_FDCWD, path)?;
        let number = if follow == 0 { libc::SYS_getxattr } else { libc::SYS_lgetxattr };
        return sys::call(number, [path.expose_provenance(), name_at, value, size, 0, 0]);
    };
    let object = object::at_path(call, libc::AT_FDCWD, path, follow, need)?;
    through_link(&object, |link| sys::call(libc::SYS_getxattr, [link, name_at, value, size, 0, 0]))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn getxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    read_attribute(c"getxattr", path, 0, name, [value.expose_provenance(), size]).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn lgetxattr(
    path: *const c_char,
    name: *const c_char,
    value: *mut c_void,
    size: usize,
) -> isize {
    let buffer = [value.expose_provenance(), size];
    read_attribute(c"lgetxattr", path, libc::O_NOFOLLOW, name, buffer).reply()
}

fn list_attributes(
    number: c_long,
    path: *const c_char,
    list: *mut c_char,
    size: usize,
) -> Result<usize, Errno> {
    metadata::visible(libc::AT_FDCWD, path)?;
    sys::call(number, [path.expose_provenance(), list.expose_provenance(), size, 0, 0, 0])
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn listxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(libc::SYS_listxattr, path, list, size).reply()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn llistxattr(path: *const c_char, list: *mut c_char, size: usize) -> isize {
    list_attributes(libc::SYS_llistxattr, path, list, size).reply()
}
