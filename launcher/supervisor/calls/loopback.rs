//! Connects programs of the run to each other by loopback. The target is a socket that a process of the run listens on.
//! It is pinned, so that nobody else can take its place meanwhile, and checked again afterwards.

use std::net::{Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_reuseport, socket_acceptconn, socket_cookie, socket_reuseport,
};
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::network::{domain, own_address};
use crate::network::listeners::{Awaited, ListeningSocket, is_connected};
use crate::network::{Network, address};
use crate::prompt::during_run::subject::Subject;
use crate::record::denial::Reason;
use crate::supervisor::task::Task;
use crate::supervisor::waiting::is_interruption;
use crate::sys::actions;
use crate::sys::notification::CallResult;
use crate::sys::proc::descendants::{self, sockets_of};

/// How long to wait for a connection. The target accepts at once, or has too many waiting.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// How long to wait before checking again for a connection.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// A pinned listening socket of the run. While it is pinned, nobody else can listen there.
pub(super) struct PinnedListener<'n> {
    socket: OwnedFd,
    listener: ListeningSocket,
    place: SocketAddr,
    /// Keeps the program from closing it or sharing its port.
    _awaited: Awaited<'n>,
}

impl PinnedListener<'_> {
    /// Whether it has been listening ever since it was found.
    fn listens(&self, network: &Network) -> bool {
        network.listeners.find(self.place) == Some(self.listener)
            && socket_acceptconn(&self.socket) == Ok(true)
            && place_of(&self.socket) == Ok(self.listener.place)
    }
}

/// Notes a socket that began to listen.
pub(super) fn note(
    task: &Task<'_>,
    network: &Network,
    fd: i32,
    socket: &OwnedFd,
) -> Result<(), Errno> {
    let cookie = socket_cookie(socket)?;
    if socket_reuseport(socket)? {
        network.listeners.share(cookie);
    }
    let place = place_of(socket)?;
    let process = task.caller.status()?.process;
    network.listeners.begin(place, place, process, fd, cookie);
    if place.is_ipv4() && domain(socket)? == libc::AF_INET6 {
        // It stands for a socket bound to all addresses of both families.
        let other = (Ipv6Addr::LOCALHOST, place.port()).into();
        network.listeners.begin(other, place, process, fd, cookie);
    }
    Ok(())
}

/// The address of a socket, without zone and flow.
fn place_of(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    let own = address::plain(own_address(socket)?);
    Ok(SocketAddr::new(own.ip(), own.port()))
}

/// setsockopt(2) with `SO_REUSEPORT`. A port that others may share does not belong to the run alone.
pub(crate) fn share_port(
    task: &Task<'_>,
    fd: i32,
    at: u64,
    size: u32,
) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    if (size as usize) < size_of::<i32>() {
        return Err(Errno::INVAL);
    }
    let value = task.caller.bytes(at, size_of::<i32>())?;
    let shares = value.iter().any(|byte| *byte != 0);
    if shares && let Some(network) = &task.policy.network {
        network.listeners.share(socket_cookie(&socket)?);
    }
    let _acting = task.begin()?;
    set_free(task, &socket, || set_socket_reuseport(&socket, shares))
}

/// shutdown(2). A listening socket stops, and another may take its place.
pub(crate) fn shut_down(task: &Task<'_>, fd: i32, how: i32) -> Result<CallResult, Errno> {
    let socket = task.caller.descriptor(fd)?;
    let shut = || match how {
        libc::SHUT_RD => shutdown(&socket, Shutdown::Read),
        libc::SHUT_WR => shutdown(&socket, Shutdown::Write),
        libc::SHUT_RDWR => shutdown(&socket, Shutdown::Both),
        _ => Err(Errno::INVAL),
    };
    set_free(task, &socket, shut)
}

