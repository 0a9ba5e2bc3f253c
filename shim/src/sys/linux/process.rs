//! Typed system calls for creating and replacing processes.

use core::ffi::{CStr, c_char, c_int};

use super::{call, call_out, only_judged, unjudged, word};
use crate::errno::Errno;
use crate::sys::Fd;

/// A null-terminated list of strings, such as `argv` and `envp`.
pub(crate) type Strings = *const *const c_char;

/// A set of the signals 1 to 64 in the kernel's form.
pub(crate) type Signals = u64;

/// The kernel's `struct sigaction`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Disposition {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: Signals,
}

impl Disposition {
    pub(crate) const DEFAULT: Self = Self::of(libc::SIG_DFL);
    pub(crate) const IGNORE: Self = Self::of(libc::SIG_IGN);

    const fn of(handler: usize) -> Self {
        Self { handler, flags: 0, restorer: 0, mask: 0 }
    }

    /// All fields, as words.
    pub(crate) const fn words(self) -> [u64; 4] {
        [self.handler as u64, self.flags, self.restorer as u64, self.mask]
    }

    /// The inverse of [`Self::words`].
    pub(crate) fn of_words([handler, flags, restorer, mask]: [u64; 4]) -> Self {
        // A pointer is as wide as these words.
        let [handler, restorer] =
            [handler, restorer].map(|word| usize::try_from(word).unwrap_or(0));
        Self { handler, flags, restorer, mask }
    }

    pub(crate) const fn is_ignored(&self) -> bool {
        self.handler == libc::SIG_IGN
    }

    /// Whether it calls a function of the program.
    pub(crate) const fn is_handler(&self) -> bool {
        self.handler != libc::SIG_DFL && self.handler != libc::SIG_IGN
    }
}

/// The set that holds only `signal`.
pub(crate) const fn signal_set(signal: c_int) -> Signals {
    1_u64.wrapping_shl(signal.wrapping_sub(1).cast_unsigned())
}

/// A descriptor or pid from the kernel's result.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel's descriptors and pids are 32 bits"
)]
pub(super) const fn int(value: usize) -> c_int {
    value as c_int
}

const SET_SIZE: usize = size_of::<Signals>();

/// execve(2), or execveat(2) if its arguments are needed. `judged` says whether the whole program was judged. Returns
/// only on error.
pub(crate) fn execute(
    dirfd: c_int,
    path: &CStr,
    argv: Strings,
    envp: Strings,
    flags: c_int,
    judged: bool,
) -> Errno {
    let path = path.as_ptr().expose_provenance();
    let (argv, envp) = (argv.expose_provenance(), envp.expose_provenance());
    let (number, words) = if dirfd == libc::AT_FDCWD && flags == 0 {
        (libc::SYS_execve, [path, argv, envp, 0, 0])
    } else {
        (libc::SYS_execveat, [word(dirfd), path, argv, envp, word(flags)])
    };
    let outcome = if judged { only_judged(number, words) } else { Err(Errno::EACCES) };
    if outcome != Err(Errno::EACCES) {
        return outcome.err().unwrap_or(Errno::EACCES);
    }
    // The supervisor reports calls that Landlock denies.
    let outcome = unjudged(number, words);
    // Tells a supervisor that waits for this start that it failed. The next start may be judged only here.
    let _ = unjudged(libc::SYS_execve, [0; 5]);
    outcome.err().unwrap_or(Errno::EACCES)
}

/// faccessat2(2) with the effective IDs. If the kernel or a container lacks it, and these are the real IDs, the older
/// call.
pub(crate) fn accessible(path: &CStr, mode: c_int) -> Result<(), Errno> {
    let path = path.as_ptr().expose_provenance();
    let args = [word(libc::AT_FDCWD), path, word(mode), word(libc::AT_EACCESS), 0, 0];
    let outcome = match call(libc::SYS_faccessat2, args) {
        Err(Errno::ENOSYS | Errno::EPERM) if !has_borrowed_identity() => {
            call(libc::SYS_faccessat, [word(libc::AT_FDCWD), path, word(mode), 0, 0, 0])
        }
        outcome => outcome,
    };
    outcome.map(|_| ())
}

/// Whether the process's effective IDs differ from its real ones. The loader then ignores `LD_PRELOAD`.
pub(crate) fn has_borrowed_identity() -> bool {
    let id = |number| call(number, [0; 6]).ok();
    id(libc::SYS_getuid) != id(libc::SYS_geteuid) || id(libc::SYS_getgid) != id(libc::SYS_getegid)
}

/// geteuid(2).
///
/// # Errors
/// The kernel has none.
pub(crate) fn effective_user() -> Result<libc::uid_t, Errno> {
    let user = call(libc::SYS_geteuid, [0; 6])?;
    libc::uid_t::try_from(user).map_err(|_| Errno::EACCES)
}

/// `sched_yield(2)`.
pub(crate) fn give_way() {
    let _ = call(libc::SYS_sched_yield, [0; 6]);
}

