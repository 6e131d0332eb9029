//! The configuration of a receiver.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use nestcast_player::Latency;
use nestcast_proto::{Bitrate, BroadcastName, DecoderKind, Start};

use crate::address::Address;
use crate::seek::Seek;
use crate::trust::Trust;

/// The configuration of a receiver.
#[derive(Debug, Clone)]
pub struct ReceiverConfig {
    /// The sender's address.
    pub address: SocketAddr,
    /// Other addresses of the sender's host, tried if earlier ones do not answer; the receiver tries only the first
    /// few.
    pub other_addresses: Vec<SocketAddr>,
    /// The host, looked up before each attempt. Its addresses replace those above.
    pub host: Option<Address>,
    /// The name in the sender's certificate; ignored if a fingerprint is pinned.
    pub name: String,
    /// How the receiver verifies the sender.
    pub trust: Trust,
    /// Which of the sender's broadcasts it wants; the empty name if the sender has one alone.
    pub broadcast: BroadcastName,
    /// Where it begins, if the sender has that: earlier in a live broadcast, or anywhere in a stored video. The log says
    /// where it begins instead. A receiver that connects again asks for the same time before now, and goes on where a
    /// stored video broke.
    pub start: Option<Start>,
    /// Lets the receiver go elsewhere; keep a clone of it.
    pub seek: Seek,
    /// The token that admits this receiver; may be empty. It has at most [`MAX_TOKEN`](nestcast_proto::MAX_TOKEN) bytes:
    /// with a longer one the receiver does not connect.
    pub token: Bytes,
    /// A file that is read before each connection. Its content, without white space around it, replaces the token; if it
    /// cannot be read or holds no token, the last one stays, and the log says so.
    pub token_file: Option<PathBuf>,
    /// The receiver's cap, as in [`Hello::max_bitrate`](nestcast_proto::Hello::max_bitrate).
    pub max_bitrate: Option<Bitrate>,
    /// How frames are decoded; the sender learns this.
    pub decoder: DecoderKind,
    /// Whether to ask the sender for its model if it is missing here.
    pub fetch_model: bool,
    /// How long to retry while no frame is useful, at the start and later. Zero means one attempt; any other value
    /// means at least two.
    pub retry: Duration,
    /// Whether to wait for the first broadcast, and after each broadcast for the next one, whether it ended or broke off,
    /// however long that takes. A receiver with a [`ReceiverConfig::token_file`] then also waits for a token that has not expired.
    /// It overrides [`ReceiverConfig::retry`].
    pub wait: bool,
    /// How long [`view`](crate::view) delays frames so that they are shown evenly.
    pub latency: Latency,
}

impl ReceiverConfig {
    /// Makes a configuration without a token, a cap, model fetching or retries, for a decoder in plain Rust. The
    /// certificate's name is the address, and frames are delayed by as little as makes them even.
    #[must_use]
    pub fn new(address: SocketAddr, trust: Trust) -> Self {
        Self {
            address,
            other_addresses: Vec::new(),
            host: None,
            name: address.ip().to_string(),
            trust,
            broadcast: BroadcastName::default(),
            start: None,
            seek: Seek::default(),
            token: Bytes::new(),
            token_file: None,
            max_bitrate: None,
            decoder: DecoderKind::Linear,
            fetch_model: false,
            retry: Duration::ZERO,
            wait: false,
            latency: Latency::Smooth,
        }
    }
}
