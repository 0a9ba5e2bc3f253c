//! Resolves the hosts of requests. The lookup happens when a connection is made, and its result is checked at once, so
//! that nobody can change the address in between. Used by `http`.

use std::net::SocketAddr;

use jp_confine_engine::net::{self, Net};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The system's resolver, without the addresses that rules deny or that are this machine's or its link's.
#[derive(Debug)]
pub(super) struct Judging(pub(super) Net);

/// The error for a name that leads only to denied addresses.
#[derive(Debug, thiserror::Error)]
#[error("its name stands for an address that rules forbid, or for this machine or its link")]
pub(super) struct Forbidden;

impl Resolver for Judging {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let host = uri.host().and_then(net::host).ok_or(ureq::Error::HostNotFound)?;
        let mut kept = self.empty();
        let goes =
            |address: &&SocketAddr| self.0.may_go_to(&host, **address, net::is_own(address.ip()));
        for address in found.iter().filter(goes) {
            kept.push(*address);
        }
        if kept.is_empty() { Err(ureq::Error::Other(Box::new(Forbidden))) } else { Ok(kept) }
    }
}