/// pipe2(2) with close-on-exec. Returns the reading and the writing end.
pub(crate) fn pipe() -> Result<(Fd, Fd), Errno> {
    let mut ends: [c_int; 2] = [-1, -1];
    let args = [(&raw mut ends).expose_provenance(), word(libc::O_CLOEXEC), 0, 0, 0, 0];
    // SAFETY: the kernel writes two numbers.
    unsafe { call_out(libc::SYS_pipe2, args) }?;
    let [read, write] = ends;
    Ok((Fd::adopt(read), Fd::adopt(write)))
}

/// Makes `to` a copy of `from` that survives exec. If both are the same number, only makes it survive.
pub(crate) fn duplicate(from: c_int, to: c_int) -> Result<(), Errno> {
    if from == to {
        return super::fcntl(from, libc::F_GETFD, 0)
            .and_then(|flags| super::fcntl(from, libc::F_SETFD, flags & !libc::FD_CLOEXEC))
            .map(|_| ());
    }
    call(libc::SYS_dup3, [word(from), word(to), 0, 0, 0, 0]).map(|_| ())
}

/// `close_range(2)` of `first` and all higher descriptors.
pub(crate) fn close_from(first: c_int) -> Result<(), Errno> {
    call(libc::SYS_close_range, [word(first), u32::MAX as usize, 0, 0, 0, 0]).map(|_| ())
}

/// chdir(2) of the program's own string.
pub(crate) fn change_directory(path: *const c_char) -> Result<(), Errno> {
    call(libc::SYS_chdir, [path.expose_provenance(), 0, 0, 0, 0, 0]).map(|_| ())
}

/// fchdir(2).
pub(crate) fn change_directory_to(fd: c_int) -> Result<(), Errno> {
    call(libc::SYS_fchdir, [word(fd), 0, 0, 0, 0, 0]).map(|_| ())
}

/// Makes the caller's process group the foreground one of the terminal `fd` (tcsetpgrp(3)).
pub(crate) fn take_terminal(fd: c_int) -> Result<(), Errno> {
    let group = int(call(libc::SYS_getpgid, [0; 6])?);
    let group_at = (&raw const group).expose_provenance();
    #[expect(clippy::cast_possible_truncation, reason = "request numbers are 32 bits")]
    let request = libc::TIOCSPGRP as usize;
    call(libc::SYS_ioctl, [word(fd), request, group_at, 0, 0, 0]).map(|_| ())
}

/// setpgid(2) for the caller.
pub(crate) fn join_group(group: c_int) -> Result<(), Errno> {
    call(libc::SYS_setpgid, [0, word(group), 0, 0, 0, 0]).map(|_| ())
}

/// setsid(2).
pub(crate) fn new_session() -> Result<(), Errno> {
    call(libc::SYS_setsid, [0; 6]).map(|_| ())
}

/// Sets the effective IDs to the real ones.
pub(crate) fn drop_borrowed_identity() -> Result<(), Errno> {
    let keep = word(-1);
    let group = call(libc::SYS_getgid, [0; 6])?;
    call(libc::SYS_setresgid, [keep, group, keep, 0, 0, 0])?;
    let user = call(libc::SYS_getuid, [0; 6])?;
    call(libc::SYS_setresuid, [keep, user, keep, 0, 0, 0]).map(|_| ())
}

/// `sched_setscheduler(2)` for the caller, or `sched_setparam(2)` if no policy is given.
pub(crate) fn schedule(policy: Option<c_int>, priority: c_int) -> Result<(), Errno> {
    let parameter = (&raw const priority).expose_provenance();
    match policy {
        Some(policy) => call(libc::SYS_sched_setscheduler, [0, word(policy), parameter, 0, 0, 0]),
        None => call(libc::SYS_sched_setparam, [0, parameter, 0, 0, 0, 0]),
    }
    .map(|_| ())
}

/// Adds signals to the calling thread's blocked ones. Returns the previous set.
pub(crate) fn block(signals: Signals) -> Result<Signals, Errno> {
    let mut before: Signals = 0;
    let args = [
        word(libc::SIG_BLOCK),
        (&raw const signals).expose_provenance(),
        (&raw mut before).expose_provenance(),
        SET_SIZE,
        0,
        0,
    ];
    // SAFETY: the kernel writes one set.
    unsafe { call_out(libc::SYS_rt_sigprocmask, args) }?;
    Ok(before)
}

/// Sets the calling thread's blocked signals to `signals`.
pub(crate) fn set_blocked(signals: Signals) {
    let set = (&raw const signals).expose_provenance();
    let _ = call(libc::SYS_rt_sigprocmask, [word(libc::SIG_SETMASK), set, 0, SET_SIZE, 0, 0]);
}

/// A raised limit for the length of files that the process writes (`RLIMIT_FSIZE`). Dropping it restores the old one.
pub(crate) struct FileSize {
    before: Option<libc::rlimit64>,
}

