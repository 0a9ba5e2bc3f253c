//! Who is connected to what stands on loopback for the run: its name server, and its proxy. They serve
//! nobody else.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is told of a program that asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub(crate) pid: u32,
    pub(crate) program: Vec<u8>,
}

/// Programs by the addresses that they ask from.
#[derive(Debug, Default)]
pub(crate) struct Askers(Mutex<HashMap<SocketAddr, Asker>>);

impl Askers {
    /// Takes note of who asks from an address on loopback, which nobody else has meanwhile.
    pub(crate) fn expect(&self, from: SocketAddr, asker: Asker) {
        self.lock().insert(SocketAddr::new(from.ip().to_canonical(), from.port()), asker);
    }

    /// Who asks from an address.
    pub(crate) fn find(&self, from: SocketAddr) -> Option<Asker> {
        self.lock().get(&SocketAddr::new(from.ip(), from.port())).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
