//! Connects to local sockets that have a name but no path (`unix(7)`, "abstract"). No rule covers them, so the server
//! must belong to the run. It is pinned before the connection, so that nobody else can take its name meanwhile.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{socket_acceptconn, socket_cookie, socket_type};
use rustix::net::{SocketAddrUnix, SocketType, getsockname};

use super::network::{domain, refuse_unruled, shown_name};
use super::sockets::{LONGEST, PATH_AT};
use crate::network::address;
use crate::record::denial::Reason;
use crate::supervisor::task::Task;
use crate::sys::actions;
use crate::sys::notification::CallResult;
use crate::sys::proc::descendants::{self, sockets_of};

/// connect(2) to an abstract name, or to none.
pub(super) fn connect(
    task: &Task<'_>,
    socket: &OwnedFd,
    given: &[u8],
) -> Result<CallResult, Errno> {
    let _server = if is_name(given) { admit(task, socket, given)? } else { None };
    let _acting = task.begin()?;
    task.connect(socket, given).map(|()| CallResult::Value(0))
}

/// Whether an address without a path names a socket. The kernel rejects the others.
pub(super) fn is_name(given: &[u8]) -> bool {
    (PATH_AT + 1..=LONGEST).contains(&given.len()) && address::family(given) == libc::AF_UNIX
}

/// Pins the server of that name. `None` for another process's server in a learning run without rules, which observes
/// such connections.
///
/// # Errors
/// `ECONNREFUSED` if nobody has the name, `EACCES` if a process outside the run has it.
fn admit(task: &Task<'_>, socket: &OwnedFd, given: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let shown = shown_name(given);
    let sought = Server::sought_by(socket, given)?;
    let server = task.policy.handed.as_ref().and_then(|handed| sought.hold(handed));
    if server.is_some() {
        return Ok(server);
    }
    if !is_taken(task, &shown) {
        return Err(Errno::CONNREFUSED);
    }
    refuse_unruled(task, Reason::Peer, &shown)?;
    Ok(None)
}

/// The wanted server. Names belong to a network namespace and a type of socket.
struct Server<'a> {
    name: &'a [u8],
    namespace: u64,
    kind: SocketType,
}

impl<'a> Server<'a> {
    /// # Errors
    /// `EACCES` if the kernel cannot tell namespaces apart (before Linux 5.14).
    fn sought_by(socket: &OwnedFd, given: &'a [u8]) -> Result<Self, Errno> {
        let namespace = actions::network_namespace(socket).map_err(|_| Errno::ACCESS)?;
        let name = given.get(3..).unwrap_or_default();
        Ok(Self { name, namespace, kind: socket_type(socket)? })
    }

    /// The socket, from any process of the run that has it. Sockets that were `handed` to the run do not count.
    fn hold(&self, handed: &HashSet<u64>) -> Option<OwnedFd> {
        let is_own = |socket: &OwnedFd| socket_cookie(socket).is_ok_and(|it| !handed.contains(&it));
        let is_sought = |socket: &OwnedFd| self.is(socket) == Ok(true) && is_own(socket);
        let of = |process: i32| sockets_of(process)?.find(is_sought);
        descendants::all().iter().find_map(|process| of(process.pid))
    }

    fn is(&self, socket: &OwnedFd) -> Result<bool, Errno> {
        if domain(socket)? != libc::AF_UNIX {
            return Ok(false);
        }
        let own = SocketAddrUnix::try_from(getsockname(socket)?)?;
        Ok(own.abstract_name() == Some(self.name)
            && socket_type(socket)? == self.kind
            && (self.kind == SocketType::DGRAM || socket_acceptconn(socket)?)
            && actions::network_namespace(socket)? == self.namespace)
    }
}

/// Whether any process in the caller's network namespace has the name, or that is unknown (`/proc/net/unix`,
/// `proc(5)`).
fn is_taken(task: &Task<'_>, shown: &[u8]) -> bool {
    let as_listed = shown.iter().map(|&byte| if byte == 0 { b'@' } else { byte });
    let line: Vec<u8> = [b' '].into_iter().chain(as_listed).chain([b'\n']).collect();
    let Ok(names) = fs::read(format!("/proc/{}/net/unix", task.caller.tid())) else { return true };
    names.windows(line.len()).any(|part| part == line)
}
