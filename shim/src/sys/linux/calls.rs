//! Typed wrappers for the library's system calls. None of them goes through libc.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jp_confine_engine::report_protocol;

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
        self.open_at(dirfd, address(path), call)
    }

    fn open_at(
        &self,
        dirfd: c_int,
        path: usize,
        call: impl FnOnce(libc::c_long, [usize; 5]) -> Result<usize, Errno>,
    ) -> Result<Fd, Errno> {
        // The supervisor cannot pass on an `O_PATH` descriptor, and this would be its answer.
        if self.flags & u64::from(libc::O_PATH.cast_unsigned()) != 0 && is_rejudged() {
            return Err(Errno::ENOSYS);
        }
        let how = core::ptr::from_ref(self).expose_provenance();
        let args = [word(dirfd), path, how, size_of::<Self>(), 0];
        call(libc::SYS_openat2, args).map(|fd| Fd::adopt(int(fd)))
    }
}

/// `RESOLVE_NO_SYMLINKS`: fail with `ELOOP` if a symlink is on the way.
pub(crate) const NO_SYMLINKS: u64 = 0x04;

/// `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`: follow symlinks, except those that leave the directory.
pub(crate) const BENEATH: u64 = 0x08 | 0x02;

/// The result register as a value or an error.
pub(crate) fn outcome(result: isize) -> Result<usize, Errno> {
    match usize::try_from(result) {
        Ok(value) => Ok(value),
        Err(_) => Err(Errno(c_int::try_from(result.wrapping_neg()).unwrap_or(libc::EIO))),
    }
}

/// A descriptor or other signed number in its register form.
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

/// Makes a call whose pointers are the program's own, or point to memory that the kernel only reads.
pub(crate) fn call(nr: libc::c_long, args: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: by this function's contract, no argument points to memory of the library that the kernel writes. The
    // program's own pointers are between the program and the kernel.
    outcome(unsafe { syscall6(number(nr), args) })
}

/// Like [`call`], if the kernel writes to memory of the library.
///
/// # Safety
/// The output pointers in `args` must be valid for everything that the call writes.
pub(crate) unsafe fn call_out(nr: libc::c_long, args: [usize; 6]) -> Result<usize, Errno> {
    // SAFETY: the caller vouches for the pointers.
    outcome(unsafe { syscall6(number(nr), args) })
}

/// The number that marks a call as judged by a hook, so that the kernel's filter recognizes it. It goes in the register
/// of a sixth argument, which the call does not have. Zero if nothing is filtered.
///
/// Like all data that is written at load time, it lies on pages that the loader writes anyway. Every other page would
/// cost each process a fault.
#[unsafe(link_section = ".data")]
static COOKIE: AtomicUsize = AtomicUsize::new(0);

/// Whether a supervisor performs calls that Landlock denies and the policy allows.
#[unsafe(link_section = ".data")]
static SUPERVISED: AtomicBool = AtomicBool::new(false);

/// Whether the supervisor judges again what the library judged.
#[unsafe(link_section = ".data")]
static REJUDGED: AtomicBool = AtomicBool::new(false);

/// Makes judged calls carry the mark from now on.
pub(crate) fn show_judged(session: u64, supervised: bool, rejudged: bool) {
    REJUDGED.store(rejudged, Ordering::Relaxed);
    COOKIE.store(usize::try_from(session).unwrap_or(0), Ordering::Relaxed);
    SUPERVISED.store(supervised, Ordering::Relaxed);
}

/// Makes a call that a hook has judged, so that no other layer judges it again. Its pointers are as for [`call`].
///
/// Landlock cannot express all of a policy: the removal of a rule's own anchor, a name that did not exist when the run
/// began, a move between directories with different rules. If Landlock denies such a call, it is repeated without the
/// cookie, which asks the supervisor.
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

/// Whether the supervisor judges again what the library judged.
pub(crate) fn is_rejudged() -> bool {
    REJUDGED.load(Ordering::Relaxed)
}

/// Like [`judged`], for a call that nobody else could make for the process.
pub(crate) fn only_judged(nr: libc::c_long, args: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = args;
    call(nr, [first, second, third, fourth, fifth, COOKIE.load(Ordering::Relaxed)])
}

