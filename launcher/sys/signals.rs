//! Handles signals as messages: they are blocked, and fetched one by one with their senders (`signal(7)`,
//! `sigtimedwait(2)`). No handler runs, so nothing is interrupted half-way. The exception is [`Interrupting`].

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Signals with which users end a command that they wait for.
pub(crate) const ENDING: [i32; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM];

/// A set of signals, or a thread's mask.
#[derive(Clone, Copy)]
pub(crate) struct Signals(libc::sigset_t);

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signals")
    }
}

/// A signal that arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its number.
    pub(crate) signal: i32,
    /// The process that sent it. `None` if the kernel did, for instance for a key press.
    pub(crate) sender: Option<i32>,
}

/// The mask and the dispositions that this process was started with and has changed. A child must get them back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inherited {
    mask: Signals,
    ignored_pipe: bool,
    ignored_child: bool,
    ignored_length: bool,
}

/// Whether `SIGPIPE` was ignored when the process began: Rust's runtime ignores it before `main`.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

/// Whether this process itself has `SIGXFSZ` ignored, and did not inherit that.
static LENGTH_IS_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_pipe_disposition() {
    PIPE_WAS_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
}

// SAFETY: `.init_array` holds pointers to C functions, and this is one; it only queries a signal.
#[unsafe(link_section = ".init_array")]
#[used]
static AT_START: extern "C" fn() = note_pipe_disposition;

impl Signals {
    /// The set of `numbers`.
    pub(crate) fn of(numbers: &[i32]) -> Self {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigemptyset(3) initialises its argument.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised by the call above.
        let mut set = unsafe { set.assume_init() };
        for &number in numbers {
            // SAFETY: `set` is a valid set, and an invalid number is rejected.
            unsafe { libc::sigaddset(&raw mut set, number) };
        }
        Self(set)
    }

    fn has(&self, number: i32) -> bool {
        // SAFETY: a valid set, and an invalid number is in none.
        unsafe { libc::sigismember(&raw const self.0, number) == 1 }
    }

    /// Whether one of these signals is blocked and has arrived.
    pub(crate) fn is_any_waiting(&self) -> bool {
        let waiting = Self::waiting();
        (1..=libc::SIGRTMAX()).any(|number| self.has(number) && waiting.has(number))
    }

    /// The signals that are blocked and have arrived.
    fn waiting() -> Self {
        let mut set = Self::of(&[]);
        // SAFETY: writes a valid set into a valid one.
        unsafe { libc::sigpending(&raw mut set.0) };
        set
    }

    /// Blocks these signals, and returns the state that a child must get back.
    pub(crate) fn block(&self) -> Inherited {
        let ignored_child = is_ignored(libc::SIGCHLD);
        if ignored_child {
            // Otherwise the kernel reaps children itself, and their exit statuses are lost.
            set_disposition(libc::SIGCHLD, libc::SIG_DFL);
        }
        Inherited {
            mask: self.change_mask(libc::SIG_BLOCK),
            ignored_pipe: PIPE_WAS_IGNORED.load(Ordering::Relaxed),
            ignored_child,
            ignored_length: is_ignored(libc::SIGXFSZ) && !LENGTH_IS_IGNORED.load(Ordering::Relaxed),
        }
    }

    /// Blocks these signals for the calling thread, until the returned value is dropped.
    pub(crate) fn hold(&self) -> BlockedSignals {
        BlockedSignals { before: self.change_mask(libc::SIG_BLOCK) }
    }

    /// Unblocks these signals for the calling thread.
    pub(crate) fn unblock(&self) {
        self.change_mask(libc::SIG_UNBLOCK);
    }

    /// Waits for one of these signals, at most for `limit`. `None` if none arrived, or the wait was interrupted.
    pub(crate) fn wait(&self, limit: Option<Duration>) -> io::Result<Option<Arrival>> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let limit = limit.map(|limit| libc::timespec {
            tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: limit.subsec_nanos().into(),
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the set is valid, `info` is writable, `limit` is null or valid.
        let signal = unsafe { libc::sigtimedwait(&raw const self.0, info.as_mut_ptr(), limit) };
        if signal < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(None),
                _ => Err(error),
            };
        }
        // SAFETY: all bytes are initialised: zeroed, then filled in by the kernel.
        let info = unsafe { info.assume_init() };
        let by_process = matches!(info.si_code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE);
        // SAFETY: signals with these codes carry their sender.
        let sender = by_process.then(|| unsafe { info.si_pid() });
        Ok(Some(Arrival { signal, sender }))
    }

    fn change_mask(&self, how: i32) -> Self {
        let mut old = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: both sets are valid, and only the calling thread's mask changes.
        unsafe { libc::pthread_sigmask(how, &raw const self.0, old.as_mut_ptr()) };
        // SAFETY: zeroed, and filled in by the call.
        Self(unsafe { old.assume_init() })
    }
}

