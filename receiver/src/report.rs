//! Figures as JSON: what was shown and what arrived so far, as `nestcast receive --json` prints them. Times are in
//! milliseconds.

use std::time::Duration;

use nestcast_player::PlayStats;
use nestcast_proto::ReceiveStats;
use serde::{Serialize, Serializer};

use crate::viewer::{Shown, Totals};

#[derive(Serialize)]
struct ShownReport {
    id: u64,
    bytes: usize,
    full: u64,
    latency_ms: f64,
    receiving_ms: f64,
    decode_ms: f64,
}

impl Serialize for Shown<'_> {
    /// Serialises all fields except the picture.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self { id, bytes, full, latency, receiving, decoding, .. } = self;
        let [latency_ms, receiving_ms, decode_ms] = [latency, receiving, decoding].map(milliseconds);
        ShownReport { id, bytes, full, latency_ms, receiving_ms, decode_ms }.serialize(serializer)
    }
}

#[derive(Serialize)]
struct TotalsReport {
    shown: u64,
    blank: u64,
    bytes: u64,
    useful_bytes: u64,
    undecoded: u64,
    concealed: u64,
    repeated: u64,
    corrupt: u64,
    reconnects: u64,
    latency: Vec<LatencyClass>,
}

/// Frames shown at most this long after their capture, and longer than the class before allows.
#[derive(Serialize)]
struct LatencyClass {
    /// `None` in the last class, which contains all others.
    up_to_ms: Option<u64>,
    frames: u64,
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { received, played, reconnects } = *self;
        let ReceiveStats { shown, blank, bytes, useful: useful_bytes } = received;
        let PlayStats { undecoded, concealed, repeated, corrupt, latency, .. } = played;
        let latency = latency.classes().map(|(up_to_ms, frames)| LatencyClass { up_to_ms, frames }).collect();
        TotalsReport { shown, blank, bytes, useful_bytes, undecoded, concealed, repeated, corrupt, reconnects, latency }
            .serialize(serializer)
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
