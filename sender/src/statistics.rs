//! What a broadcast did so far, counted without locks on the way of frames.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nestcast_proto::{Bitrate, Path, Tally};

/// A moment's figures.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// Frames that were encoded.
    pub frames: u64,
    /// Frames that could not be encoded in time.
    pub skipped: u64,
    /// Bytes of the encoded frames.
    pub encoded_bytes: u64,
    /// The time that encoding took.
    pub encode_time: Duration,
    /// Receivers that were let in.
    pub accepted: u64,
    /// Peers that were turned away: wrong token, version, or none of nestcast at all.
    pub refused: u64,
    /// The receivers of now.
    pub receivers: Vec<ReceiverStatistics>,
}

/// One receiver.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverStatistics {
    /// Where it is.
    pub address: SocketAddr,
    /// Its estimated bandwidth.
    pub estimate: Bitrate,
    /// What it was given.
    pub tally: Tally,
    /// Its path.
    pub path: Path,
}

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) frames: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) encoded_bytes: AtomicU64,
    pub(crate) encode_nanos: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    receivers: Mutex<BTreeMap<u64, ReceiverStatistics>>,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// Puts a receiver's figures in the place of its last ones.
    pub(crate) fn note(&self, receiver: u64, figures: ReceiverStatistics) {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner).insert(receiver, figures);
    }

    pub(crate) fn forget(&self, receiver: u64) {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner).remove(&receiver);
    }

    pub(crate) fn read(&self) -> Statistics {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            frames: load(&self.frames),
            skipped: load(&self.skipped),
            encoded_bytes: load(&self.encoded_bytes),
            encode_time: Duration::from_nanos(load(&self.encode_nanos)),
            accepted: load(&self.accepted),
            refused: load(&self.refused),
            receivers: self.receivers.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect(),
        }
    }
}
