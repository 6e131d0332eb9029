//! A sender's address by host name.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;

use nestcast_proto::BroadcastName;

/// A host and a port, as in `example.org:4433`, `[::1]:4433` or `[fe80::1%eth0]:4433`, and perhaps the name of a broadcast
/// there, as in `example.org:4433/cam1`. The host is not looked up yet.
///
/// ```
/// use nestcast_receiver::Address;
///
/// let address: Address = "[::1]:4433".parse()?;
/// assert_eq!((address.host(), address.look_up()), ("::1", vec![([0, 0, 0, 0, 0, 0, 0, 1], 4433).into()]));
/// # Ok::<(), nestcast_receiver::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
    /// The host with its zone, as in `fe80::1%eth0`.
    host: String,
    port: u16,
    broadcast: BroadcastName,
}

/// The error for text that is not a host and port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It has no host or no port, or the rest of it is no name of a broadcast.
    #[error(
        "give a host and a port, as in example.org:4433 or [::1]:4433, and a broadcast there if it has a name, as in example.org:4433/cam1"
    )]
    Parts,
    /// It is a URL of a sender. One of https with a name is none, because relays have such ones.
    #[error("a sender's address has no scheme: give {0}")]
    Scheme(String),
}

impl Address {
    /// Returns the host without the brackets and the zone of IPv6: the name in its certificate.
    #[must_use]
    pub fn host(&self) -> &str {
        self.host.split_once('%').map_or(&self.host, |(host, _)| host)
    }

    /// Returns the name of the broadcast; empty if the address has none.
    #[must_use]
    pub const fn broadcast(&self) -> &BroadcastName {
        &self.broadcast
    }

    /// Looks up the host's addresses, the best first; empty if the system knows none. It may ask the network, and
    /// blocks until it has the answer.
    #[must_use]
    pub fn look_up(&self) -> Vec<SocketAddr> {
        (&*self.host, self.port).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some((scheme @ ("http" | "https"), rest)) = text.split_once("://") {
            return Err(without_scheme(scheme, rest.trim_end_matches('/')));
        }
        let (place, name) = text.split_once('/').unwrap_or((text, ""));
        let broadcast = name.parse().map_err(|_| AddressError::Parts)?;
        let (host, port) = place.rsplit_once(':').ok_or(AddressError::Parts)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_whole = bare.is_some() || !host.contains(':');
        let host = bare.unwrap_or(host).to_owned();
        let port = port.parse().ok().filter(|port: &u16| *port > 0 && is_whole && !host.is_empty());
        Ok(Self { text: text.to_owned(), host, port: port.ok_or(AddressError::Parts)?, broadcast })
    }
}

/// Returns the error for a URL: the address to give instead, or the form of one.
fn without_scheme(scheme: &str, rest: &str) -> AddressError {
    match rest.parse::<Address>() {
        Ok(address) if scheme == "http" || address.broadcast.is_empty() => AddressError::Scheme(rest.to_owned()),
        Err(_) if scheme == "http" => AddressError::Scheme("HOST:PORT, or HOST:PORT/NAME".to_owned()),
        _ => AddressError::Parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (text, host) in [("a.example:1", "a.example"), ("[::1]:4433", "::1"), ("127.0.0.1:9", "127.0.0.1")] {
            let address: Address = text.parse().expect("an address");
            assert_eq!((address.to_string(), address.host()), (text.to_owned(), host));
        }
        let named: Address = "a.example:1/cam1".parse().expect("an address");
        assert_eq!((named.host(), named.broadcast().as_str()), ("a.example", "cam1"));
        assert!("a.example:1/".parse::<Address>().is_ok_and(|address| address.broadcast().is_empty()));
        let local: Address = "[fe80::1%3]:4433".parse().expect("an address");
        assert_eq!(local.host(), "fe80::1");
        #[cfg(unix)]
        assert!(matches!(local.look_up()[..], [SocketAddr::V6(address)] if address.scope_id() == 3));
        for wrong in
            ["", "nowhere", "nowhere:", ":4433", "[]:4433", "::1", "a:0", "a:65536", "a:port", "a:1/b/c", "a:1/b c"]
        {
            assert_eq!(wrong.parse::<Address>(), Err(AddressError::Parts), "{wrong}");
        }
        for (url, told) in [
            ("http://a.example:1", "give a.example:1"),
            ("https://a.example:1/", "give a.example:1"),
            ("http://[::1]:1/cam1/", "give [::1]:1/cam1"),
            ("http://a.example/cam1", "give HOST:PORT, or HOST:PORT/NAME"),
        ] {
            let refused = url.parse::<Address>().expect_err("it has a scheme").to_string();
            assert_eq!(refused, format!("a sender's address has no scheme: {told}"), "{url}");
        }
        for url in ["https://a.example:1/cam1", "https://a.example", "moq://a.example:1/cam1"] {
            assert_eq!(url.parse::<Address>(), Err(AddressError::Parts), "{url}");
        }
    }
}
