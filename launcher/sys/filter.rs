//! Installing a seccomp filter, and trying out whether one can be installed.

use std::ffi::{c_int, c_long, c_uint, c_ulong};
use std::os::fd::RawFd;
use std::{io, ptr};

use libc::{sock_filter, sock_fprog};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use super::last_error;

/// Who is told about the calls that the filter hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// Nobody: the filter hands none on.
    None,
    /// Whoever holds the descriptor, with callers that only a deadly signal wakes once their call
    /// was taken.
    Wanted,
}

impl Listener {
    const fn flags(self) -> c_ulong {
        match self {
            Self::None => 0,
            Self::Wanted => {
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
                    | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
            }
        }
    }
}

/// Confines the calling thread, and what it starts, to `filter`, for good. The answer is the
/// listener's descriptor, or zero where none is wanted. The thread must have given up new privileges
/// or be privileged.
///
/// System calls only: it may run between `vfork` and exec.
pub(crate) fn install(filter: &[sock_filter], listener: Listener) -> Result<RawFd, Errno> {
    let length = u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    match listener {
        Listener::Wanted => set_filter(listener.flags(), &raw const program),
        Listener::None => set_filter_without_flags(&raw const program).map(|()| 0),
    }
}

/// By the older call, which is there where containers and old kernels do not have seccomp(2).
fn set_filter_without_flags(program: *const sock_fprog) -> Result<(), Errno> {
    const FILTER: c_ulong = libc::SECCOMP_MODE_FILTER as c_ulong;
    // SAFETY: a program that outlives the call.
    let answer = unsafe { libc::prctl(libc::PR_SET_SECCOMP, FILTER, program) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// Whether the kernel knows the listener of the kind that is wanted; nothing is installed.
pub(crate) fn knows_listener() -> bool {
    // The flags are looked at before the program, of which there is none.
    set_filter(Listener::Wanted.flags(), ptr::null()) == Err(Errno::FAULT)
}

/// What a child process meets that installs `filter`: the errno of the installation, or else that of
/// the system call `then`, made with one argument; zero if all went well.
///
/// # Errors
/// Where there can be no child.
pub(crate) fn trial(
    filter: &[sock_filter],
    listener: Listener,
    then: Option<(c_long, c_int)>,
) -> io::Result<c_int> {
    // SAFETY: the child makes system calls only, and ends without running anything of its parent's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let errno = attempt(filter, listener, then).err().map_or(0, Errno::raw_os_error);
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(errno) }
    }
    let child = (child > 0).then(|| Pid::from_raw(child)).flatten();
    let child = child.ok_or_else(io::Error::last_os_error)?;
    let (_, status) =
        rustix::process::waitpid(Some(child), WaitOptions::empty())?.ok_or(io::ErrorKind::Other)?;
    status.exit_status().ok_or_else(|| io::ErrorKind::Other.into())
}

fn attempt(
    filter: &[sock_filter],
    listener: Listener,
    then: Option<(c_long, c_int)>,
) -> Result<(), Errno> {
    rustix::thread::set_no_new_privs(true)?;
    install(filter, listener)?;
    let Some((number, argument)) = then else { return Ok(()) };
    // SAFETY: neither a small number nor zeros are pointers that anything could be written to.
    let answer = unsafe { libc::syscall(number, argument, 0, 0, 0, 0, 0) };
    if answer < 0 { Err(last_error()) } else { Ok(()) }
}

fn set_filter(flags: c_ulong, program: *const sock_fprog) -> Result<RawFd, Errno> {
    const SET_MODE_FILTER: c_uint = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: a program that outlives the call, or none, which the kernel finds out.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, program) };
    if answer < 0 {
        return Err(last_error());
    }
    RawFd::try_from(answer).map_err(|_| Errno::INVAL)
}
