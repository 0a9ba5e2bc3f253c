//! The form in which hosts are compared.

use std::string::ToString as _;
pub use url::Host;
use url::Url;

/// The host that a text names, in the form that rules compare: a name or an address, and nothing else. An IPv6 address
/// may be in brackets. `None` if the text is not a host.
#[must_use]
pub fn host(text: &str) -> Option<Host> {
    let is_host = |character: char| !"*%/@?#\\ ".contains(character);
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if text.is_empty() || !text.chars().all(is_host) {
        return None;
    }
    if bare.contains(':') { normal(&std::format!("[{bare}]")) } else { normal(text) }
}

/// The host of a URL in that form.
pub(super) fn host_of(url: &Url) -> Option<Host> {
    url.host().and_then(|host| normal(&host.to_string()))
}

/// In ASCII and lower case, without a final dot. Addresses are in their canonical form: an IPv4 address inside IPv6
/// becomes IPv4.
fn normal(text: &str) -> Option<Host> {
    let text = text.strip_suffix('.').unwrap_or(text);
    match Host::parse(text).ok()? {
        Host::Ipv6(address) => {
            Some(address.to_ipv4_mapped().map_or(Host::Ipv6(address), Host::Ipv4))
        }
        host => Some(host),
    }
}
