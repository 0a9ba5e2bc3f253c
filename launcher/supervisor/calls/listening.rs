//! Lets programs accept connections while rules about hosts are declared: from this machine, and from nowhere else.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::{ipv6_v6only, socket_acceptconn};
use rustix::net::{Shutdown, listen as make_listen, shutdown};

use super::loopback;
use super::network::{domain, is_datagram, is_internet, own_address, refuse_unruled};
use crate::network::address;
use crate::record::denial::Reason;
use crate::supervisor::task::Task;
use crate::sys::actions;
use crate::sys::notification::CallResult;

/// bind(2) of an internet socket. A stream accepts nothing until it listens. A bound datagram socket receives at once.
/// But if the kernel chose its port, only hosts that it sent to know the port.
///
/// A stream bound to a chosen port on all addresses will listen there, so it gets the loopback address. On a port that
/// the kernel chooses, it may connect instead, which a socket bound to loopback could not. [`listen`] handles that
/// case.
pub(super) fn bind(task: &Task<'_>, socket: &OwnedFd, given: &[u8]) -> Result<CallResult, Errno> {
    let place = address::read(given)?;
    if place.port() == 0 {
        let _acting = task.begin()?;
        return actions::bind(socket, given).map(|()| CallResult::Value(0));
    }
    let narrowed = if is_datagram(socket)? {
        admit_only_own(task, place)?;
        None
    } else {
        on_loopback(socket, place)?
    };
    let _acting = task.begin()?;
    match narrowed {
        Some(place) => actions::bind(socket, &address::write(place, domain(socket)?)),
        None => actions::bind(socket, given),
    }
    .map(|()| CallResult::Value(0))
}

/// listen(2). Sockets other than the internet's listen as they are.
pub(crate) fn listen(task: &Task<'_>, fd: i32, backlog: i32) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    let network = task.policy.network.as_ref();
    let Some(network) = network.filter(|_| domain(&socket).is_ok_and(is_internet)) else {
        let _acting = task.begin()?;
        return make_listen(&socket, backlog).map(|()| CallResult::Value(0));
    };
    // Binding it again would disturb another thread that sends with it.
    if is_datagram(&socket)? {
        return Err(Errno::OPNOTSUPP);
    }
    let is_new = !socket_acceptconn(&socket)?;
    if is_new && let Some(place) = on_loopback(&socket, own_address(&socket)?)? {
        let _acting = task.begin()?;
        move_to(task, &socket, place)?;
    }
    admit_only_own(task, own_address(&socket)?)?;
    {
        let _acting = task.begin()?;
        make_listen(&socket, backlog)?;
    }
    // Another thread may have bound it again meanwhile.
    admit_only_own(task, own_address(&socket)?).inspect_err(|_| {
        let _ = shutdown(&socket, Shutdown::Both);
    })?;
    if is_new {
        loopback::note(task, network, fd, &socket)?;
    }
    Ok(CallResult::Value(0))
}

/// The loopback address for a stream bound to all addresses. Uses IPv4, unless the socket is for IPv6 only.
fn on_loopback(socket: &OwnedFd, place: SocketAddr) -> Result<Option<SocketAddr>, Errno> {
    if !place.ip().to_canonical().is_unspecified() {
        return Ok(None);
    }
    let ip: IpAddr = if place.is_ipv6() && ipv6_v6only(socket)? {
        Ipv6Addr::LOCALHOST.into()
    } else {
        Ipv4Addr::LOCALHOST.into()
    };
    Ok(Some(SocketAddr::new(ip, place.port())))
}

/// Binds a socket again, to `place`, keeping the port that the kernel chose. A socket only gives up its port after a
/// connection. A connection to itself needs nobody else.
fn move_to(task: &Task<'_>, socket: &OwnedFd, place: SocketAddr) -> Result<(), Errno> {
    let wanted = address::write(place, domain(socket)?);
    if place.port() != 0 {
        let _ = task.connect(socket, &wanted);
        actions::connect(socket, &address::nowhere())?;
    }
    // If that fails, the socket stays where it is, and is denied.
    let _ = actions::bind(socket, &wanted);
    Ok(())
}

/// Fails unless only programs on this machine can reach the address.
fn admit_only_own(task: &Task<'_>, place: SocketAddr) -> Result<(), Errno> {
    if place.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    refuse_unruled(task, Reason::Listen, address::shown(place).as_bytes())
}