/// Blocked signals. When it is dropped, the thread gets its former mask back.
#[derive(Debug)]
pub(crate) struct BlockedSignals {
    before: Signals,
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        self.before.change_mask(libc::SIG_SETMASK);
    }
}

impl Inherited {
    /// Restores the mask and the dispositions. Async-signal-safe: called between fork and exec.
    pub(crate) fn restore(&self) {
        let disposition = |ignored| if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
        set_disposition(libc::SIGPIPE, disposition(self.ignored_pipe));
        set_disposition(libc::SIGCHLD, disposition(self.ignored_child));
        set_disposition(libc::SIGXFSZ, disposition(self.ignored_length));
        self.mask.change_mask(libc::SIG_SETMASK);
    }
}

/// From now on, a write beyond the limit on file length fails (`setrlimit(2)`, EFBIG) and does not end this process.
pub(crate) fn survive_limit_of_length() {
    if !is_ignored(libc::SIGXFSZ) {
        set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
        LENGTH_IS_IGNORED.store(true, Ordering::Relaxed);
    }
}

/// Sends a thread the signal for a file that would exceed its limit on file length (`setrlimit(2)`).
pub(crate) fn tell_of_length(process: i32, thread: i32) {
    tell(process, thread, libc::SIGXFSZ);
}

/// Sends a thread the signal for sending to a closed connection (`send(2)`).
pub(crate) fn tell_of_hangup(process: i32, thread: i32) {
    tell(process, thread, libc::SIGPIPE);
}

/// Sends a signal to one thread (`tgkill(2)`), as the kernel does to a caller.
fn tell(process: i32, thread: i32, signal: i32) {
    // SAFETY: no memory is passed, and a thread that has ended gets no signal.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// While it lives, calls of this process's threads can be interrupted by a signal that does nothing else.
pub(crate) struct Interrupting {
    before: libc::sigaction,
}

impl Interrupting {
    const SIGNAL: i32 = libc::SIGURG;

    /// Installs the signal's handler, until the returned value is dropped.
    pub(crate) fn begin() -> Self {
        extern "C" fn nothing(_: i32) {}
        let handler: extern "C" fn(i32) = nothing;
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all of it may be zero. Without `SA_RESTART`, calls do not restart.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handler as libc::sighandler_t;
        // SAFETY: both actions are valid, and the handler does nothing.
        unsafe { libc::sigaction(Self::SIGNAL, &raw const action, before.as_mut_ptr()) };
        // SAFETY: zeroed, and filled in by the call.
        Self { before: unsafe { before.assume_init() } }
    }

    /// Makes calls of the calling thread interruptible.
    pub(crate) fn let_through() {
        Signals::of(&[Self::SIGNAL]).unblock();
    }

    /// Interrupts the call that a thread waits in, if it waits.
    pub(crate) fn interrupt(thread: i32) {
        tell(rustix::process::getpid().as_raw_nonzero().get(), thread, Self::SIGNAL);
    }
}

impl std::fmt::Debug for Interrupting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupting")
    }
}

impl Drop for Interrupting {
    fn drop(&mut self) {
        // SAFETY: the action that was there before.
        unsafe { libc::sigaction(Self::SIGNAL, &raw const self.before, std::ptr::null_mut()) };
    }
}

/// Stops this process as `signal` would if it were not blocked. Returns when the process is continued, or at once if it
/// cannot be stopped (an orphaned process group, `setpgid(2)`).
pub(crate) fn stop_by(signal: i32) {
    let set = Signals::of(&[signal]);
    // SAFETY: raise(3) takes any number.
    unsafe { libc::raise(signal) };
    let before = set.change_mask(libc::SIG_UNBLOCK);
    before.change_mask(libc::SIG_SETMASK);
}

/// Ends this process by `signal`, whatever its disposition was.
pub(crate) fn end_by(signal: i32) {
    set_disposition(signal, libc::SIG_DFL);
    stop_by(signal);
}

fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only queries; `action` is writable.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: zeroed, and filled in by the call.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

fn set_disposition(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: neither `SIG_DFL` nor `SIG_IGN` names code.
    unsafe { libc::signal(signal, disposition) };
}
