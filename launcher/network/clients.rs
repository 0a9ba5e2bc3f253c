//! Who is connected to what stands on loopback for the run: its name server, and its proxy. They serve
//! nobody else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More sockets of name servers are not remembered; those before are forgotten.
const MOST: usize = 1 << 16;

/// What is told of a program that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) pid: u32,
    pub(crate) program: Vec<u8>,
}

/// Programs that ask, and whom they believe to ask.
#[derive(Debug, Default)]
pub(crate) struct Askers {
    /// By the addresses that they ask from.
    programs: Mutex<HashMap<SocketAddr, Asker>>,
    /// The name servers that sockets were meant for, by the cookies of the sockets (`SO_COOKIE`).
    servers: Mutex<HashMap<u64, SocketAddr>>,
}

impl Askers {
    /// Takes note of who asks from an address on loopback, which nobody else has meanwhile.
    pub(crate) fn expect(&self, from: SocketAddr, asker: Asker) {
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        lock(&self.programs).insert(from, asker);
    }

    /// Who asks from an address.
    pub(crate) fn find(&self, from: SocketAddr) -> Option<Asker> {
        lock(&self.programs).get(&SocketAddr::new(from.ip(), from.port())).cloned()
    }

    /// Takes note of the name server that a socket was meant for.
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
