//! The library's typed system calls. None of them goes through libc.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jp_confine_policy::telling;

use super::arch::syscall6;
use crate::errno::Errno;
use crate::sys::Fd;

/// `struct open_how` of openat2(2).
#[derive(Clone, Copy)]
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

impl OpenHow {
    fn new(flags: c_int, mode: u32, resolve: u64) -> Self {
        let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
        Self {
            flags: u64::from(flags.cast_unsigned()),
            mode: if creates { u64::from(mode & 0o7777) } else { 0 },
            resolve,
        }
    }

    fn open(
        &self,
        dirfd: c_int,
        path: &CStr,
        call: impl FnOnce(libc::c_long, [usize; 5]) -> Result<usize, Errno>,
    ) -> Result<Fd, Errno> {
        let how = core::ptr::from_ref(self).expose_provenance();
        let args = [word(dirfd), address(path), how, size_of::<Self>(), 0];
        call(libc::SYS_openat2, args).map(|fd| Fd::adopt(int(fd)))
    }
}

/// `RESOLVE_NO_SYMLINKS`: fail with ELOOP if the path contains a symlink.
pub(crate) const NO_SYMLINKS: u64 = 0x04;

/// `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`: follow symlinks, but none that leads out of the directory.
pub(crate) const BENEATH: u64 = 0x08 | 0x02;

/// The result register as a value or an error.
pub(crate) fn outcome(result: isize) -> Result<usize, Errno> {
    match usize::try_from(result) {
        Ok(value) => Ok(value),
        Err(_) => Err(Errno(c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO))),
    }
}

/// A descriptor or another signed number, as a register holds it.
pub(crate) const fn word(number: c_int) -> usize {
    (number as isize).cast_unsigned()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel's descriptors and pids are 32 bits"
)]
pub(super) const fn int(value: usize) -> c_int {
    value as c_int
}

fn number(call: libc::c_long) -> usize {
    usize::try_from(call).unwrap_or(usize::MAX)
}

/// Makes a call whose pointers are the program's, or point to memory that the kernel only reads.
pub(crate) fn call(nr: libc::c_long, args: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: by this function's contract no argument points to memory of the library that the kernel writes. Pointers
    // of the program are between the program and the kernel.
    outcome(unsafe { syscall6(number(nr), args) })
}

/// As [`call`], for a call that writes into memory of the library.
///
/// # Safety
/// The out-pointers among `args` must be valid for what the call writes.
pub(crate) unsafe fn call_out(nr: libc::c_long, args: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: the caller vouches for the pointers.
    outcome(unsafe { syscall6(number(nr), args) })
}

/// The number that tells the kernel's filter that a hook has already checked a call. It is passed in the register of a
/// sixth argument, which such calls do not have. Zero if there is no filter.
///
/// This section holds all that is written at load time, on pages that the loader writes anyway. Each further page would
/// cost every process a fault.
#[unsafe(link_section = ".data")]
static COOKIE: AtomicUsize = AtomicUsize::new(0);

/// Whether a supervisor performs calls that Landlock denies although the policy allows them.
#[unsafe(link_section = ".data")]
static SUPERVISED: AtomicBool = AtomicBool::new(false);

/// Marks checked calls from now on.
pub(crate) fn show_judged(session: u64, supervised: bool) {
    COOKIE.store(usize::try_from(session).unwrap_or(0), Ordering::Relaxed);
    SUPERVISED.store(supervised, Ordering::Relaxed);
}

/// Makes a call that a hook has checked, so that no other layer checks it again. Pointers as for [`call`].
///
/// Landlock cannot express all of a policy. Examples are the deletion of a rule's own anchor, a name that did not exist
/// when the run began, and a move between directories with different rules. If Landlock denies such a call, this
/// repeats it without the cookie, so that the supervisor performs it.
pub(crate) fn judged(nr: libc::c_long, args: [usize; 5]) -> Result<usize, Errno> {
    match only_judged(nr, args) {
        Err(Errno::EACCES | Errno::EXDEV) if SUPERVISED.load(Ordering::Relaxed) => {
            unjudged(nr, args)
        }
        outcome => outcome,
    }
}

/// Whether there is a supervisor.
pub(crate) fn is_supervised() -> bool {
    SUPERVISED.load(Ordering::Relaxed)
}

/// As [`judged`], for a call that the supervisor could not perform for the process.
pub(crate) fn only_judged(nr: libc::c_long, args: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = args;
    call(nr, [first, second, third, fourth, fifth, COOKIE.load(Ordering::Relaxed)])
}