/// Makes a call without the mark of a judgement.
pub(super) fn unjudged(nr: libc::c_long, args: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = args;
    call(nr, [first, second, third, fourth, fifth, 0])
}

fn address(path: &CStr) -> usize {
    path.as_ptr().expose_provenance()
}

/// openat2(2). Passes mode bits only with a flag that creates, as the kernel requires.
pub(crate) fn openat2(
    dirfd: c_int,
    path: &CStr,
    flags: c_int,
    mode: u32,
    resolve: u64,
) -> Result<Fd, Errno> {
    let call = if flags & libc::O_PATH == 0 { judged } else { only_judged };
    OpenHow::new(flags, mode, resolve).open(dirfd, path, call)
}

/// openat(2).
pub(crate) fn openat(dirfd: c_int, path: &CStr, flags: c_int, mode: u32) -> Result<Fd, Errno> {
    let args = [word(dirfd), address(path), word(flags), mode as usize, 0];
    match only_judged(libc::SYS_openat, args) {
        // The filter selects by flags which openat(2) calls reach the supervisor, and not all do.
        Err(Errno::EACCES) if flags & libc::O_PATH == 0 && SUPERVISED.load(Ordering::Relaxed) => {
            OpenHow::new(flags, mode, 0).open(dirfd, path, unjudged)
        }
        outcome => outcome.map(|fd| Fd::adopt(int(fd))),
    }
}

/// openat(2) of the program's own path. Only Landlock judges it.
pub(crate) fn open_as_spelled(
    dirfd: c_int,
    path: *const c_char,
    flags: c_int,
) -> Result<Fd, Errno> {
    let args = [word(dirfd), path.expose_provenance(), word(flags), 0, 0];
    only_judged(libc::SYS_openat, args).map(|fd| Fd::adopt(int(fd)))
}

/// open(2) of the program's own path. The supervisor judges and performs it.
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

/// Opens a path without a symlink on the way.
pub(crate) fn open_canonical(path: &CStr, flags: c_int) -> Result<Fd, Errno> {
    openat2(libc::AT_FDCWD, path, flags, 0, NO_SYMLINKS)
}

/// dup3(2): makes `old`'s number refer to `new`'s file; `flags` is `O_CLOEXEC` or zero.
pub(crate) fn replace(old: &Fd, new: &Fd, flags: c_int) -> Result<(), Errno> {
    call(libc::SYS_dup3, [word(new.raw()), word(old.raw()), word(flags), 0, 0, 0]).map(|_| ())
}

/// lseek(2) to the end of a file.
pub(crate) fn seek_to_end(fd: &Fd) -> Result<(), Errno> {
    call(libc::SYS_lseek, [word(fd.raw()), 0, word(libc::SEEK_END), 0, 0, 0]).map(|_| ())
}

/// Looks for the object that the program's path leads to without symlinks; with `stops`, even a symlink at the end.
///
/// # Errors
/// `ELOOP` if a symlink is on the way, or the kernel cannot tell; otherwise those of openat2(2).
pub(crate) fn pin_spelled_without_links(
    dirfd: c_int,
    path: *const c_char,
    stops: bool,
) -> Result<(), Errno> {
    let stop = if stops { libc::O_NOFOLLOW } else { 0 };
    let how = OpenHow::new(libc::O_PATH | libc::O_CLOEXEC | stop, 0, NO_SYMLINKS);
    match how.open_at(dirfd, path.expose_provenance(), only_judged) {
        Err(Errno::ENOSYS | Errno::EPERM) => Err(Errno::ELOOP),
        found => found.map(drop),
    }
}

/// close(2). Nothing can be done about an error.
pub(crate) fn close(fd: c_int) {
    let _ = call(libc::SYS_close, [word(fd), 0, 0, 0, 0, 0]);
}

/// readlinkat(2) into `buffer`. Returns the number of bytes.
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

/// Stores the path of the working directory in `buffer` (getcwd(2)). Returns its length.
pub(crate) fn present_directory(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    let args = [buffer.expose_provenance(), capacity, 0, 0, 0, 0];
    // SAFETY: as for `readlinkat`.
    let with_nul = unsafe { call_out(libc::SYS_getcwd, args) };
    with_nul.map(|length| length.saturating_sub(1))
}

