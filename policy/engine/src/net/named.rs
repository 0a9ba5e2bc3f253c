//! Says which addresses a host name may stand for, whatever its owner publishes.

use std::net::{IpAddr, SocketAddr};

use super::{Host, HostReach, Net};

/// Whether a name, in the form of [`super::host`], may stand for an address. The owner of a name decides what it stands
/// for, and must not reach this machine or its closest neighbours that way. Only rules about addresses allow those.
/// Names that mean this machine may stand for it (RFC 6761 §6.3). [`super::is_own`] knows whether an address is this
/// machine's own.
#[must_use]
pub fn may_stand_for(name: &str, address: IpAddr, is_own: bool) -> bool {
    let is_this_machine = name == "localhost" || name.ends_with(".localhost");
    is_this_machine || !is_own && may_be_a_host(address.to_canonical())
}

fn may_be_a_host(address: IpAddr) -> bool {
    let is_near = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(is_near || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

impl Net {
    /// Whether a request to `host`, which was judged, may go to `address`, to which its name resolves. It may not if
    /// the name may not stand for it (see [`may_stand_for`]), or if rules about the address itself allow nothing.
    #[must_use]
    pub fn may_go_to(&self, host: &Host, address: SocketAddr, is_own: bool) -> bool {
        let Host::Domain(name) = host else { return true };
        let place = match address.ip().to_canonical() {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        may_stand_for(name, address.ip(), is_own)
            && self.reach(&place, address.port()) != HostReach::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NetRule, host};
    use super::*;

    #[test]
    fn names_do_not_lead_to_this_machine() {
        for (address, expected) in [
            ("10.0.0.1", true),
            ("93.184.216.34", true),
            ("fd00::1", true),
            ("127.0.0.1", false),
            ("::ffff:127.0.0.1", false),
            ("0.0.0.0", false),
            ("169.254.169.254", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("fe80::1", false),
        ] {
            let address = address.parse().expect("an address");
            assert_eq!(may_stand_for("a.test", address, false), expected, "{address}");
            assert!(!may_stand_for("a.test", address, true), "{address}");
            for name in ["localhost", "a.localhost"] {
                assert!([false, true].into_iter().all(|own| may_stand_for(name, address, own)));
            }
        }
    }

    #[test]
    fn rules_about_the_address_itself_count_where_a_name_leads() {
        let rule = |host: &str, allow| NetRule {
            host: host.into(),
            port: Some(80),
            allow,
            ..NetRule::default()
        };
        let net = Net::new(&[rule("a.test", true), rule("10.0.0.1", false)]).expect("rules");
        let goes = |name: &str, place: &str| {
            net.may_go_to(&host(name).expect("a host"), place.parse().expect("an address"), false)
        };
        assert!(goes("a.test", "10.0.0.2:80") && goes("a.test", "10.0.0.1:81"));
        assert!(!goes("a.test", "10.0.0.1:80") && !goes("a.test", "[::ffff:10.0.0.1]:80"));
        assert!(!goes("a.test", "127.0.0.1:80") && goes("127.0.0.1", "127.0.0.1:80"));
    }
}
