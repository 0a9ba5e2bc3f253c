//! Finds out which addresses are this machine's own, by the kernel's routing. Sends nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Whether a connection to an address reaches this machine, on any device.
#[must_use]
pub fn is_own(address: IpAddr) -> bool {
    let address = address.to_canonical();
    stays_here(address).unwrap_or_else(|| is_own_source(address))
}

/// Whether the kernel would send from the address what is addressed to it. Linux would not for second addresses of a
/// network, nor for all of a network that is this machine's as a whole.
fn is_own_source(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((any, 0)).and_then(|socket| {
        socket.connect((address, 1))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(target_os = "linux")]
fn stays_here(address: IpAddr) -> Option<bool> {
    route::stays_here(address).ok()
}

#[cfg(not(target_os = "linux"))]
const fn stays_here(_: IpAddr) -> Option<bool> {
    None
}

/// Asks for the route to an address (`rtnetlink(7)`).
#[cfg(target_os = "linux")]
mod route {
    use std::net::IpAddr;
    use std::vec::Vec;

    use rustix::io::Errno;
    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
    };

    /// `RTM_NEWROUTE`, which answers `RTM_GETROUTE`.
    const ANSWER: u16 = 24;
    const QUESTION: u16 = 26;
    /// `NLM_F_REQUEST`.
    const REQUEST: u16 = 1;
    /// `RTA_DST`.
    const DESTINATION: u16 = 1;
    /// `RTN_LOCAL` and `RTN_ANYCAST`: the destination is this machine.
    const HERE: [u8; 2] = [2, 4];
    /// The sizes of `struct nlmsghdr`, `rtmsg` and `rtattr`.
    const HEADER: usize = 16;
    const ROUTE: usize = 12;
    const ATTRIBUTE: usize = 4;
    /// The offsets in an answer of the kind of message and the kind of route.
    const MESSAGE_KIND: usize = 4;
    const ROUTE_KIND: usize = HEADER + 7;

    /// Whether the route ends here. There may be none.
    pub(super) fn stays_here(address: IpAddr) -> Result<bool, Errno> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        send(&socket, &question(address), SendFlags::empty())?;
        // The kernel has answered by the time the question is sent.
        let mut answer = [0; 1024];
        let (length, _) = recv(&socket, &mut answer, RecvFlags::empty())?;
        let answer = answer.get(..length).unwrap_or_default();
        let is_route =
            answer.get(MESSAGE_KIND..).is_some_and(|rest| rest.starts_with(&ANSWER.to_ne_bytes()));
        Ok(is_route && answer.get(ROUTE_KIND).is_some_and(|kind| HERE.contains(kind)))
    }

    fn question(address: IpAddr) -> Vec<u8> {
        let (family, bytes) = match address {
            IpAddr::V4(address) => (AddressFamily::INET, address.octets().to_vec()),
            IpAddr::V6(address) => (AddressFamily::INET6, address.octets().to_vec()),
        };
        let attribute = ATTRIBUTE + bytes.len();
        // None of these is longer than a few bytes.
        let short = |length: usize| u16::try_from(length).unwrap_or_default();
        let byte = |number: u16| number.to_le_bytes()[0];
        let mut route = [0; ROUTE];
        route[0] = byte(family.as_raw());
        route[1] = byte(short(bytes.len() * 8));
        [
            &u32::from(short(HEADER + ROUTE + attribute)).to_ne_bytes()[..],
            &QUESTION.to_ne_bytes(),
            &REQUEST.to_ne_bytes(),
            &[0; 8],
            &route,
            &short(attribute).to_ne_bytes(),
            &DESTINATION.to_ne_bytes(),
            &bytes,
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_its_own() {
        // The first address of the loopback network, which is this machine's as a whole, is the source for all.
        for (address, expected) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("127.1.2.3", cfg!(target_os = "linux")),
            ("198.51.100.1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_own(address.parse().expect("an address")), expected, "{address}");
        }
    }
}
