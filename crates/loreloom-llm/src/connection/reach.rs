//! Which servers may be reached.
//!
//! Addresses of the configuration are the user's own and may be anywhere. One that comes with
//! a request could make the server ask its own network on a stranger's behalf: it must be a
//! public one. The check is made on the numbers that are connected to, after names are looked
//! up, so a name of an inner address does not help; redirects are never followed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Where servers may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Anywhere: the address is the user's.
    #[default]
    Anywhere,
    /// Only public addresses.
    Public,
}

/// An address that must not be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is an address of a private network")]
pub struct Unreached {
    /// The address.
    pub found: IpAddr,
}

impl Reach {
    /// Whether an address may be connected to.
    pub fn permits(self, address: IpAddr) -> Result<(), Unreached> {
        if self == Self::Anywhere || is_public(address) {
            Ok(())
        } else {
            Err(Unreached { found: address })
        }
    }
}

/// Whether an address is public: not of a private network, of this machine or of a link. Reserved
/// addresses count as private.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_v4(four),
        IpAddr::V6(six) => match embedded(six) {
            Some(four) => is_public_v4(four),
            None => is_public_v6(six),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let private = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast();
    // This network, carrier-grade NAT, protocol assignments, 6to4 relays, benchmarks, reserved.
    let reserved = a == 0
        || (a == 100 && b & 0b1100_0000 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0b1111_1110 == 18)
        || a >= 240;
    !private && !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out; of it not documentation and protocol assignments.
    let given_out = first & 0xe000 == 0x2000;
    let documentation =
        (first == 0x2001 && second == 0x0db8) || (first == 0x3fff && second < 0x1000);
    let protocols = first == 0x2001 && second < 0x0200;
    given_out && !documentation && !protocols
}

/// The IPv4 address inside an IPv6 address, if it has one.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let four = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        // Mapped, compatible (but `::` and `::1` are themselves) and NAT64.
        [0, 0, 0, 0, 0, 0, 0, _] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(four(high, low)),
        _ => None,
    }
}

/// Looks up names and refuses those with a private address.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // One private address is enough to refuse: we do not choose which one is used.
            for address in &found {
                Reach::Public.permits(address.ip())?;
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_told_from_public_ones_however_they_are_written() {
        for (text, public) in [
            ("1.1.1.1", true),
            ("93.184.216.34", true),
            ("127.0.0.1", false),
            ("127.8.8.8", false),
            ("0.0.0.0", false),
            ("10.0.0.1", false),
            ("172.16.0.1", false),
            ("172.32.0.1", true),
            ("192.168.1.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("100.128.0.1", true),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700::1111", true),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:1.1.1.1", true),
            ("::127.0.0.1", false),
            ("64:ff9b::10.0.0.1", false),
            ("2002:7f00:1::", false),
            ("2002:0101:0101::", true),
            ("2001:db8::1", false),
            ("2001::1", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(text.parse().unwrap()), public, "{text}");
        }
        assert_eq!(Reach::Anywhere.permits(Ipv4Addr::LOCALHOST.into()), Ok(()));
    }
}
