//! Typed wrappers for the library's calls. For calls that may wait, it uses the forms that are not cancellation points.
//! A thread that ended in one would leak its resources.

use core::ffi::{CStr, c_int, c_uint};

use crate::errno::Errno;
use crate::sys::Fd;

mod bare {
    use core::ffi::{c_char, c_int, c_uint, c_void};

    unsafe extern "C" {
        #[link_name = "openat$NOCANCEL"]
        pub(super) fn openat(dirfd: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
        #[link_name = "fcntl$NOCANCEL"]
        pub(super) fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
        #[link_name = "close$NOCANCEL"]
        pub(super) fn close(fd: c_int) -> c_int;
        #[link_name = "pread$NOCANCEL"]
        pub(super) fn pread(fd: c_int, to: *mut c_void, size: usize, offset: i64) -> isize;
        #[link_name = "write$NOCANCEL"]
        pub(super) fn write(fd: c_int, from: *const c_void, size: usize) -> isize;
        #[link_name = "writev$NOCANCEL"]
        pub(super) fn writev(fd: c_int, parts: *const libc::iovec, count: c_int) -> isize;
        /// Copies memory of the task without faulting (`mach/mach_vm.h`).
        pub(super) fn mach_vm_read_overwrite(
            task: c_uint,
            address: u64,
            size: u64,
            to: u64,
            copied: *mut u64,
        ) -> c_int;
        pub(super) static mach_task_self_: c_uint;
    }
}

/// The result of a call, or the number that it left in `errno`.
pub(super) fn outcome(result: c_int) -> Result<c_int, Errno> {
    if result == -1 { Err(Errno::last()) } else { Ok(result) }
}

/// Like [`outcome`], for a call that returns a size.
pub(super) fn size(result: isize) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::last())
}

/// openat(2).
pub(crate) fn openat(dirfd: c_int, path: &CStr, flags: c_int, mode: u32) -> Result<Fd, Errno> {
    // SAFETY: the path is NUL-terminated.
    outcome(unsafe { bare::openat(dirfd, path.as_ptr(), flags, mode) }).map(Fd::adopt)
}

/// Opens a path without a symlink on the way (`O_NOFOLLOW_ANY`).
pub(crate) fn open_canonical(path: &CStr, flags: c_int) -> Result<Fd, Errno> {
    openat(libc::AT_FDCWD, path, flags & !libc::O_NOFOLLOW | libc::O_NOFOLLOW_ANY, 0)
}

/// Makes `old`'s number refer to `new`'s file; `flags` is `O_CLOEXEC` or zero.
pub(crate) fn replace(old: &Fd, new: &Fd, flags: c_int) -> Result<(), Errno> {
    // SAFETY: both arguments are numbers.
    outcome(unsafe { libc::dup2(new.raw(), old.raw()) })?;
    if flags & libc::O_CLOEXEC != 0 {
        fcntl(old.raw(), libc::F_SETFD, libc::FD_CLOEXEC)?;
    }
    Ok(())
}

/// lseek(2) to the end of a file.
pub(crate) fn seek_to_end(fd: &Fd) -> Result<(), Errno> {
    // SAFETY: all arguments are numbers.
    let end = unsafe { libc::lseek(fd.raw(), 0, libc::SEEK_END) };
    if end < 0 { Err(Errno::last()) } else { Ok(()) }
}

/// close(2). Nothing can be done about an error.
pub(crate) fn close(fd: c_int) {
    // SAFETY: callers own the descriptor.
    unsafe { bare::close(fd) };
}

/// readlinkat(2) into `buffer`. Returns the number of bytes.
pub(crate) fn readlinkat(
    dirfd: c_int,
    path: &CStr,
    buffer: *mut u8,
    capacity: usize,
) -> Result<usize, Errno> {
    // SAFETY: the kernel writes at most `capacity` bytes, and callers pass a buffer of their own.
    size(unsafe { libc::readlinkat(dirfd, path.as_ptr(), buffer.cast(), capacity) })
}

/// Stores the path of the working directory in `buffer`. Returns its length. Does not use getcwd(3), which may walk up
/// with hooked functions.
pub(crate) fn getcwd(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    let here = openat(libc::AT_FDCWD, c".", super::HOLD_DIRECTORY, 0)?;
    super::path_of(here.raw(), buffer, capacity)
}