/// Makes a call without the mark.
pub(super) fn unjudged(nr: libc::c_long, args: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = args;
    call(nr, [first, second, third, fourth, fifth, 0])
}

fn address(path: &CStr) -> usize {
    path.as_ptr().expose_provenance()
}

/// openat2(2). Passes mode bits only with a creating flag, as the kernel demands.
pub(crate) fn openat2(
    dirfd: c_int,
    path: &CStr,
    flags: c_int,
    mode: u32,
    resolve: u64,
) -> Result<Fd, Errno> {
    // The supervisor cannot hand over an `O_PATH` descriptor.
    let call = if flags & libc::O_PATH == 0 { judged } else { only_judged };
    OpenHow::new(flags, mode, resolve).open(dirfd, path, call)
}

/// openat(2).
pub(crate) fn openat(dirfd: c_int, path: &CStr, flags: c_int, mode: u32) -> Result<Fd, Errno> {
    let args = [word(dirfd), address(path), word(flags), mode as usize, 0];
    match only_judged(libc::SYS_openat, args) {
        // The filter selects by flags which openat(2) calls the supervisor receives. It does not receive all of them.
        Err(Errno::EACCES) if flags & libc::O_PATH == 0 && SUPERVISED.load(Ordering::Relaxed) => {
            OpenHow::new(flags, mode, 0).open(dirfd, path, unjudged)
        }
        outcome => outcome.map(|fd| Fd::adopt(int(fd))),
    }
}

/// openat(2) of the program's own path, which only Landlock checks.
pub(crate) fn open_as_spelled(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
) -> Result<Fd, Errno> {
    let args = [word(dirfd), path.expose_provenance(), word(flags), 0, 0];
    only_judged(libc::SYS_openat, args).map(|fd| Fd::adopt(int(fd)))
}

/// open(2) of the program's own path. The supervisor checks and performs it.
pub(crate) fn open_by_supervisor(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: u32,
) -> Result<c_int, Errno> {
    let how = OpenHow::new(flags, mode, 0);
    let words = core::ptr::from_ref(&how).expose_provenance();
    let args = [word(dirfd), path.expose_provenance(), words, size_of::<OpenHow>(), 0];
    unjudged(libc::SYS_openat2, args).map(int)
}

/// Opens a path that contains no symlink.
pub(crate) fn open_canonical(path: &CStr, flags: c_int) -> Result<Fd, Errno> {
    openat2(libc::AT_FDCWD, path, flags, 0, NO_SYMLINKS)
}

/// dup3(2): makes the number of `old` refer to the object of `new`. `flags` is `O_CLOEXEC` or zero.
pub(crate) fn replace(old: &Fd, new: &Fd, flags: c_int) -> Result<(), Errno> {
    call(libc::SYS_dup3, [word(new.raw()), word(old.raw()), word(flags), 0, 0, 0]).map(|_| ())
}

/// lseek(2) to the end of a file.
pub(crate) fn seek_to_end(fd: &Fd) -> Result<(), Errno> {
    call(libc::SYS_lseek, [word(fd.raw()), 0, word(libc::SEEK_END), 0, 0, 0]).map(|_| ())
}

/// close(2). Ignores errors, as nothing can be done about them.
pub(crate) fn close(fd: c_int) {
    let _ = call(libc::SYS_close, [word(fd), 0, 0, 0, 0, 0]);
}

/// readlinkat(2) into `buffer`. Returns the number of bytes written.
pub(crate) fn readlinkat(
    dirfd: c_int,
    path: &CStr,
    buffer: *mut u8,
    capacity: usize,
) -> Result<usize, Errno> {
    let args = [word(dirfd), address(path), buffer.expose_provenance(), capacity, 0, 0];
    // SAFETY: the kernel writes at most `capacity` bytes, and callers pass a buffer of their own.
    unsafe { call_out(libc::SYS_readlinkat, args) }
}

/// Writes the path of the working directory into `buffer` (getcwd(2)). Returns the length. A deleted directory still
/// has `.` and `..`: for it, writes the former path with the kernel's mark.
pub(crate) fn getcwd(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    let args = [buffer.expose_provenance(), capacity, 0, 0, 0, 0];
    // SAFETY: as for `readlinkat`.
    match unsafe { call_out(libc::SYS_getcwd, args) } {
        Ok(with_nul) => Ok(with_nul.saturating_sub(1)),
        Err(Errno::ERANGE) => Err(Errno::ENAMETOOLONG),
        Err(Errno::ENOENT) => readlinkat(libc::AT_FDCWD, c"/proc/self/cwd", buffer, capacity),
        Err(errno) => Err(errno),
    }
}

