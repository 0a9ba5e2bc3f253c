//! Netlink sockets (`netlink(7)`). A socket without a number gets that of the process that first uses it. That would be
//! the supervisor, with its duplicate. So the supervisor asks for the caller's number, by which programs know their
//! socket.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{self, getsockname};

use crate::network::address;
use crate::supervisor::task::Task;
use crate::sys::actions;

/// The position of the number in `struct sockaddr_nl`, and that structure's size.
const NUMBER: std::ops::Range<usize> = 4..8;
const SIZE: usize = 12;

/// Gives a socket its number before it connects or sends, as the kernel would for the caller.
///
/// # Errors
/// Those of [`Task::begin`], and `EACCES` if the caller's number is unknown.
pub(super) fn give_number(task: &Task<'_>, socket: &OwnedFd) -> Result<(), Errno> {
    if is_numbered(socket) {
        return Ok(());
    }
    let number = number_of_caller(task)?;
    let _acting = task.begin()?;
    // If another socket has that number, the kernel chooses one.
    let _ = net::bind(socket, &SocketAddrNetlink::new(number, 0));
    Ok(())
}

/// bind(2) of a netlink socket.
///
/// # Errors
/// Those of bind(2), and those of [`give_number`].
pub(super) fn bind(task: &Task<'_>, socket: &OwnedFd, given: &[u8]) -> Result<(), Errno> {
    let as_given = || actions::bind(socket, given);
    if !asks_for_any(given) || is_numbered(socket) {
        let _acting = task.begin()?;
        return as_given();
    }
    let mut own = given.to_vec();
    own.splice(NUMBER, number_of_caller(task)?.to_ne_bytes());
    let _acting = task.begin()?;
    match actions::bind(socket, &own) {
        Err(Errno::ADDRINUSE) => as_given(),
        outcome => outcome,
    }
}

fn asks_for_any(given: &[u8]) -> bool {
    given.len() >= SIZE
        && address::family(given) == libc::AF_NETLINK
        && given.get(NUMBER) == Some(&[0; 4])
}

fn is_numbered(socket: &OwnedFd) -> bool {
    let own = getsockname(socket).and_then(SocketAddrNetlink::try_from);
    own.is_ok_and(|own| own.pid() != 0)
}

/// The number of the caller's process in its own pid namespace.
fn number_of_caller(task: &Task<'_>) -> Result<u32, Errno> {
    let status = task.caller.proc().text(task.caller.tid(), "status")?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NStgid:"));
    let innermost = numbers.and_then(|numbers| numbers.split_ascii_whitespace().last());
    innermost.and_then(|number| number.parse().ok()).ok_or(Errno::ACCESS)
}
