//! Tracks which sockets of the run listen on loopback. A connection to one of them only leads into the run.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{Shutdown, getpeername, shutdown};

use crate::network::inherited_sockets;

/// The most tracked sockets. Beyond that, none counts as the run's.
const MOST: usize = 1 << 16;

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    /// Its address.
    pub(crate) place: SocketAddr,
    /// The process that made it listen, and its descriptor there.
    pub(crate) process: i32,
    pub(crate) fd: i32,
    /// Unique among sockets while the system runs (`SO_COOKIE`).
    pub(crate) cookie: u64,
    /// Its number among all sockets that began to listen.
    turn: u64,
}

/// The listening sockets, as far as the supervisor made them listen.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By address and port.
    places: HashMap<SocketAddr, ListeningSocket>,
    /// Sockets that others may share, or share an address with.
    shared: HashSet<u64>,
    /// Pending connections by target socket.
    awaited: HashMap<u64, Vec<Arc<OwnedFd>>>,
    /// Sockets that are about to leave their address.
    leaving: Vec<u64>,
    turns: u64,
}

impl Listeners {
    /// For a run that inherits this process's sockets. Their earlier owners may receive data sent to them.
    ///
    /// # Errors
    /// Fails if these sockets cannot be determined.
    pub(crate) fn of_heir() -> io::Result<Self> {
        let state = State { shared: inherited_sockets::cookies()?, ..State::default() };
        Ok(Self(Mutex::new(state)))
    }

    /// Notes a socket that began to listen at `place`, to be found under `name`.
    pub(crate) fn begin(
        &self,
        name: SocketAddr,
        place: SocketAddr,
        process: i32,
        fd: i32,
        cookie: u64,
    ) {
        let mut state = self.state();
        state.turns += 1;
        let turn = state.turns;
        if state.places.len() < MOST {
            state.places.insert(key(name), ListeningSocket { place, process, fd, cookie, turn });
        }
    }

    /// Notes that a socket may share its address (`SO_REUSEPORT`), or is itself shared, with unknown processes.
    pub(crate) fn share(&self, cookie: u64) {
        self.state().shared.insert(cookie);
    }

    /// The last socket that began to listen at `place`, unless it may share that address.
    pub(crate) fn find(&self, place: SocketAddr) -> Option<ListeningSocket> {
        let state = self.state();
        let listener = state.places.get(&key(place))?;
        let is_alone = state.shared.len() < MOST && !state.shared.contains(&listener.cookie);
        is_alone.then_some(*listener)
    }

    /// Forgets a listener that is gone.
    pub(crate) fn forget(&self, place: SocketAddr, listener: ListeningSocket) {
        let mut state = self.state();
        if state.places.get(&key(place)) == Some(&listener) {
            state.places.remove(&key(place));
        }
    }

    /// Announces that `connecting` will connect to the socket. While the result lives, the socket stays at its address.
    ///
    /// # Errors
    /// `ECONNREFUSED` if the socket is about to leave, or `EMFILE`.
    pub(crate) fn await_at(&self, cookie: u64, connecting: &OwnedFd) -> Result<Awaited<'_>, Errno> {
        let connecting = connecting.try_clone().map_err(|_| Errno::MFILE)?;
        let connecting = Arc::new(connecting);
        let mut state = self.state();
        if state.leaving.contains(&cookie) {
            return Err(Errno::CONNREFUSED);
        }
        state.awaited.entry(cookie).or_default().push(Arc::clone(&connecting));
        Ok(Awaited { listeners: self, cookie, connecting })
    }

    /// Announces that the socket will leave its address, which others could take then. While the result lives, no new
    /// connection awaits it.
    pub(crate) fn leave(&self, cookie: u64) -> Leaving<'_> {
        self.state().leaving.push(cookie);
        Leaving { listeners: self, cookie }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that is about to leave its address.
#[derive(Debug)]
pub(crate) struct Leaving<'l> {
    listeners: &'l Listeners,
    cookie: u64,
}

impl Leaving<'_> {
    /// Whether no connection awaits it. Shuts down those that are not connected yet, because they could reach another
    /// process.
    pub(crate) fn is_free(&self) -> bool {
        let state = self.listeners.state();
        let Some(awaited) = state.awaited.get(&self.cookie) else { return true };
        for connecting in awaited {
            if !is_connected(connecting) {
                // If a connection comes about, this ends it (inet_shutdown in net/ipv4/af_inet.c).
                let _ = shutdown(connecting, Shutdown::Both);
            }
        }
        false
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let leaving = &mut self.listeners.state().leaving;
        if let Some(at) = leaving.iter().position(|cookie| *cookie == self.cookie) {
            leaving.swap_remove(at);
        }
    }
}

/// Whether a socket is connected.
pub(crate) fn is_connected(socket: &OwnedFd) -> bool {
    matches!(getpeername(socket), Ok(Some(_)))
}

/// A pending connection.
#[derive(Debug)]
pub(crate) struct Awaited<'l> {
    listeners: &'l Listeners,
    cookie: u64,
    connecting: Arc<OwnedFd>,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        let mut state = self.listeners.state();
        if let Some(all) = state.awaited.get_mut(&self.cookie) {
            all.retain(|one| !Arc::ptr_eq(one, &self.connecting));
            if all.is_empty() {
                state.awaited.remove(&self.cookie);
            }
        }
    }
}

/// The address without zone and flow.
fn key(place: SocketAddr) -> SocketAddr {
    SocketAddr::new(place.ip(), place.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_at_a_place_counts_unless_it_is_shared() {
        let (listeners, place) = (Listeners::default(), SocketAddr::from(([127, 0, 0, 1], 80)));
        assert_eq!(listeners.find(place), None);
        listeners.begin(place, place, 1, 3, 10);
        let first = listeners.find(place).expect("one");
        listeners.begin(place, place, 1, 3, 10);
        let second = listeners.find(place).expect("one");
        assert_ne!(first, second, "it may have stopped in between");
        listeners.forget(place, first);
        assert_eq!(listeners.find(place), Some(second));
        listeners.share(10);
        assert_eq!(listeners.find(place), None);
        listeners.begin(place, place, 1, 3, 11);
        assert!(listeners.find(place).is_some());
        assert_eq!(listeners.find(SocketAddr::from(([127, 0, 0, 2], 80))), None);
    }

    #[test]
    fn a_socket_leaves_when_the_last_connection_to_it_has_come_about() {
        let listeners = Listeners::default();
        let (connecting, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let connecting = OwnedFd::from(connecting);
        let awaited = [(); 2].map(|()| listeners.await_at(10, &connecting).expect("awaited"));
        assert!(listeners.leave(11).is_free());
        let leaving = listeners.leave(10);
        assert_eq!(listeners.await_at(10, &connecting).err(), Some(Errno::CONNREFUSED));
        for one in awaited {
            assert!(!leaving.is_free());
            drop(one);
        }
        assert!(leaving.is_free());
        drop(leaving);
        assert!(listeners.await_at(10, &connecting).is_ok());
    }
}
