//! Finds the addresses of allowed names, from `--resolve` and from the system. Every result counts for the whole run.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, ToSocketAddrs as _};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use jp_confine_engine::net::{is_own, may_stand_for};

use crate::cli::host::HostAddress;

/// Sockets of services that look up any name for others. Without them the C library asks a name server.
const SERVICES: [&str; 2] = ["/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve"];

/// Whether a canonical path is that of such a service.
pub(crate) fn is_service(path: &[u8]) -> bool {
    SERVICES.iter().any(|service| service.as_bytes() == path)
}

/// The shortest pause before a program's query makes the system look up a name again.
const PAUSE: Duration = Duration::from_secs(5);
/// The same pause for lookups because of an unknown address. Such an address causes a lookup of every name that may
/// have it.
const LONG_PAUSE: Duration = Duration::from_secs(60);
/// The stack size for asking the system.
const STACK: usize = 2 << 20;
/// The most addresses kept for a name. The oldest stay.
const MOST: usize = 4096;

/// The names of a run, in ASCII and lower case, without a final dot.
#[derive(Debug)]
pub(crate) struct Names {
    typed: Vec<HostAddress>,
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Debug, Default)]
struct Known {
    addresses: BTreeSet<IpAddr>,
    current: Vec<IpAddr>,
    /// It only has addresses that it may not stand for.
    is_near: bool,
    asked: Option<Instant>,
}

impl Names {
    /// `typed` takes precedence over the system.
    pub(crate) fn new(typed: Vec<HostAddress>) -> Self {
        Self { typed, known: Mutex::default() }
    }

    /// The addresses of a name, looked up again unless that was done just now. May be empty, and may take as long as
    /// the system's resolver.
    pub(crate) fn current(&self, name: &str) -> Vec<IpAddr> {
        self.refresh(name, PAUSE);
        self.known().get(name).map(|known| known.current.clone()).unwrap_or_default()
    }

    /// Whether the last lookup of a name found only addresses that it may not stand for.
    pub(crate) fn is_near(&self, name: &str) -> bool {
        self.known().get(name).is_some_and(|known| known.is_near)
    }

    /// All addresses ever found for a name, including the current ones. See [`Self::current`].
    pub(crate) fn all(&self, name: &str) -> BTreeSet<IpAddr> {
        self.refresh(name, LONG_PAUSE);
        self.known().get(name).map(|known| known.addresses.clone()).unwrap_or_default()
    }

    fn refresh(&self, name: &str, pause: Duration) {
        let is_recent = |known: &Known| known.asked.is_some_and(|asked| asked.elapsed() < pause);
        if self.known().get(name).is_some_and(is_recent) {
            return;
        }
        let typed = self.typed.iter().filter(|one| one.name == name).map(|one| one.address);
        let mut found: Vec<IpAddr> = typed.collect();
        let mut is_near = false;
        if found.is_empty() {
            let near: Vec<IpAddr>;
            (found, near) = asked_of_system(name)
                .into_iter()
                .partition(|address| may_stand_for(name, *address, is_own(*address)));
            is_near = found.is_empty() && !near.is_empty();
            // The system lists an address once for each socket type.
            found.dedup();
        }
        let mut known = self.known();
        let known = known.entry(name.to_owned()).or_default();
        known.asked = Some(Instant::now());
        let room = MOST.saturating_sub(known.addresses.len());
        known.addresses.extend(found.iter().take(room));
        known.current = found;
        known.is_near = is_near;
    }

    /// The names that were found to have an address, sorted.
    pub(crate) fn of(&self, address: IpAddr) -> Vec<String> {
        let known = self.known();
        let having = known.iter().filter(|(_, known)| known.addresses.contains(&address));
        let mut names: Vec<String> = having.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the system about a name. It may load modules for that (`nsswitch.conf(5)`), which need a larger stack than
/// answering a call.
fn asked_of_system(name: &str) -> Vec<IpAddr> {
    let ask = || {
        let found = (name, 0).to_socket_addrs().into_iter().flatten();
        found.map(|address| address.ip().to_canonical()).collect()
    };
    thread::scope(|scope| {
        let asking = Builder::new().stack_size(STACK).spawn_scoped(scope, ask);
        asking.ok().and_then(|asking| asking.join().ok()).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_lead_to_this_machine_unless_that_is_typed() {
        let names = Names::new(vec![HostAddress {
            name: "a.test".to_owned(),
            address: [127, 0, 0, 1].into(),
        }]);
        assert_eq!(names.current("a.test"), [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(names.of([127, 0, 0, 1].into()), ["a.test"]);
        assert!(names.current("localhost").iter().all(IpAddr::is_loopback));
    }
}
