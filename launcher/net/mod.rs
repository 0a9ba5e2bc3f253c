//! The network of a run, where rules are declared (spec §11.1): which hosts it may connect to, and by which
//! addresses. What is allowed the policy says; here is what a connection shows, which is an address.

pub(crate) mod address;
pub(crate) mod advice;
pub(crate) mod names;
pub(crate) mod order;
pub(crate) mod typed;

use std::net::{IpAddr, SocketAddr};

use jp_confine_policy::net::{Host, Net, Reach};

use self::names::Names;

/// What the supervisor judges connections by.
#[derive(Debug)]
pub(crate) struct Network {
    rules: Net,
    names: Names,
}

impl Network {
    pub(crate) fn new(rules: Net, names: Names) -> Self {
        Self { rules, names }
    }

    /// Whether there may be a connection to an address, in its plain form (see [`address::plain`]): rules
    /// about the address itself decide, and else those about the names that it stands for.
    pub(crate) fn allows(&self, target: SocketAddr) -> bool {
        match self.rules.reach(&host_of(target.ip()), target.port()) {
            Reach::Everything => true,
            Reach::Nothing | Reach::Parts => false,
            Reach::Uncovered => self.allows_by_name(target),
        }
    }

    /// How a person would name the target: by a name that was looked up for the run, if there is one.
    pub(crate) fn shown(&self, target: SocketAddr) -> String {
        match self.names.of(target.ip()).first() {
            Some(name) => format!("{name}:{}", target.port()),
            None => address::shown(target),
        }
    }

    fn allows_by_name(&self, target: SocketAddr) -> bool {
        let is_allowed =
            |name: &&str| self.rules.reach(&domain(name), target.port()) == Reach::Everything;
        if self.names.of(target.ip()).iter().map(String::as_str).any(|name| is_allowed(&name)) {
            return true;
        }
        let names = self.rules.hosts().into_iter().filter_map(|host| match host {
            Host::Domain(name) => Some(name.as_str()),
            _ => None,
        });
        // The program may have found the address in a file, or in a run before.
        names.filter(is_allowed).any(|name| self.names.refreshed(name).contains(&target.ip()))
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