/// As [`present_directory`]. For a removed directory, which still has `.` and `..`, it is the former path with the kernel's mark.
pub(crate) fn getcwd(buffer: *mut u8, capacity: usize) -> Result<usize, Errno> {
    match present_directory(buffer, capacity) {
        Err(Errno::ERANGE) => Err(Errno::ENAMETOOLONG),
        Err(Errno::ENOENT) => readlinkat(libc::AT_FDCWD, c"/proc/self/cwd", buffer, capacity),
        told => told,
    }
}

/// fstat(2).
pub(crate) fn fstat(fd: c_int) -> Result<libc::stat, Errno> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::uninit();
    let args = [word(fd), stat.as_mut_ptr().expose_provenance(), 0, 0, 0, 0];
    // SAFETY: the kernel fills the whole structure. On 64-bit Linux, libc's has the same layout.
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

/// read(2) into `buffer`. Returns the number of bytes.
pub(crate) fn read(fd: c_int, buffer: &mut [u8]) -> Result<usize, Errno> {
    let args = [word(fd), buffer.as_mut_ptr().expose_provenance(), buffer.len(), 0, 0, 0];
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe { call_out(libc::SYS_read, args) }
}

/// pread64(2) into `buffer`. Returns the number of bytes.
pub(crate) fn pread(fd: c_int, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
    let offset = usize::try_from(offset).map_err(|_| Errno::EINVAL)?;
    let args = [word(fd), buffer.as_mut_ptr().expose_provenance(), buffer.len(), offset, 0, 0];
    // SAFETY: the kernel writes at most the buffer's length.
    unsafe { call_out(libc::SYS_pread64, args) }
}

/// writev(2) of all `parts` at once. Returns the number of bytes.
pub(crate) fn write_all<const N: usize>(fd: c_int, parts: [&[u8]; N]) -> Result<usize, Errno> {
    let vectors = vectors(parts);
    call(libc::SYS_writev, [word(fd), vectors.as_ptr().expose_provenance(), N, 0, 0, 0])
}

/// Reports a denial to the supervisor. Returns none if there is no supervisor.
pub(crate) fn tell_supervisor<const N: usize>(record: [&[u8]; N]) -> Option<usize> {
    let vectors = vectors(record);
    loop {
        match call(
            report_protocol::REPORT_SYSCALL,
            [vectors.as_ptr().expose_provenance(), N, 0, 0, 0, 0],
        ) {
            // A signal handler of the program ran before the supervisor received the call.
            Err(Errno::EINTR) => {}
            answer => return answer.ok(),
        }
    }
}

/// Requests the image from the supervisor. It gets the lowest free descriptor number.
pub(crate) fn ask_for_image() -> Result<Fd, Errno> {
    let request = report_protocol::IMAGE_REQUEST as usize;
    let args = [0, request, 0, 0, 0, 0];
    call(report_protocol::REPORT_SYSCALL, args).map(|fd| Fd::adopt(int(fd)))
}

fn vectors<const N: usize>(parts: [&[u8]; N]) -> [libc::iovec; N] {
    parts.map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
}

/// write(2) of a part of `bytes`. Returns the number of bytes.
pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Result<usize, Errno> {
    call(libc::SYS_write, [word(fd), bytes.as_ptr().expose_provenance(), bytes.len(), 0, 0, 0])
}

/// getrandom(2): fills a short `buffer` completely.
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

/// The end of the heap that brk(2) extends; zero if unknown.
pub(crate) fn program_break() -> usize {
    // An impossible address changes nothing, and the kernel returns the current one.
    call(libc::SYS_brk, [0; 6]).unwrap_or(0)
}

/// Whether eight bytes at `address` are readable. Does not access them itself: the kernel copies them as a signal set
/// before it rejects the operation (`kernel/signal.c`).
pub(crate) fn readable(address: usize) -> bool {
    let no_operation = 0x7fff_ffff;
    let args = [no_operation, address, 0, 8, 0, 0];
    call(libc::SYS_rt_sigprocmask, args) != Err(Errno::EFAULT)
}
