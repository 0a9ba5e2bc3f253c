//! Sockets of the internet where rules about hosts are declared, and local ones without a path. The
//! supervisor does what it has judged on its own duplicate of the socket, with its own copy of the address:
//! the caller can change neither.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{socket_cookie, socket_domain, socket_type};
use rustix::net::{SocketAddrAny, SocketType, getsockname};

use super::{loopback, refused};
use crate::network::clients::Asker;
use crate::network::{Network, address};
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::record::usage::How;
use crate::supervisor::task::{Task, program_of};
use crate::sys::actions;
use crate::sys::notification::Answer;

/// A socket's family, as the numbers have it.
///
/// # Errors
/// `ENOTSOCK`.
pub(super) fn domain(socket: &OwnedFd) -> Result<i32, Errno> {
    socket_domain(socket).map(|family| family.as_raw().into())
}

/// Whether sockets of the family lead to hosts.
pub(super) const fn is_internet(domain: i32) -> bool {
    matches!(domain, libc::AF_INET | libc::AF_INET6)
}

/// socket(2) and socketpair(2) of a family whose sockets are not made in this run: the filter lets the others
/// pass.
///
/// # Errors
/// `EACCES`.
pub(crate) fn refuse_socket(task: &Task<'_>, domain: i32) -> Result<Answer, Errno> {
    if domain == libc::AF_NETLINK {
        // Of these only some are trapped, and only where others may be made.
        return refused::anywhere(task);
    }
    let what = if is_internet(domain) {
        "sockets of the internet".to_owned()
    } else {
        format!("sockets of family {domain}")
    };
    Err(task.refused(Reason::Socket, Subject::new(what.as_bytes())))
}

/// Fails for sockets of other families than those that are judged, and the one by which the C library asks
/// for the addresses of this machine. The filter lets none be made, but one may turn into another
/// (`TCP_ULP`), or come from outside.
///
/// # Errors
/// `EACCES`.
pub(super) fn admit_family(domain: i32) -> Result<(), Errno> {
    let known = is_internet(domain) || matches!(domain, libc::AF_UNIX | libc::AF_NETLINK);
    if known { Ok(()) } else { Err(Errno::ACCESS) }
}

/// Whether each message of the socket may have an address of its own.
///
/// # Errors
/// `ENOTSOCK`.
pub(super) fn is_datagram(socket: &OwnedFd) -> Result<bool, Errno> {
    Ok(socket_type(socket)? == SocketType::DGRAM)
}

/// The address in the form to use, if it may be connected or sent to.
///
/// # Errors
/// `EACCES` where no rule allows it; those of [`address::read`].
pub(super) fn judged(
    task: &Task<'_>,
    network: &Network,
    domain: i32,
    given: &[u8],
) -> Result<Vec<u8>, Errno> {
    let target = address::plain(address::read(given)?);
    if target.port() == 0 && !network.is_watched_only() {
        // Nobody is there. Resolvers ask so by which way a host is reached, and do without.
        return Err(Errno::ACCESS);
    }
    if network.allows(target) {
        learn_target(task, network, target);
        return Ok(address::write(target, domain));
    }
    let shown = network.shown(target);
    Err(task.refused(Reason::Connect, Subject::new(shown.as_bytes())))
}

/// Has whoever learns know where a program wants to go.
fn learn_target(task: &Task<'_>, network: &Network, target: SocketAddr) {
    if !task.is_lesson() || target.port() == 0 {
        return;
    }
    for host in network.names_of(target) {
        task.learn_host(How::Connected, &host);
    }
}

/// connect(2) of a socket of the internet.
pub(super) fn connect(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    given: &[u8],
) -> Result<Answer, Errno> {
    if given.len() >= 2 && address::family(given) == libc::AF_UNSPEC {
        // Dissolves what there was, be it that it listened.
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
    task.connect(socket, &target).map(|()| Answer::Value(0))
}

/// connect(2) to what stands on loopback for the run, which is to know who asks.
fn connect_to_own(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    place: SocketAddr,
) -> Result<Answer, Errno> {
    let target = address::write(place, domain(socket)?);
    let asker = asker(task)?;
    let _acting = task.begin()?;
    let connected = task.connect(socket, &target);
    if matches!(connected, Ok(()) | Err(Errno::INPROGRESS)) {
        network.askers.expect(own_address(socket)?, asker);
    }
    connected.map(|()| Answer::Value(0))
}

fn asker(task: &Task<'_>) -> Result<Asker, Errno> {
    let pid = task.caller.status()?.process.unsigned_abs();
    Ok(Asker { pid, program: program_of(&task.caller) })
}

/// Where a datagram goes that is sent to an address: to the run's own name server, which then knows who
/// asks, or to where it is meant for.
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
        // As the kernel does when it sends; but the port must be known before.
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
/// `EACCES` for what is no address of the internet.
pub(super) fn socket_address(address: SocketAddrAny) -> Result<SocketAddr, Errno> {
    SocketAddr::try_from(address).map_err(|_| Errno::ACCESS)
}

/// How the address of a local socket without a path is written.
pub(super) fn shown_name(given: &[u8]) -> Vec<u8> {
    let name = given.get(2..).unwrap_or_default().strip_prefix(b"\0").unwrap_or_default();
    [b"@", name].concat()
}

/// Refuses what no rule about hosts can allow; where nothing is ruled, whoever learns gets to know of it.
///
/// # Errors
/// `EACCES`.
pub(super) fn refuse_unruled(task: &Task<'_>, reason: Reason, shown: &[u8]) -> Result<(), Errno> {
    if task.policy.network.as_ref().is_some_and(Network::is_watched_only) {
        let verb = if reason == Reason::Listen { "listen on" } else { "connect to" };
        task.learn_host(How::Unruled, &format!("{verb} {}", String::from_utf8_lossy(shown)));
        return Ok(());
    }
    Err(task.refused(reason, Subject::new(shown)))
}
