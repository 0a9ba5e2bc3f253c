//! The effect of host rules on connections (spec §11.1). A program may connect to a host and port if some path there is
//! allowed, under some scheme.

use std::string::String;
use std::vec::Vec;

use super::pattern::HostPattern;
use super::{Compiled, Host, Net, NetError, NetRule, Target};

/// Schemes and their own ports: those of the URL standard, then others that a rule may name.
const PORTS: [(&str, u16); 7] = [
    ("http", 80),
    ("https", 443),
    ("ftp", 21),
    ("ws", 80),
    ("wss", 443),
    ("ssh", 22),
    ("git", 9418),
];

/// How many of them count if no scheme is named. `ws` and `wss` have no ports of their own.
const MEANT: usize = 3;

/// How much at a host and port is allowed, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostReach {
    /// No rule is about it.
    Uncovered,
    /// Rules are about it, and allow nothing.
    Nothing,
    /// The path decides.
    Parts,
    /// Everything, at least under some scheme.
    Everything,
}

/// A host and port where the path decides, which a connection does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divided {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
    /// The first rule about it that has a path.
    pub rule: NetRule,
}

impl Net {
    /// How much is allowed at a host, in the form of [`super::host`], and a port.
    #[must_use]
    pub fn reach(&self, host: &Host, port: u16) -> HostReach {
        let of_host: Vec<&Compiled> = self.about(host).collect();
        let named = of_host.iter().filter_map(|rule| rule.scheme.as_deref());
        let meant = PORTS.iter().take(MEANT).map(|(scheme, _)| *scheme);
        // The last stands for all schemes that have no port of their own.
        let mut schemes: Vec<&str> = named.chain(meant).chain([""]).collect();
        schemes.sort_unstable();
        schemes.dedup();
        // The rules that match a path depend only on the longest prefix that it begins with.
        let mut paths: Vec<&[String]> =
            of_host.iter().filter_map(|rule| rule.prefix.as_deref()).collect();
        paths.push(&[]);
        let reaches = schemes.into_iter().map(|scheme| self.reach_by(host, scheme, port, &paths));
        reaches.fold(HostReach::Uncovered, HostReach::with_other_scheme)
    }

    /// Whether anything is allowed at the host, at any port.
    #[must_use]
    pub fn admits(&self, host: &Host) -> bool {
        self.ports(host).any(|port| self.reach(host, port) >= HostReach::Parts)
    }

    /// The hosts that rules name, each once, in the order of the rules. Those below a name are not known.
    #[must_use]
    pub fn hosts(&self) -> Vec<&Host> {
        let mut hosts = Vec::new();
        for rule in &self.0 {
            if let HostPattern::One(host) = &rule.host
                && !hosts.contains(&host)
            {
                hosts.push(host);
            }
        }
        hosts
    }

    /// The first host and port where the path decides.
    #[must_use]
    pub fn divided(&self) -> Option<Divided> {
        self.0.iter().filter(|rule| rule.prefix.is_some()).find_map(|rule| {
            let examples = self.0.iter().map(|other| other.host.example());
            let mut of_rule = examples.filter(|host| rule.host.matches(host));
            of_rule.find_map(|host| {
                let is_divided = |port: &u16| self.reach(&host, *port) == HostReach::Parts;
                let port = self.ports(&host).find(is_divided)?;
                Some(Divided { host, port, rule: rule.written.clone() })
            })
        })
    }

    /// These rules, and one more after them.
    ///
    /// # Errors
    /// [`NetError`] if it is invalid.
    pub fn with(&self, rule: &NetRule) -> Result<Self, NetError> {
        let mut rules = self.0.clone();
        rules.push(Compiled::of(rule)?);
        Ok(Self(rules))
    }

    /// The most specific rule that denies a host and port.
    #[must_use]
    pub fn forbidding(&self, host: &Host, port: u16) -> Option<&NetRule> {
        let is_about = |rule: &&Compiled| {
            let scheme = rule.scheme.as_deref();
            !rule.allow && rule.port.or_else(|| own_port(scheme?)) == Some(port)
        };
        let by_port = self.about(host).filter(is_about).max_by_key(|rule| rule.specificity());
        let of_host = || {
            self.about(host).filter(|rule| !rule.allow).max_by_key(|rule| rule.host.specificity())
        };
        by_port.or_else(of_host).map(|rule| &rule.written)
    }

    /// The rules as written, in declared order.
    pub fn written(&self) -> impl Iterator<Item = &NetRule> {
        self.0.iter().map(|rule| &rule.written)
    }

    fn reach_by(&self, host: &Host, scheme: &str, port: u16, paths: &[&[String]]) -> HostReach {
        let is_own_port = own_port(scheme) == Some(port);
        let judged = paths.iter().map(|path| {
            let target = Target { scheme, port: Some(port), is_own_port, path };
            self.winner(host, target).map(|rule| rule.allow)
        });
        let judged: Vec<Option<bool>> = judged.collect();
        match (judged.contains(&Some(true)), judged.iter().all(|one| *one == Some(true))) {
            (_, true) => HostReach::Everything,
            (true, false) => HostReach::Parts,
            _ if judged.contains(&Some(false)) => HostReach::Nothing,
            _ => HostReach::Uncovered,
        }
    }

    /// The ports at which rules about a host can have an effect.
    fn ports(&self, host: &Host) -> impl Iterator<Item = u16> {
        self.about(host).filter_map(|rule| rule.port).chain(PORTS.map(|(_, port)| port))
    }
}

impl HostReach {
    /// The union for two schemes. A connection does not show which one is spoken, so one allowed scheme is enough. If
    /// the path decides under one of them, it decides.
    fn with_other_scheme(self, other: Self) -> Self {
        if self == Self::Parts || other == Self::Parts { Self::Parts } else { self.max(other) }
    }
}

fn own_port(scheme: &str) -> Option<u16> {
    PORTS.iter().find(|(known, _)| *known == scheme).map(|(_, port)| *port)
}