/// Acts on a socket so that others may take its place. Waits until no connection to it is pending, because that would
/// reach the others.
pub(super) fn set_free(
    task: &Task<'_>,
    socket: &OwnedFd,
    act: impl FnOnce() -> Result<(), Errno>,
) -> Result<CallResult, Errno> {
    let cookie = socket_cookie(socket)?;
    let network = task.policy.network.as_ref();
    let leaving = network.map(|network| network.listeners.leave(cookie));
    while leaving.as_ref().is_some_and(|leaving| !leaving.is_free()) {
        task.wait(|| poll(&mut [], Some(&PAUSE)))?;
    }
    act().map(|()| CallResult::Value(0))
}

/// The socket of the run that `socket` would reach at `target`, in plain form. `None` if a rule is about that target.
///
/// # Errors
/// `ECONNREFUSED` if it is about to stop listening.
pub(super) fn hold<'n>(
    network: &'n Network,
    socket: &OwnedFd,
    target: SocketAddr,
) -> Result<Option<PinnedListener<'n>>, Errno> {
    if !target.ip().is_loopback() || network.is_ruled(target) {
        return Ok(None);
    }
    let listener = network.listeners.find(target);
    let Some(listener) = listener.filter(|found| !network.is_ruled(found.place)) else {
        return Ok(None);
    };
    let Some(found) = find(listener) else {
        network.listeners.forget(target, listener);
        return Ok(None);
    };
    let awaited = network.listeners.await_at(listener.cookie, socket)?;
    let held = PinnedListener { socket: found, listener, place: target, _awaited: awaited };
    // The process may have entered a network namespace with another loopback.
    let [here, there] = [socket, &held.socket].map(actions::network_namespace);
    Ok((here.is_ok() && here == there && held.listens(network)).then_some(held))
}

/// The socket, from the process that made it listen or from another that has it under any number.
fn find(listener: ListeningSocket) -> Option<OwnedFd> {
    let at = |process: i32, fd: i32| {
        let process = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
        let socket = pidfd_getfd(process, fd, PidfdGetfdFlags::empty()).ok()?;
        (socket_cookie(&socket) == Ok(listener.cookie)).then_some(socket)
    };
    let is_it = |socket: &OwnedFd| socket_cookie(socket) == Ok(listener.cookie);
    at(listener.process, listener.fd).or_else(|| {
        let run = descendants::all();
        let inherited = run.iter().find_map(|one| at(one.pid, listener.fd));
        inherited.or_else(|| run.iter().find_map(|one| sockets_of(one.pid)?.find(is_it)))
    })
}

/// connect(2) to a pinned socket. The outcome counts once a connection exists or has failed.
pub(super) fn connect(
    task: &Task<'_>,
    network: &Network,
    socket: &OwnedFd,
    held: &PinnedListener<'_>,
) -> Result<CallResult, Errno> {
    let target = address::write(held.listener.place, domain(socket)?);
    let _acting = task.begin()?;
    let outcome = task.connect(socket, &target);
    let may_come_about = |errno| errno == Errno::INPROGRESS || is_interruption(errno);
    if outcome.is_err_and(|errno| !may_come_about(errno)) {
        return outcome.map(|()| CallResult::Value(0));
    }
    let mut ready = [PollFd::new(socket, PollFlags::OUT)];
    let waited = task.wait_for_peer(socket, Timeout::Send, || poll(&mut ready, Some(&PATIENCE)));
    let has_failed = ready[0].revents().intersects(PollFlags::ERR | PollFlags::HUP);
    if !is_connected(socket) {
        if has_failed {
            return outcome.map(|()| CallResult::Value(0));
        }
        // The connection must not be established later, when nobody checks it.
        let nowhere = address::nowhere();
        let _ = actions::connect(socket, &nowhere);
        let ends = [outcome.err(), waited.err()];
        let interrupted = ends.into_iter().flatten().find(|errno| is_interruption(*errno));
        return Err(interrupted.unwrap_or(Errno::TIMEDOUT));
    }
    if held.listens(network) {
        return outcome.map(|()| CallResult::Value(0));
    }
    let _ = shutdown(socket, Shutdown::Both);
    let shown = address::shown(held.place);
    Err(task.refused(Reason::Connect, Subject::new(shown.as_bytes())))
}
