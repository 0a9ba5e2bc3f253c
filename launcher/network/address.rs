//! Converts addresses between the form of system calls and the form in which they are judged.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use jp_confine_engine::net::{self, Host};
use rustix::io::Errno;

/// The size of `struct sockaddr_in`, and the smallest size that the kernel accepts for `struct sockaddr_in6`.
const V4_SIZE: usize = 16;
const V6_SIZE: usize = 24;

/// The family of an address, or zero without one.
pub(crate) fn family(address: &[u8]) -> i32 {
    address.first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes)).into()
}

/// Reads `struct sockaddr_in` or `sockaddr_in6` (`ip(7)`, `ipv6(7)`).
///
/// # Errors
/// Fails with `EINVAL` if it is too short, and with `EAFNOSUPPORT` for other families.
pub(crate) fn read(address: &[u8]) -> Result<SocketAddr, Errno> {
    let at = |place: usize| address.get(place..).unwrap_or_default();
    let word = |place: usize| at(place).first_chunk::<4>().copied().unwrap_or_default();
    let port = || at(2).first_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes));
    match family(address) {
        libc::AF_INET if address.len() >= V4_SIZE => {
            Ok(SocketAddrV4::new(Ipv4Addr::from(word(4)), port()).into())
        }
        libc::AF_INET6 if address.len() >= V6_SIZE => {
            let host = at(8).first_chunk::<16>().copied().unwrap_or_default();
            let [flow, scope] = [u32::from_ne_bytes(word(4)), u32::from_ne_bytes(word(24))];
            Ok(SocketAddrV6::new(Ipv6Addr::from(host), port(), flow, scope).into())
        }
        libc::AF_INET | libc::AF_INET6 => Err(Errno::INVAL),
        _ => Err(Errno::AFNOSUPPORT),
    }
}

/// The address in the form for a socket of the family `domain`.
pub(crate) fn write(address: SocketAddr, domain: i32) -> Vec<u8> {
    let family = |number: i32| u16::try_from(number).unwrap_or(0).to_ne_bytes();
    let port = address.port().to_be_bytes();
    match address {
        SocketAddr::V4(v4) if domain == libc::AF_INET => {
            [&family(libc::AF_INET)[..], &port, &v4.ip().octets(), &[0; 8]].concat()
        }
        SocketAddr::V4(v4) => {
            let mapped = v4.ip().to_ipv6_mapped().octets();
            [&family(libc::AF_INET6)[..], &port, &[0; 4], &mapped, &[0; 4]].concat()
        }
        SocketAddr::V6(v6) => {
            let (flow, scope) = (v6.flowinfo().to_ne_bytes(), v6.scope_id().to_ne_bytes());
            [&family(libc::AF_INET6)[..], &port, &flow, &v6.ip().octets(), &scope].concat()
        }
    }
}

/// No address (`AF_UNSPEC`), which dissolves a connection.
pub(crate) fn nowhere() -> Vec<u8> {
    vec![0; V4_SIZE]
}

/// The form in which addresses are judged. IPv4 inside IPv6 becomes IPv4. The unspecified address becomes loopback,
/// because the kernel connects it to this machine.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip().to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    match (address, ip) {
        (SocketAddr::V6(v6), IpAddr::V6(ip)) => {
            SocketAddrV6::new(ip, v6.port(), v6.flowinfo(), v6.scope_id()).into()
        }
        _ => SocketAddr::new(ip, address.port()),
    }
}

/// An address as people write it and `--net` takes it, without the zone.
pub(crate) fn shown(address: SocketAddr) -> String {
    SocketAddr::new(address.ip(), address.port()).to_string()
}

/// The host and port in [`shown`] text, or in a name with or without a port. The host is in the form of rules.
pub(crate) fn parse(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    Some((net::host(host)?, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["127.0.0.1:80", "[::1]:443", "[fe80::1%3]:22"] {
            let address = address(text);
            let domain = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
            assert_eq!(read(&write(address, domain)), Ok(address));
        }
        let mapped = write(address("1.2.3.4:5"), libc::AF_INET6);
        assert_eq!(read(&mapped), Ok(address("[::ffff:1.2.3.4]:5")));
    }

    #[test]
    fn short_and_foreign_addresses_are_none() {
        let whole = write(address("[::1]:1"), libc::AF_INET6);
        for length in 0..whole.len() {
            let expected = match length {
                0 | 1 => Err(Errno::AFNOSUPPORT),
                2..V6_SIZE => Err(Errno::INVAL),
                _ => Ok(address("[::1]:1")),
            };
            assert_eq!(read(&whole[..length]), expected, "{length}");
        }
    }

    #[test]
    fn one_host_has_one_plain_address() {
        for (given, expected) in [
            ("[::ffff:10.0.0.1]:1", "10.0.0.1:1"),
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::ffff:0.0.0.0]:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("[fe80::1%3]:1", "[fe80::1%3]:1"),
        ] {
            assert_eq!(plain(address(given)), address(expected));
        }
        assert_eq!(shown(address("[fe80::1%3]:1")), "[fe80::1]:1");
    }

    #[test]
    fn targets_are_read_as_they_are_shown() {
        for (text, port) in
            [("a.b:1", Some(1)), ("a.b", None), ("[::1]:5", Some(5)), ("[::1]", None)]
        {
            assert_eq!(parse(text).expect("a target").1, port, "{text}");
        }
        assert_eq!(parse("a.b:x"), None);
    }
}
