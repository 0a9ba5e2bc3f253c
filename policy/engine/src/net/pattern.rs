//! The hosts that a rule is about: one, or all names below a name.

use std::format;
use std::string::String;

use super::host_name::{Host, host};

/// The hosts that a rule is about, in the form of [`host`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HostPattern {
    /// This one.
    One(Host),
    /// Every name with one label or more before this name. Not the name itself.
    Below(String),
}

impl HostPattern {
    /// Reads a host, or `*.` and a name. `None` if the text is neither.
    pub(super) fn new(text: &str) -> Option<Self> {
        let Some(name) = text.strip_prefix("*.") else { return host(text).map(Self::One) };
        match host(name)? {
            Host::Domain(name) => Some(Self::Below(name)),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }

    /// Whether a host, in the form of [`host`], is one of them.
    pub(super) fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::One(one), host) => one == host,
            (Self::Below(name), Host::Domain(host)) => host
                .strip_suffix(name.as_str())
                .and_then(|labels| labels.strip_suffix('.'))
                .is_some_and(|labels| !labels.is_empty()),
            (Self::Below(_), _) => false,
        }
    }

    /// A host that it matches. Below a name it is one that nobody can have.
    pub(super) fn example(&self) -> Host {
        match self {
            Self::One(host) => host.clone(),
            Self::Below(name) => Host::Domain(format!("*.{name}")),
        }
    }

    /// Of rules about a host, those with the highest value decide: one host counts more than all below a name, and a
    /// longer name more than a shorter one.
    pub(super) fn specificity(&self) -> usize {
        match self {
            Self::One(_) => usize::MAX,
            Self::Below(name) => name.split('.').count(),
        }
    }
}
