//! Which sockets of the run listen on loopback. Who connects to one of them gets nowhere but into the run.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{Shutdown, getpeername, shutdown};

use crate::network::inherited_sockets;

/// More sockets are not told apart; then none is of the run.
const MOST: usize = 1 << 16;

/// A socket that was made to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    /// Where it is.
    pub(crate) place: SocketAddr,
    /// The process that did so, and its descriptor.
    pub(crate) process: i32,
    pub(crate) fd: i32,
    /// What no other socket has while the system runs (`SO_COOKIE`).
    pub(crate) cookie: u64,
    /// Which time it was, of all sockets that began to listen.
    turn: u64,
}

/// The sockets that listen, as far as the supervisor made them.
#[derive(Debug, Default)]
pub(crate) struct Listeners(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By address and port.
    places: HashMap<SocketAddr, Listener>,
    /// Sockets that others may share, or share an address with.
    shared: HashSet<u64>,
    /// What is about to be connected to a socket.
    awaited: HashMap<u64, Vec<Arc<OwnedFd>>>,
    /// Sockets that are going to leave their places.
    leaving: Vec<u64>,
    turns: u64,
}

impl Listeners {
    /// Those of a run that is going to inherit what this process did: who had these sockets before may take
    /// what comes to them.
    ///
    /// # Errors
    /// Where it cannot be told which these are.
    pub(crate) fn of_heir() -> io::Result<Self> {
        let state = State { shared: inherited_sockets::cookies()?, ..State::default() };
        Ok(Self(Mutex::new(state)))
    }

    /// Takes note of a socket that began to listen at `place`, and is to be found at `name`.
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
            state.places.insert(key(name), Listener { place, process, fd, cookie, turn });
        }
    }

    /// Takes note that a socket may share its address with others (`SO_REUSEPORT`), or is shared itself, with
    /// nobody knows whom.
    pub(crate) fn share(&self, cookie: u64) {
        self.state().shared.insert(cookie);
    }

    /// What began to listen at `place` last, unless it may share that.
    pub(crate) fn find(&self, place: SocketAddr) -> Option<Listener> {
        let state = self.state();
        let listener = state.places.get(&key(place))?;
        let is_alone = state.shared.len() < MOST && !state.shared.contains(&listener.cookie);
        is_alone.then_some(*listener)
    }

    /// It is not there any more.
    pub(crate) fn forget(&self, place: SocketAddr, listener: Listener) {
        let mut state = self.state();
        if state.places.get(&key(place)) == Some(&listener) {
            state.places.remove(&key(place));
        }
    }

    /// `connecting` is going to be connected to the socket. As long as what is returned lives, that stays in its
    /// place.
    ///
    /// # Errors
    /// `ECONNREFUSED` where the socket is about to leave; `EMFILE`.
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

    /// The socket is going to leave its place, where others could come to then. Nobody awaits it any more as long as
    /// what is returned lives.
    pub(crate) fn leave(&self, cookie: u64) -> Leaving<'_> {
        self.state().leaving.push(cookie);
        Leaving { listeners: self, cookie }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A socket that is going to leave its place.
#[derive(Debug)]
pub(crate) struct Leaving<'l> {
    listeners: &'l Listeners,
    cookie: u64,
}

impl Leaving<'_> {
    /// Whether nobody awaits it. What has no connection to it yet will have none, as it could be to others.
    pub(crate) fn is_free(&self) -> bool {
        let state = self.listeners.state();
        let Some(awaited) = state.awaited.get(&self.cookie) else { return true };
        for connecting in awaited {
            if !is_connected(connecting) {
                // Of a connection that comes about it leaves nothing (inet_shutdown in net/ipv4/af_inet.c).
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

/// Whether a socket has a connection.
pub(crate) fn is_connected(socket: &OwnedFd) -> bool {
    matches!(getpeername(socket), Ok(Some(_)))
}

/// A connection that is to come about.
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

/// Without zone and flow.
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
