//! Whom to receive from, and how.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use nestcast_proto::{Bitrate, DecoderKind};

use crate::address::Address;
use crate::trust::Trust;

/// Whom to receive from, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the sender is.
    pub address: SocketAddr,
    /// Other addresses of its host, which are tried too where one before them does not answer; of many, the first few.
    pub other_addresses: Vec<SocketAddr>,
    /// The host, looked up before each attempt: its addresses take the place of those above.
    pub host: Option<Address>,
    /// The name in its certificate; not looked at where a fingerprint is pinned.
    pub name: String,
    /// How it is known.
    pub trust: Trust,
    /// What lets this receiver in; may be empty.
    pub token: Bytes,
    /// The most that is wanted, as in [`Hello::max_bitrate`](nestcast_proto::Hello::max_bitrate).
    pub max_bitrate: Option<Bitrate>,
    /// How frames are decoded; told to the sender.
    pub decoder: DecoderKind,
    /// Ask the sender for its model if it is missing here.
    pub fetch_model: bool,
    /// How long to try again while no frame is of use, at the start and later; zero: one attempt, and two at least with
    /// any other.
    pub retry: Duration,
    /// Wait for the first broadcast and, after the end of each, for the next, however long that takes: [`Config::retry`] is not looked at.
    pub wait: bool,
}

impl Config {
    /// Decoded in plain Rust, without a token, a cap, a model that is fetched or a second attempt; the certificate's name is
    /// the address.
    #[must_use]
    pub fn new(address: SocketAddr, trust: Trust) -> Self {
        Self {
            address,
            other_addresses: Vec::new(),
            host: None,
            name: address.ip().to_string(),
            trust,
            token: Bytes::new(),
            max_bitrate: None,
            decoder: DecoderKind::Linear,
            fetch_model: false,
            retry: Duration::ZERO,
            wait: false,
        }
    }
}
