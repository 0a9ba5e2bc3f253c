//! Where the hosts of requests are: looked up when a connection is made, and judged then, so that nothing is
//! exchanged in between.

use std::net::SocketAddr;

use jp_confine_policy::net::{self, Net};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The system's own resolver, less the addresses that rules or the kind of address forbid.
#[derive(Debug)]
pub(super) struct Judging(pub(super) Net);

/// A name leads only where it may not.
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