impl FileSize {
    /// Raises the limit to allow files of `length` bytes.
    ///
    /// # Errors
    /// `EFBIG` if the hard limit is lower.
    pub(crate) fn allow(length: usize) -> Result<Self, Errno> {
        let before = file_size()?;
        if before.rlim_cur >= length as u64 {
            return Ok(Self { before: None });
        }
        if before.rlim_max < length as u64 {
            return Err(Errno::EFBIG);
        }
        set_file_size(&libc::rlimit64 { rlim_cur: before.rlim_max, ..before })?;
        Ok(Self { before: Some(before) })
    }
}

impl Drop for FileSize {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = set_file_size(before);
        }
    }
}

fn file_size() -> Result<libc::rlimit64, Errno> {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let to = (&raw mut limit).expose_provenance();
    // SAFETY: the kernel writes one structure of this layout.
    unsafe { call_out(libc::SYS_getrlimit, [libc::RLIMIT_FSIZE as usize, to, 0, 0, 0, 0]) }?;
    Ok(limit)
}

fn set_file_size(limit: &libc::rlimit64) -> Result<(), Errno> {
    let from = core::ptr::from_ref(limit).expose_provenance();
    call(libc::SYS_setrlimit, [libc::RLIMIT_FSIZE as usize, from, 0, 0, 0, 0]).map(|_| ())
}

/// The disposition of `signal`.
pub(crate) fn disposition(signal: c_int) -> Result<Disposition, Errno> {
    let mut current = Disposition::DEFAULT;
    let args = [word(signal), 0, (&raw mut current).expose_provenance(), SET_SIZE, 0, 0];
    // SAFETY: the kernel writes one structure of this layout.
    unsafe { call_out(libc::SYS_rt_sigaction, args) }?;
    Ok(current)
}

/// Sets the disposition of `signal`.
pub(crate) fn set_disposition(signal: c_int, to: &Disposition) -> Result<(), Errno> {
    let args = [word(signal), core::ptr::from_ref(to).expose_provenance(), 0, SET_SIZE, 0, 0];
    call(libc::SYS_rt_sigaction, args).map(|_| ())
}

/// Kills the child `pid` (`SIGKILL`).
pub(crate) fn kill(pid: c_int) {
    let _ = call(libc::SYS_kill, [word(pid), word(libc::SIGKILL), 0, 0, 0, 0]);
}

/// Waits for the child `pid` to end (wait4(2)). Returns its status.
pub(crate) fn wait(pid: c_int) -> Result<c_int, Errno> {
    loop {
        let mut status: c_int = 0;
        let args = [word(pid), (&raw mut status).expose_provenance(), 0, 0, 0, 0];
        // SAFETY: the kernel writes one number.
        match unsafe { call_out(libc::SYS_wait4, args) } {
            Err(Errno::EINTR) => {}
            outcome => return outcome.map(|_| status),
        }
    }
}

/// Opens a descriptor of the child `pid` (`pidfd_open(2)`).
///
/// # Errors
/// The kernel's.
pub(crate) fn descriptor(pid: c_int) -> Result<c_int, Errno> {
    let fd = call(libc::SYS_pidfd_open, [word(pid), 0, 0, 0, 0, 0])?;
    c_int::try_from(fd).map_err(|_| Errno::EINVAL)
}

/// `exit_group(2)`.
pub(crate) fn exit(status: c_int) -> ! {
    loop {
        let _ = call(libc::SYS_exit_group, [word(status), 0, 0, 0, 0, 0]);
    }
}

/// Anonymous memory, unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    start: usize,
    words: usize,
}

impl Memory {
    /// Maps `words` zeroed words.
    pub(crate) fn new(words: usize) -> Result<Self, Errno> {
        let length = words.checked_mul(size_of::<usize>()).ok_or(Errno::ENOMEM)?;
        let protection = word(libc::PROT_READ | libc::PROT_WRITE);
        let flags = word(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh mapping overlaps nothing.
        let start =
            unsafe { call_out(libc::SYS_mmap, [0, length, protection, flags, word(-1), 0]) }?;
        Ok(Self { start, words })
    }

    /// Takes back memory from [`Self::leave`].
    ///
    /// # Safety
    /// `start` must be memory of that many words, and this must be called only once for it.
    pub(crate) unsafe fn again(start: *mut usize, words: usize) -> Self {
        Self { start: start.expose_provenance(), words }
    }

    /// Leaves the mapping to the future owner of this address.
    pub(crate) fn leave(self) -> *mut usize {
        core::mem::ManuallyDrop::new(self).start()
    }

    /// The address after the last word, where a stack begins. A multiple of 16.
    pub(crate) const fn end(&self) -> usize {
        self.start.wrapping_add(self.words.wrapping_mul(size_of::<usize>())) & !15
    }

    /// The address of the first word, at the beginning of a page.
    pub(crate) fn start(&self) -> *mut usize {
        core::ptr::with_exposed_provenance_mut(self.start)
    }

    pub(crate) fn words(&mut self) -> &mut [usize] {
        // SAFETY: the mapping has that many words, aligned to a page, and belongs to `self`.
        unsafe { core::slice::from_raw_parts_mut(self.start(), self.words) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let length = self.words.wrapping_mul(size_of::<usize>());
        let _ = call(libc::SYS_munmap, [self.start, length, 0, 0, 0, 0]);
    }
}