/// fstat(2).
pub(crate) fn fstat(fd: c_int) -> Result<libc::stat, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the whole structure.
    outcome(unsafe { libc::fstat(fd, stat.as_mut_ptr()) })?;
    // SAFETY: the call succeeded.
    Ok(unsafe { stat.assume_init() })
}

/// fcntl(2) with an integer argument.
pub(crate) fn fcntl(fd: c_int, command: c_int, argument: c_int) -> Result<c_int, Errno> {
    // SAFETY: callers pass commands that take a number.
    outcome(unsafe { bare::fcntl(fd, command, argument) })
}

/// fcntl(2) with `F_GETPATH`, which writes up to `PATH_MAX` bytes.
///
/// # Safety
/// `to` must have that much room.
pub(super) unsafe fn path(fd: c_int, to: *mut u8) -> Result<(), Errno> {
    // SAFETY: the caller provides the room.
    outcome(unsafe { bare::fcntl(fd, libc::F_GETPATH, to) }).map(|_| ())
}

/// mmap(2) of a file from its start.
pub(crate) fn map(fd: c_int, length: usize, protection: c_int) -> Result<*mut u8, Errno> {
    let anywhere = core::ptr::null_mut();
    // SAFETY: a fresh mapping overlaps nothing.
    let address = unsafe { libc::mmap(anywhere, length, protection, libc::MAP_SHARED, fd, 0) };
    if address == libc::MAP_FAILED { Err(Errno::last()) } else { Ok(address.cast()) }
}

/// pread(2) into `buffer`. Returns the number of bytes.
pub(crate) fn pread(fd: c_int, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let offset = i64::try_from(offset).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the kernel writes at most the buffer's length.
    size(unsafe { bare::pread(fd, buffer.as_mut_ptr().cast(), buffer.len(), offset) })
}

/// Does nothing: macOS has no supervisor.
pub(crate) fn tell_supervisor<const N: usize>(_: [&[u8]; N]) -> Option<usize> {
    None
}

/// writev(2) of all `parts` at once. Returns the number of bytes.
pub(crate) fn write_all<const N: usize>(fd: c_int, parts: [&[u8]; N]) -> Result<usize, Errno> {
    let vectors = parts
        .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
    let count = c_int::try_from(N).unwrap_or(0);
    // SAFETY: the kernel only reads.
    size(unsafe { bare::writev(fd, vectors.as_ptr(), count) })
}

/// write(2) of a part of `bytes`. Returns the number of bytes.
pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    // SAFETY: the kernel only reads.
    size(unsafe { bare::write(fd, bytes.as_ptr().cast(), bytes.len()) })
}

/// getentropy(2): fills a short `buffer` completely.
pub(crate) fn random(buffer: &mut [u8]) -> Result<(), Errno> {
    // SAFETY: the kernel writes at most the buffer's length.
    outcome(unsafe { libc::getentropy(buffer.as_mut_ptr().cast(), buffer.len()) }).map(|_| ())
}

/// getpid(2).
pub(crate) fn getpid() -> c_int {
    // SAFETY: the call has no arguments.
    unsafe { libc::getpid() }
}

/// Whether eight bytes at `address` are readable. Does not access them itself: the kernel copies them.
pub(crate) fn readable(address: usize) -> bool {
    let mut copy = 0_u64;
    let mut copied = 0_u64;
    let to = (&raw mut copy).expose_provenance() as u64;
    // SAFETY: reads a number that libSystem sets when it is loaded.
    let task = unsafe { bare::mach_task_self_ };
    // SAFETY: the kernel writes the eight bytes of `copy`, and the count.
    let result =
        unsafe { bare::mach_vm_read_overwrite(task, address as u64, 8, to, &raw mut copied) };
    result == 0
}

/// A mode in the kernel's form. Callers leave the upper half undefined.
pub(super) fn mode(mode: c_uint) -> libc::mode_t {
    libc::mode_t::try_from(mode & 0xffff).unwrap_or(0)
}

/// Ends the thread if it was cancelled (`pthread_testcancel`(3)).
pub(crate) fn test_cancel() {
    unsafe extern "C" {
        fn pthread_testcancel();
    }
    // SAFETY: the call has no arguments.
    unsafe { pthread_testcancel() };
}
