//! Judges the network access of a run with declared rules (spec §11.1): which hosts it may connect to, and at which
//! addresses. The policy decides what is allowed. This module deals with addresses, all that a connection shows.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod clients;
pub(crate) mod dns_query;
pub(crate) mod dns_server;
pub(crate) mod inherited_sockets;
pub(crate) mod listeners;
pub(crate) mod names;
pub(crate) mod proxy;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use jp_confine_engine::coverage::Coverage;
use jp_confine_engine::net::{Host, HostReach, Net};
use url::Url;

use self::clients::Askers;
use self::dns_query::Finding;
use self::dns_server::Responder;
use self::listeners::Listeners;
use self::names::Names;

/// The rules and state by which the supervisor judges connections.
#[derive(Debug)]
pub(crate) struct Network {
    rules: Net,
    names: Names,
    /// The name server for programs.
    pub(crate) responder: Arc<Responder>,
    /// The proxy's socket, if there is a proxy.
    pub(crate) proxy: Option<Arc<TcpListener>>,
    /// The programs connected to either.
    pub(crate) askers: Askers,
    /// The run's listening sockets.
    pub(crate) listeners: Listeners,
}

impl Network {
    /// Opens the sockets, for a run that inherits this process's.
    ///
    /// # Errors
    /// Fails if that is impossible.
    pub(crate) fn open(
        rules: Net,
        names: Names,
        proxy: Option<Arc<TcpListener>>,
    ) -> io::Result<Self> {
        let listeners = Listeners::of_heir()?;
        let responder = Arc::new(Responder::open()?);
        let askers = Askers::default();
        Ok(Self { rules, names, responder, proxy, askers, listeners })
    }

    /// The loopback address to use instead of `target`, which is in plain form. It is the run's own proxy, or its name
    /// server in place of any other that no rule allows.
    pub(crate) fn own_place(&self, target: SocketAddr, is_datagram: bool) -> Option<SocketAddr> {
        let proxy = self.proxy.as_ref().and_then(|listener| listener.local_addr().ok());
        if proxy == Some(target) && !is_datagram {
            return proxy;
        }
        if target.port() != dns_server::PORT || !self.is_watched_only() && self.allows(target) {
            return None;
        }
        self.responder.instead_of(target, is_datagram)
    }

    /// The sender that a socket, given by its cookie, should see for data from `sender`: the name server that it was
    /// meant for.
    pub(crate) fn believed(&self, sender: SocketAddr, socket: u64) -> SocketAddr {
        let is_responder = self.responder.is_at(address::plain(sender));
        let server = self.askers.pretended(socket).filter(|_| is_responder);
        server.unwrap_or(sender)
    }

    /// Whether there are no rules, and the network is only observed.
    pub(crate) fn is_watched_only(&self) -> bool {
        !self.rules.is_declared()
    }

    /// Whether the name may be queried, because something is allowed there.
    pub(crate) fn admits(&self, name: &str) -> bool {
        self.is_watched_only() || self.rules.admits(&domain(name))
    }

    /// The result for a name that may be queried.
    pub(crate) fn look_up(&self, name: &str) -> Finding {
        let addresses = self.names.current(name);
        if !addresses.is_empty() {
            Finding::Addresses(addresses)
        } else if self.names.is_near(name) {
            Finding::Near
        } else {
            Finding::Unknown
        }
    }

    /// Whether a document may be fetched.
    pub(crate) fn opens(&self, url: &Url) -> bool {
        self.rules.judge(url) == Coverage::Allowed
    }

    /// How much is allowed at a host and port.
    pub(crate) fn reach(&self, host: &Host, port: u16) -> HostReach {
        self.rules.reach(host, port)
    }

    /// The addresses of an allowed host, without those that rules deny.
    pub(crate) fn places(&self, host: &Host, port: u16) -> Vec<SocketAddr> {
        let addresses = match host {
            Host::Domain(name) => self.names.current(name),
            Host::Ipv4(address) => vec![(*address).into()],
            Host::Ipv6(address) => vec![(*address).into()],
        };
        let places = addresses.into_iter().map(|address| SocketAddr::new(address, port));
        let is_open = |place: &SocketAddr| {
            let address = host_of(place.ip());
            address == *host || self.reach(&address, port) != HostReach::Nothing
        };
        places.filter(is_open).collect()
    }

    /// Whether a connection to an address in plain form is allowed (see [`address::plain`]). Rules about the address
    /// itself decide first, then those about its names.
    pub(crate) fn allows(&self, target: SocketAddr) -> bool {
        if self.is_watched_only() {
            return true;
        }
        match self.rules.reach(&host_of(target.ip()), target.port()) {
            HostReach::Everything => true,
            HostReach::Nothing | HostReach::Parts => false,
            HostReach::Uncovered => self.allows_by_name(target),
        }
    }

    /// Whether a rule is about the address itself.
    pub(crate) fn is_ruled(&self, target: SocketAddr) -> bool {
        self.rules.reach(&host_of(target.ip()), target.port()) != HostReach::Uncovered
    }

    /// A denied target as a person would name it. Uses a name that was looked up for the run, unless a rule about the
    /// address itself denied it.
    pub(crate) fn shown(&self, target: SocketAddr) -> String {
        match self.names.of(target.ip()).first() {
            Some(name) if !self.is_ruled(target) => format!("{name}:{}", target.port()),
            _ => address::shown(target),
        }
    }

    /// The targets that rules would have to allow to reach this one again, as `--net` takes them. They are all its
    /// names that were looked up for the run, or its address.
    pub(crate) fn names_of(&self, target: SocketAddr) -> Vec<String> {
        let mut names = if self.is_ruled(target) { Vec::new() } else { self.names.of(target.ip()) };
        if !self.is_watched_only() {
            names.retain(|name| {
                self.rules.reach(&domain(name), target.port()) == HostReach::Everything
            });
        }
        if names.is_empty() {
            return vec![address::shown(target)];
        }
        names.into_iter().map(|name| format!("{name}:{}", target.port())).collect()
    }

    fn allows_by_name(&self, target: SocketAddr) -> bool {
        let is_allowed =
            |name: &&str| self.rules.reach(&domain(name), target.port()) == HostReach::Everything;
        if self.names.of(target.ip()).iter().map(String::as_str).any(|name| is_allowed(&name)) {
            return true;
        }
        let names = self.rules.hosts().into_iter().filter_map(|host| match host {
            Host::Domain(name) => Some(name.as_str()),
            _ => None,
        });
        // The program may have the address from a file, or from an earlier run.
        names.filter(is_allowed).any(|name| self.names.all(name).contains(&target.ip()))
    }
}

fn host_of(address: IpAddr) -> Host {
    match address {
        IpAddr::V4(address) => Host::Ipv4(address),
        IpAddr::V6(address) => Host::Ipv6(address),
    }
}

fn domain(name: &str) -> Host {
    Host::Domain(name.to_owned())
}

#[cfg(test)]
mod tests;
