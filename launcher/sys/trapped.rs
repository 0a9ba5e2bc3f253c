//! Runs a child process whose calls are trapped, without a plan. For tests.

use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, WaitOptions, pidfd_getfd, pidfd_open};

/// A filter that hands on the calls in `numbers`, and allows all others.
fn filter(numbers: &[i64]) -> Vec<libc::sock_filter> {
    let statement = |code: u32, jt, jf, k| libc::sock_filter {
        code: u16::try_from(code).expect("16 bits"),
        jt,
        jf,
        k,
    };
    let answer = |verdict| statement(libc::BPF_RET | libc::BPF_K, 0, 0, verdict);
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for &number in numbers {
        let number = u32::try_from(number).expect("a number");
        program.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, number));
        program.push(answer(libc::SECCOMP_RET_USER_NOTIF));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program
}

/// Traps these calls of the calling thread and its children for good.
pub(crate) fn install(numbers: &[i64]) -> OwnedFd {
    let mut program = filter(numbers);
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).expect("short"),
        filter: program.as_mut_ptr(),
    };
    rustix::thread::set_no_new_privs(true).expect("no new privileges");
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let set = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: a valid program, which the kernel copies.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, &raw const program) };
    let fd = RawFd::try_from(fd).ok().filter(|&fd| fd >= 0).expect("a listener");
    // SAFETY: the descriptor is new, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Held while a child runs: a child that is forked while another's pipes are open would keep them open.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs `body` in a child, and returns its result. If `trapped` is not empty, the child's calls with these numbers are
/// trapped, and `serve` gets the listener first.
pub(crate) fn in_child(
    trapped: &[i64],
    serve: impl FnOnce(OwnedFd, Pid),
    body: impl FnOnce() -> String,
) -> String {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut results, mut result) = std::io::pipe().expect("a pipe");
    let (mut go, mut gone) = std::io::pipe().expect("a pipe");
    // SAFETY: the child makes system calls and allocates, which glibc prepares for.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        drop((results, gone));
        let listener = (!trapped.is_empty()).then(|| install(trapped));
        let number = listener.as_ref().map_or(-1, OwnedFd::as_raw_fd);
        let _ = result.write_all(&number.to_ne_bytes());
        let _ = go.read(&mut [0]);
        drop(listener);
        let text = body();
        let _ = result.write_all(text.as_bytes());
        // SAFETY: the child must not run the parent's clean-up.
        unsafe { libc::_exit(0) };
    }
    drop((result, go));
    let mut number = [0; 4];
    results.read_exact(&mut number).expect("the child began");
    let pid = Pid::from_raw(pid).expect("a child");
    if !trapped.is_empty() {
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("a handle");
        let number = RawFd::from_ne_bytes(number);
        let listener =
            pidfd_getfd(process, number, PidfdGetfdFlags::empty()).expect("the listener");
        serve(listener, pid);
    }
    gone.write_all(b"g").expect("told");
    let mut text = String::new();
    let _ = results.read_to_string(&mut text);
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    text
}

/// Makes a system call, and returns its result or errno.
pub(crate) fn call(number: i64, arguments: [usize; 6]) -> Result<i64, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: tests pass pointers to values that outlive the call, or wrong ones that the kernel rejects.
    let result = unsafe { libc::syscall(number, first, second, third, fourth, fifth, sixth) };
    if result < 0 {
        Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
    } else {
        Ok(result)
    }
}

extern "C" fn nothing(_: i32) {}

/// Installs a handler for SIGALRM that does nothing. `restart` says whether interrupted calls restart.
pub(crate) fn handle_alarm(restart: bool) {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zero is a valid action.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = (nothing as extern "C" fn(i32)) as libc::sighandler_t;
    action.sa_flags = if restart { libc::SA_RESTART } else { 0 };
    let action: *const libc::sigaction = &raw const *action;
    // SAFETY: a valid action, whose handler does nothing.
    unsafe { libc::sigaction(libc::SIGALRM, action, std::ptr::null_mut()) };
}

/// Sends this process SIGALRM once.
pub(crate) fn alarm_in(delay: Duration) {
    set_timer(delay, Duration::ZERO);
}

/// Sends this process SIGALRM again and again.
pub(crate) fn alarm_every(delay: Duration) {
    set_timer(delay, delay);
}

fn set_timer(first: Duration, then: Duration) {
    let value = |time: Duration| libc::timeval {
        tv_sec: 0,
        tv_usec: libc::suseconds_t::try_from(time.as_micros()).expect("short"),
    };
    let timer = libc::itimerval { it_value: value(first), it_interval: value(then) };
    // SAFETY: a valid timer.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

/// Runs `act` again and again in a child, and kills the child after `delay`.
pub(crate) fn killed_while(delay: Duration, act: impl Fn()) {
    // SAFETY: the child makes system calls and allocates, which glibc prepares for.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        loop {
            act();
        }
    }
    std::thread::sleep(delay);
    let pid = Pid::from_raw(pid).expect("a child");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
}

/// Runs `act` in a child, and returns its result.
pub(crate) fn succeeds(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child makes system calls and allocates, which glibc prepares for.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let status = i32::from(!act());
        // SAFETY: the child must not run the parent's clean-up.
        unsafe { libc::_exit(status) };
    }
    let pid = Pid::from_raw(pid).expect("a child");
    let ended = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    ended.ok().flatten().is_some_and(|(_, status)| status.exit_status() == Some(0))
}
