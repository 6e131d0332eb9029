//! The configuration of a broadcast.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nestcast_proto::{Bitrate, Sound};

use crate::access::Authorizer;
use crate::identity::Identity;

/// The configuration of a broadcast.
#[derive(Debug)]
pub struct SenderConfig {
    /// The address that the sender listens on.
    pub listen: SocketAddr,
    /// The sender's certificate and key.
    pub identity: Identity,
    /// Who decides which receivers may watch. All must admit a receiver; without any, everyone may watch.
    pub authorizers: Vec<Arc<dyn Authorizer>>,
    /// The most receivers at once.
    pub max_receivers: usize,
    /// The most receivers at once at one address; for IPv6, in one /64 network.
    pub max_receivers_per_address: usize,
    /// The most bits a second that each receiver gets over time, all bytes counted; it may ask for less. `None` limits
    /// nobody.
    pub max_bitrate: Option<Bitrate>,
    /// The folder for a qlog file of each connection; `None` writes none.
    #[cfg(feature = "qlog")]
    pub qlog: Option<std::path::PathBuf>,
    /// When the sender asks receivers to acknowledge.
    pub acknowledge: Acknowledge,
    /// The sound with the frames; [`Broadcast::sound`](crate::Broadcast::sound) takes its packets. `None` announces
    /// none.
    pub sound: Option<Sound>,
    /// How far back receivers of a live video may begin. The sender keeps all bytes of that time in files without a name,
    /// in the system's folder for temporary files. `None` keeps nothing.
    pub rewind: Option<Duration>,
    /// Whether and how browsers can watch, over WebTransport on the same port; `None` refuses browsers.
    pub browsers: Option<Browsers>,
}

/// How browsers can watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Browsers {
    /// The origins of pages that may watch, such as `https://example.org`; if empty, pages of any origin may.
    pub origins: Vec<String>,
    /// The validity of the certificates made for browsers, at most 14 days. The broadcast replaces them while it runs.
    /// `None` shows browsers [`SenderConfig::identity`], which an authority must then certify.
    pub validity: Option<Duration>,
}

impl Default for Browsers {
    /// Admits pages of any origin, with certificates that are valid for 13 days.
    fn default() -> Self {
        Self { origins: Vec::new(), validity: Some(Duration::from_secs(13 * 24 * 3600)) }
    }
}

/// When a receiver acknowledges (draft-ietf-quic-ack-frequency): after whichever limit is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledge {
    /// The number of packets that one acknowledgement waits for.
    pub packets: u32,
    /// The longest time that a packet waits for its acknowledgement.
    pub within: Duration,
}

impl Default for Acknowledge {
    /// Few acknowledgements cost little; a late one looks like a queue to the delay controller.
    fn default() -> Self {
        Self { packets: 4, within: Duration::from_millis(4) }
    }
}

impl SenderConfig {
    /// Admits every receiver and no browser, without sound or a limit of the bit rate, at most 1000 receivers at once and
    /// 250 at one address.
    #[must_use]
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self {
            listen,
            identity,
            authorizers: Vec::new(),
            max_receivers: 1000,
            max_receivers_per_address: 250,
            max_bitrate: None,
            #[cfg(feature = "qlog")]
            qlog: None,
            acknowledge: Acknowledge::default(),
            sound: None,
            rewind: None,
            browsers: None,
        }
    }
}
