//! Tracks which programs are connected to the run's own name server and proxy on loopback. Both serve nobody else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most remembered sockets for name servers. Beyond that, all earlier ones are forgotten.
const MOST: usize = 1 << 16;

/// The facts known about a program that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NetworkClient {
    pub(crate) pid: u32,
    pub(crate) program: Vec<u8>,
}

/// Programs that ask, and the name servers they believe to ask.
#[derive(Debug, Default)]
pub(crate) struct Askers {
    /// By source address.
    programs: Mutex<HashMap<SocketAddr, NetworkClient>>,
    /// The name servers that sockets were meant for, by socket cookie (`SO_COOKIE`).
    servers: Mutex<HashMap<u64, SocketAddr>>,
}

impl Askers {
    /// Notes which program asks from an address on loopback. No other socket has that address meanwhile.
    pub(crate) fn expect(&self, from: SocketAddr, asker: NetworkClient) {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        lock(&self.programs).insert(from, asker);
    }

    /// The program that asks from an address.
    pub(crate) fn find(&self, from: SocketAddr) -> Option<NetworkClient> {
        lock(&self.programs).get(&SocketAddr::new(from.ip(), from.port())).cloned()
    }

    /// Notes the name server that a socket was meant for.
    pub(crate) fn pretend(&self, socket: u64, server: SocketAddr) {
        let mut servers = lock(&self.servers);
        if servers.len() >= MOST {
            servers.clear();
        }
        servers.insert(socket, server);
    }

    /// The name server that a socket was meant for.
    pub(crate) fn pretended(&self, socket: u64) -> Option<SocketAddr> {
        lock(&self.servers).get(&socket).copied()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
