//! Internet sockets while rules about hosts are declared, and local sockets without a path. The supervisor acts on its
//! own duplicate of the socket, with its own copy of the address. So the caller can change neither.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{socket_cookie, socket_domain, socket_type};
use rustix::net::{SocketAddrAny, SocketType, getsockname};

use super::{loopback, refused};
use crate::network::clients::NetworkClient;
use crate::network::{Network, address};
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::record::usage::UseKind;
use crate::supervisor::task::{Task, program_of};
use crate::sys::actions;
use crate::sys::notification::CallResult;

/// A socket's family as a number.
///
/// # Errors
/// `ENOTSOCK`.
pub(super) fn domain(socket: &OwnedFd) -> Result<i32, Errno> {
    socket_domain(socket).map(|family| family.as_raw().into())
}

/// Whether sockets of this family lead to hosts.
pub(super) const fn is_internet(domain: i32) -> bool {
    matches!(domain, libc::AF_INET | libc::AF_INET6)
}

/// socket(2) and socketpair(2) for a family that is denied in this run. The filter lets the others pass.
///
/// # Errors
/// `EACCES`.
pub(crate) fn refuse_socket(task: &Task<'_>, domain: i32) -> Result<CallResult, Errno> {
    if domain == libc::AF_NETLINK {
        // The filter traps only some of these, and only if sockets of other families are allowed.
        return refused::anywhere(task);
    }
    let what = if is_internet(domain) {
        "sockets of the internet".to_owned()
    } else {
        format!("sockets of family {domain}")
    };
    Err(task.refused(Reason::Socket, Subject::new(what.as_bytes())))
}

/// Fails for sockets of families other than the judged ones, and the one with which the C library queries the machine's
/// addresses. The filter lets none be created. But a socket may turn into another (`TCP_ULP`), or come from outside.
///
/// # Errors
/// `EACCES`.
pub(super) fn admit_family(domain: i32) -> Result<(), Errno> {
    let known = is_internet(domain) || matches!(domain, libc::AF_UNIX | libc::AF_NETLINK);
    if known { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Whether each message on the socket may have its own address.
///
/// # Errors
/// `ENOTSOCK`.
pub(super) fn is_datagram(socket: &OwnedFd) -> Result<bool, Errno> {
    Ok(socket_type(socket)? == SocketType::DGRAM)
}

/// The address in the form to use, if connecting or sending to it is allowed.
///
/// # Errors
/// `EACCES` if no rule allows it, and those of [`address::read`].
pub(super) fn judged(
    task: &Task<'_>,
    network: &Network,
    domain: i32,
    given: &[u8],
) -> Result<Vec<u8>, Errno> {
    let target = address::plain(address::read(given)?);
    if target.port() == 0 && !network.is_watched_only() {
        // No server is there. Resolvers do this to find the route to a host, and cope without.
        return Err(Errno::ACCESS);
    }
    if network.allows(target) {
        learn_target(task, network, target);
        return Ok(address::write(target, domain));
    }
    let shown = network.shown(target);
    Err(task.refused(Reason::Connect, Subject::new(shown.as_bytes())))
}

/// Records the target for a learning run.
fn learn_target(task: &Task<'_>, network: &Network, target: SocketAddr) {
    if !task.is_lesson() || target.port() == 0 {
        return;
    }
    for host in network.names_of(target) {
        task.learn_host(UseKind::Connected, &host);
    }
}

/// connect(2) of an internet socket.
pub(super) fn connect(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    given: &[u8],
) -> Result<CallResult, Errno> {
    if given.len() >= 2 && address::family(given) == libc::AF_UNSPEC {
        // Dissolves the existing association, even a listening one.
        let _acting = task.begin()?;
        return loopback::set_free(task, socket, || actions::connect(socket, given));
    }
    let wanted = address::plain(address::read(given)?);
    let is_datagram = is_datagram(socket)?;
    if let Some(place) = network.own_place(wanted, is_datagram) {
        if wanted != place {
            network.askers.pretend(socket_cookie(socket)?, wanted);
        }
        return connect_to_own(task, network, socket, place);
    }
    if !is_datagram && let Some(held) = loopback::hold(network, socket, wanted)? {
        return loopback::connect(task, network, socket, &held);
    }
    let target = judged(task, network, domain(socket)?, given)?;
    let _acting = task.begin()?;
    task.connect(socket, &target).map(|()| CallResult::Value(0))
}

/// connect(2) to the run's own server on loopback, which must know the asker.
fn connect_to_own(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    place: SocketAddr,
) -> Result<CallResult, Errno> {
    let target = address::write(place, domain(socket)?);
    let asker = asker(task)?;
    let _acting = task.begin()?;
    let connected = task.connect(socket, &target);
    if matches!(connected, Ok(()) | Err(Errno::INPROGRESS)) {
        network.askers.expect(own_address(socket)?, asker);
    }
    connected.map(|()| CallResult::Value(0))
}

fn asker(task: &Task<'_>) -> Result<NetworkClient, Errno> {
    let pid = task.caller.status()?.process.unsigned_abs();
    Ok(NetworkClient { pid, program: program_of(&task.caller) })
}

/// The destination of a datagram for an address. It is either the run's own name server, which then knows the asker, or
/// the address itself.
///
/// # Errors
/// As [`judged`].
pub(super) fn destination(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    given: &[u8],
) -> Result<Vec<u8>, Errno> {
    let domain = domain(socket)?;
    let wanted = address::plain(address::read(given)?);
    let Some(place) = network.own_place(wanted, true) else {
        return judged(task, network, domain, given);
    };
    let mut own = own_address(socket)?;
    if own.port() == 0 {
        // The kernel does the same when it sends, but the port must be known before.
        let unspecified = address::write(SocketAddr::new(own.ip(), 0), domain);
        actions::bind(socket, &unspecified)?;
        own = own_address(socket)?;
    }
    let from = if own.ip().to_canonical().is_unspecified() { place.ip() } else { own.ip() };
    network.askers.expect(SocketAddr::new(from, own.port()), asker(task)?);
    network.askers.pretend(socket_cookie(socket)?, wanted);
    Ok(address::write(place, domain))
}

pub(super) fn own_address(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    socket_address(getsockname(socket)?)
}

/// # Errors
/// `EACCES` if it is no internet address.
pub(super) fn socket_address(address: SocketAddrAny) -> Result<SocketAddr, Errno> {
    SocketAddr::try_from(address).map_err(|_| Errno::ACCESS)
}

/// The text for the address of a local socket without a path.
pub(super) fn shown_name(given: &[u8]) -> Vec<u8> {
    let name = given.get(2..).unwrap_or_default().strip_prefix(b"\0").unwrap_or_default();
    [b"@", name].concat()
}

/// Denies something that no rule about hosts can allow. In a learning run without rules, records it instead.
///
/// # Errors
/// `EACCES`.
pub(super) fn refuse_unruled(task: &Task<'_>, reason: Reason, shown: &[u8]) -> Result<(), Errno> {
    if task.policy.network.as_ref().is_some_and(Network::is_watched_only) {
        let verb = if reason == Reason::Listen { "listen on" } else { "connect to" };
        task.learn_host(UseKind::Unruled, &format!("{verb} {}", String::from_utf8_lossy(shown)));
        return Ok(());
    }
    Err(task.refused(reason, Subject::new(shown)))
}
