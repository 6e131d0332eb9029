//! How to broadcast.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::identity::Identity;

/// How to broadcast.
#[derive(Debug)]
pub struct Config {
    /// Where receivers find it.
    pub listen: SocketAddr,
    /// Its certificate.
    pub identity: Identity,
    /// What receivers must know; nothing lets everyone in.
    pub token: Option<Bytes>,
    /// Most receivers at once.
    pub max_receivers: usize,
    /// Most receivers at once at one address (of IPv6: in one network of 64 bits).
    pub max_receivers_per_address: usize,
    /// Where to write a qlog file of each connection, if anywhere.
    #[cfg(feature = "qlog")]
    pub qlog: Option<std::path::PathBuf>,
    /// When receivers are asked to acknowledge.
    pub acknowledge: Acknowledge,
    /// Whether and how browsers watch, over WebTransport on the same port; `None` lets none in.
    pub browsers: Option<Browsers>,
}

/// How browsers watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browsers {
    /// The origins of pages that may, such as `https://example.org`; if there are none, pages of any origin may.
    pub origins: Vec<String>,
    /// For how long a certificate is valid that is made for browsers, at most 14 days: it is replaced while the broadcast runs.
    /// `None` shows them [`Config::identity`], which an authority must certify then.
    pub validity: Option<Duration>,
}

impl Default for Browsers {
    /// Pages of any origin, and certificates that are valid for 13 days.
    fn default() -> Self {
        Self { origins: Vec::new(), validity: Some(Duration::from_secs(13 * 24 * 3600)) }
    }
}

/// When a receiver is asked to acknowledge (draft-ietf-quic-ack-frequency).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledge {
    /// When this many packets came,
    pub packets: u32,
    /// or the first of them this long ago.
    pub within: Duration,
}

impl Default for Acknowledge {
    /// Few acknowledgements cost little, and late ones would be taken for a queue.
    fn default() -> Self {
        Self { packets: 4, within: Duration::from_millis(4) }
    }
}

impl Config {
    /// For every receiver that comes, no browser, at most 1000 receivers at once and 250 at one address.
    #[must_use]
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self {
            listen,
            identity,
            token: None,
            max_receivers: 1000,
            max_receivers_per_address: 250,
            #[cfg(feature = "qlog")]
            qlog: None,
            acknowledge: Acknowledge::default(),
            browsers: None,
        }
    }
}
