//! The addresses that count as one peer: an IPv4 address, or the 64-bit prefix of an IPv6 address.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The addresses of one peer. Within an IPv6 /64, the smallest network of a site, a peer can use any address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AddressPrefix(IpAddr);

impl AddressPrefix {
    pub(crate) fn of(address: SocketAddr) -> Self {
        // A dual-stack socket shows IPv4 addresses as IPv6 ones, all with one prefix.
        Self(match address.ip().to_canonical() {
            IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << 64)).into(),
            ip @ IpAddr::V4(_) => ip,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) -> bool {
        let [a, b] = [a, b].map(|ip| AddressPrefix::of(SocketAddr::new(ip.parse().expect("an address"), 1)));
        a == b
    }

    #[test]
    fn ipv4_addresses_are_told_apart_whole_and_ipv6_addresses_by_64_bits() {
        assert!(same("192.0.2.1", "192.0.2.1") && same("192.0.2.1", "::ffff:192.0.2.1"));
        assert!(!same("192.0.2.1", "192.0.2.2") && !same("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
        assert!(same("2001:db8::1", "2001:db8::ffff:1:2:3") && !same("2001:db8::1", "2001:db8:0:1::1"));
    }
}
