//! Serves the run on loopback if rules about hosts are declared: with a name server, and a proxy if one is wanted. Both
//! ask the policy and report denials.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use jp_confine_engine::net::{Host, HostReach};
use url::Url;

use super::policy::Policy;
use crate::network::clients::NetworkClient;
use crate::network::dns_query::Finding;
use crate::network::dns_server::Book;
use crate::network::proxy::{self, Gate};
use crate::record::denial::{Denial, Reason};

/// Starts to serve, if there are rules.
///
/// # Errors
/// Fails if no thread can be started.
pub(super) fn serve(policy: &Arc<Policy>) -> io::Result<()> {
    let Some(network) = &policy.network else { return Ok(()) };
    network.responder.serve(policy)?;
    match &network.proxy {
        Some(listener) => proxy::serve(Arc::clone(listener), Arc::clone(policy)),
        None => Ok(()),
    }
}

impl Book for Policy {
    fn asker(&self, from: SocketAddr) -> Option<NetworkClient> {
        self.network.as_ref()?.askers.find(from)
    }

    fn look_up(&self, name: &str) -> Finding {
        self.network.as_ref().map_or(Finding::Unknown, |network| network.look_up(name))
    }

    fn admits(&self, name: &str) -> bool {
        self.network.as_ref().is_some_and(|network| network.admits(name))
    }

    fn refused(&self, name: &[u8], reason: Reason, asker: &NetworkClient) {
        self.record(&denial(reason, name, b"resolve", asker));
    }
}

impl Gate for Policy {
    fn asker(&self, from: SocketAddr) -> Option<NetworkClient> {
        Book::asker(self, from)
    }

    fn opens(&self, url: &Url) -> bool {
        self.network.as_ref().is_some_and(|network| network.opens(url))
    }

    fn tunnels(&self, host: &Host, port: u16) -> Result<(), &'static str> {
        match self.network.as_ref().map(|network| network.reach(host, port)) {
            Some(HostReach::Everything) => Ok(()),
            Some(HostReach::Parts) => {
                Err("the policy allows paths of this host only, which a tunnel does not show")
            }
            _ => Err("the policy does not allow this host and port: no rule of access.net does"),
        }
    }

    fn places(&self, host: &Host, port: u16) -> Vec<SocketAddr> {
        self.network.as_ref().map(|network| network.places(host, port)).unwrap_or_default()
    }

    fn refused(&self, target: &str, asker: &NetworkClient) {
        self.record(&denial(Reason::Connect, target.as_bytes(), b"proxy", asker));
    }
}

fn denial(reason: Reason, target: &[u8], call: &[u8], asker: &NetworkClient) -> Denial {
    Denial::by_supervisor(reason, target, (asker.pid, asker.program.clone()), call)
}
