//! Installs seccomp filters, and tries out whether one can be installed.

use std::ffi::{c_int, c_long, c_uint, c_ulong};
use std::os::fd::RawFd;
use std::{io, ptr};

use libc::{sock_filter, sock_fprog};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions};

use super::last_error;

/// Whether a filter has a listener, which gets the calls that the filter hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerWanted {
    /// No listener: the filter hands no calls on.
    None,
    /// A descriptor is the listener. Once it received a call, only a deadly signal wakes the caller.
    Wanted,
}

impl ListenerWanted {
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

/// Confines the calling thread, and all that it starts, to `filter` for good. Returns the listener's descriptor, or
/// zero if none is wanted. The thread must have given up new privileges or be privileged.
///
/// It makes system calls only, so it may run between `vfork` and exec.
pub(crate) fn install(filter: &[sock_filter], listener: ListenerWanted) -> Result<RawFd, Errno> {
    let length = u16::try_from(filter.len()).map_err(|_| Errno::INVAL)?;
    let program = sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    match listener {
        ListenerWanted::Wanted => set_filter(listener.flags(), &raw const program),
        ListenerWanted::None => set_filter_without_flags(&raw const program).map(|()| 0),
    }
}

/// Installs it by `prctl(2)`, which also works in containers and on old kernels that lack `seccomp(2)`.
fn set_filter_without_flags(program: *const sock_fprog) -> Result<(), Errno> {
    const FILTER: c_ulong = libc::SECCOMP_MODE_FILTER as c_ulong;
    // SAFETY: a program that outlives the call.
    let answer = unsafe { libc::prctl(libc::PR_SET_SECCOMP, FILTER, program) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// Whether the kernel supports [`ListenerWanted::Wanted`]. Installs nothing.
pub(crate) fn knows_listener() -> bool {
    // The kernel checks the flags before the program, which is missing here.
    set_filter(ListenerWanted::Wanted.flags(), ptr::null()) == Err(Errno::FAULT)
}

/// Installs `filter` in a child process, which then makes the system call `then` with one argument. Returns the errno
/// of the step that failed, or zero.
///
/// # Errors
/// If no child can be created.
pub(crate) fn trial(
    filter: &[sock_filter],
    listener: ListenerWanted,
    then: Option<(c_long, c_int)>,
) -> io::Result<c_int> {
    // SAFETY: the child makes system calls only, and ends without running any code of its parent's.
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
    listener: ListenerWanted,
    then: Option<(c_long, c_int)>,
) -> Result<(), Errno> {
    rustix::thread::set_no_new_privs(true)?;
    install(filter, listener)?;
    let Some((number, argument)) = then else { return Ok(()) };
    // SAFETY: neither a small number nor zero is an address that the kernel could write to.
    let answer = unsafe { libc::syscall(number, argument, 0, 0, 0, 0, 0) };
    if answer < 0 { Err(last_error()) } else { Ok(()) }
}

fn set_filter(flags: c_ulong, program: *const sock_fprog) -> Result<RawFd, Errno> {
    const SET_MODE_FILTER: c_uint = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the program outlives the call, or is null, which the kernel rejects.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, program) };
    if answer < 0 {
        return Err(last_error());
    }
    RawFd::try_from(answer).map_err(|_| Errno::INVAL)
}