/// fstat(2).
pub(crate) fn fstat(fd: c_int) -> Result<libc::stat, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::uninit();
    let args = [word(fd), stat.as_mut_ptr().expose_provenance(), 0, 0, 0, 0];
    // SAFETY: the kernel fills the whole structure, whose layout on 64-bit Linux is libc's.
    unsafe { call_out(libc::SYS_fstat, args) }?;
    // SAFETY: the call succeeded.
    Ok(unsafe { stat.assume_init() })
}

/// fcntl(2) with an integer argument.
pub(crate) fn fcntl(fd: c_int, command: c_int, argument: c_int) -> Result<c_int, Errno> {
    call(libc::SYS_fcntl, [word(fd), word(command), word(argument), 0, 0, 0]).map(int)
}

/// mmap(2) of a file from its start.
pub(crate) fn map(fd: c_int, length: usize, protection: c_int) -> Result<*mut u8, Errno> {
    let args = [0, length, word(protection), word(libc::MAP_SHARED), word(fd), 0];
    // SAFETY: a fresh mapping overlaps nothing.
    let address = unsafe { call_out(libc::SYS_mmap, args) }?;
    Ok(core::ptr::with_exposed_provenance_mut(address))
}

/// read(2) into `buffer`. Returns the number of bytes read.
pub(crate) fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize, Errno> {
    let args = [word(fd), buffer.as_mut_ptr().expose_provenance(), buffer.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe { call_out(libc::SYS_read, args) }
}

/// pread64(2) into `buffer`. Returns the number of bytes read.
pub(crate) fn pread(fd: c_int, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let offset = usize::try_from(offset).map_err(|_| Errno::EINVAL)?;
    let args = [word(fd), buffer.as_mut_ptr().expose_provenance(), buffer.len(), offset, 0, 0];
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe { call_out(libc::SYS_pread64, args) }
}

/// writev(2) of all `parts` at once. Returns the number of bytes written.
pub(crate) fn write_all<const N: usize>(fd: c_int, parts: [&[u8]; N]) -> Result<usize, Errno> {
    let vectors = vectors(parts);
    call(libc::SYS_writev, [word(fd), vectors.as_ptr().expose_provenance(), N, 0, 0, 0])
}

/// Reports a denial to the supervisor. `None` if there is no supervisor to receive it.
pub(crate) fn tell_supervisor<const N: usize>(record: [&[u8]; N]) -> Option<usize> {
    let vectors = vectors(record);
    loop {
        match call(telling::CALL, [vectors.as_ptr().expose_provenance(), N, 0, 0, 0, 0]) {
            // A signal handler of the program ran before the supervisor took the call.
            Err(Errno::EINTR) => {}
            answer => return answer.ok(),
        }
    }
}

fn vectors<const N: usize>(parts: [&[u8]; N]) -> [libc::iovec; N] {
    parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
}

/// write(2), which may write a part of `bytes`. Returns the number of bytes written.
pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    call(libc::SYS_write, [word(fd), bytes.as_ptr().expose_provenance(), bytes.len(), 0, 0, 0])
}

/// getrandom(2). Fills the whole `buffer`, which must be short.
pub(crate) fn random(buffer: &mut [u8]) -> Result<(), Errno> {
    let args = [buffer.as_mut_ptr().expose_provenance(), buffer.len(), 0, 0, 0, 0];
    // SAFETY: the kernel writes at most the buffer's length.
    let count = unsafe { call_out(libc::SYS_getrandom, args) }?;
    if count == buffer.len() { Ok(()) } else { Err(Errno::EAGAIN) }
}

/// getpid(2).
pub(crate) fn getpid() -> c_int {
    call(libc::SYS_getpid, [0; 6]).map_or(0, int)
}

/// The end of the heap that brk(2) extends. Zero if unknown.
pub(crate) fn program_break() -> usize {
    // An impossible address changes nothing and returns the present end.
    call(libc::SYS_brk, [0; 6]).unwrap_or(0)
}

/// Whether eight bytes at `address` are readable, without touching them. The kernel copies the signal set before it
/// finds that the operation is invalid (`kernel/signal.c`).
pub(crate) fn readable(address: usize) -> bool {
    let no_operation = 0x7fff_ffff;
    let args = [no_operation, address, 0, 8, 0, 0];
    call(libc::SYS_rt_sigprocmask, args) != Err(Errno::EFAULT)
}
