//! Makes the calls on pinned objects that `rustix` has no form for. Used by the supervisor.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// truncate(2).
///
/// # Errors
/// Those of `truncate(2)`.
pub(crate) fn truncate(path: &CStr, length: i64) -> Result<(), Errno> {
    // SAFETY: a terminated string.
    settle(unsafe { libc::truncate(path.as_ptr(), length) }).map(|_| ())
}

/// connect(2), to an address of any family.
///
/// # Errors
/// Those of `connect(2)`.
pub(crate) fn connect(socket: impl AsFd, address: &[u8]) -> Result<(), Errno> {
    let socket = socket.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(address.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads that many bytes of the slice.
    settle(unsafe { libc::connect(socket, address.as_ptr().cast(), length) }).map(|_| ())
}

/// bind(2), to an address of any family.
///
/// # Errors
/// Those of `bind(2)`.
pub(crate) fn bind(socket: impl AsFd, address: &[u8]) -> Result<(), Errno> {
    let socket = socket.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(address.len()).map_err(|_| Errno::INVAL)?;
    // SAFETY: the kernel reads that many bytes of the slice.
    settle(unsafe { libc::bind(socket, address.as_ptr().cast(), length) }).map(|_| ())
}

/// The number of a socket's network namespace (`SO_NETNS_COOKIE`, Linux 5.14).
///
/// # Errors
/// Those of `getsockopt(2)`.
pub(crate) fn network_namespace(socket: impl AsFd) -> Result<u64, Errno> {
    let mut cookie = 0_u64;
    let mut length = libc::socklen_t::try_from(size_of::<u64>()).map_err(|_| Errno::INVAL)?;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_NETNS_COOKIE);
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes into `cookie`, at most `length` bytes, which is its size.
    settle(unsafe {
        libc::getsockopt(socket, level, option, (&raw mut cookie).cast(), &raw mut length)
    })?;
    Ok(cookie)
}

/// Confines the calling thread for good: it can create sockets only below `directory`.
///
/// # Errors
/// `ENOSYS` or `EOPNOTSUPP` if the kernel has no Landlock.
pub(crate) fn make_sockets_only_below(directory: BorrowedFd<'_>) -> Result<(), Errno> {
    const MAKE_SOCK: u64 = 1 << 9;
    const PATH_BENEATH: i32 = 1;
    /// `struct landlock_path_beneath_attr`.
    #[repr(C, packed)]
    struct Beneath {
        access: u64,
        parent: i32,
    }
    let handled = MAKE_SOCK;
    let size = size_of_val(&handled);
    let create = libc::SYS_landlock_create_ruleset;
    // SAFETY: a structure whose first and only field here is the set of handled accesses.
    let ruleset = settle_long(unsafe { libc::syscall(create, &raw const handled, size, 0) })?;
    // SAFETY: the descriptor is new, and nothing else owns it.
    let ruleset: OwnedFd = unsafe { std::os::fd::FromRawFd::from_raw_fd(ruleset) };
    let beneath = Beneath { access: MAKE_SOCK, parent: directory.as_raw_fd() };
    let (add, fd) = (libc::SYS_landlock_add_rule, ruleset.as_raw_fd());
    // SAFETY: the structure is the one for this type of rule.
    settle_long(unsafe { libc::syscall(add, fd, PATH_BENEATH, &raw const beneath, 0) })?;
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: takes numbers, and affects this thread alone.
    settle_long(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0) })?;
    Ok(())
}

fn settle(result: i32) -> Result<i32, Errno> {
    if result < 0 { Err(super::last_error()) } else { Ok(result) }
}

fn settle_long(result: libc::c_long) -> Result<i32, Errno> {
    i32::try_from(result).ok().filter(|&value| value >= 0).ok_or_else(super::last_error)
}
