//! Lines of JSON for programs that watch a broadcast.

use std::collections::BTreeMap;

use nestcast_proto::ReceiveStats;
use nestcast_receiver::{Shown, Totals};
use nestcast_sender::Statistics;
use serde::Serialize;

/// Everything that is told, one line each.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line {
    Listening {
        address: String,
        fingerprint: String,
        metrics: Option<String>,
    },
    Sent {
        frames: u64,
        skipped: u64,
        encoded_bytes: u64,
        encode_ms: f64,
        accepted: u64,
        refused: u64,
        source_failures: u64,
        loops: u64,
        loop_receivers: BTreeMap<u64, u64>,
        receivers: Vec<Fed>,
    },
    Frame {
        id: u64,
        bytes: usize,
        full: u64,
        latency_ms: f64,
        receiving_ms: f64,
        decode_ms: f64,
        psnr_db: Option<f64>,
    },
    Concealed {
        id: u64,
        psnr_db: Option<f64>,
    },
    Received {
        shown: u64,
        blank: u64,
        bytes: u64,
        useful_bytes: u64,
        undecoded: u64,
        concealed: u64,
        held: u64,
        corrupt: u64,
        reconnects: u64,
        latency: Vec<LatencyClass>,
    },
}

/// Frames that were shown no later than this behind their capture, and later than those of the class before.
#[derive(Debug, Serialize)]
pub(super) struct LatencyClass {
    /// Nothing in the last class, which takes all others.
    up_to_ms: Option<u64>,
    frames: u64,
}

/// A receiver, as the sender sees it.
#[derive(Debug, Serialize)]
pub(super) struct Fed {
    address: String,
    in_loop: Option<u64>,
    target_rate_bits: u64,
    delivery_rate_bits: u64,
    frames: u64,
    skipped: u64,
    cut: u64,
    bytes: u64,
    full: u64,
    window: u64,
    rtt_ms: f64,
    queue_ms: f64,
    lost_bytes: u64,
}

fn milliseconds(duration: std::time::Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl From<&Statistics> for Line {
    fn from(statistics: &Statistics) -> Self {
        let receivers = statistics.receivers.iter().map(|receiver| Fed {
            address: receiver.address.to_string(),
            in_loop: receiver.in_loop,
            target_rate_bits: receiver.path.target_rate().bits(),
            delivery_rate_bits: receiver.delivery_rate.bits(),
            frames: receiver.sent.frames,
            skipped: receiver.sent.skipped,
            cut: receiver.sent.cut,
            bytes: receiver.sent.bytes,
            full: receiver.sent.full,
            window: receiver.path.window,
            rtt_ms: milliseconds(receiver.path.rtt),
            queue_ms: milliseconds(receiver.path.queue()),
            lost_bytes: receiver.path.lost,
        });
        Self::Sent {
            frames: statistics.frames,
            skipped: statistics.skipped,
            encoded_bytes: statistics.encoded_bytes,
            encode_ms: milliseconds(statistics.encode_time),
            accepted: statistics.accepted,
            refused: statistics.refused(),
            source_failures: statistics.source_failures,
            loops: statistics.loops,
            loop_receivers: statistics.loop_receivers(),
            receivers: receivers.collect(),
        }
    }
}

impl From<(&Shown<'_>, Option<f64>)> for Line {
    fn from((shown, psnr_db): (&Shown<'_>, Option<f64>)) -> Self {
        Self::Frame {
            id: shown.id,
            bytes: shown.bytes,
            full: shown.full,
            latency_ms: milliseconds(shown.latency),
            receiving_ms: milliseconds(shown.receiving),
            decode_ms: milliseconds(shown.decoding),
            psnr_db,
        }
    }
}

impl From<&Totals> for Line {
    fn from(totals: &Totals) -> Self {
        let Totals { received, undecoded, concealed, held, corrupt, reconnects, latency } = *totals;
        let ReceiveStats { shown, blank, bytes, useful: useful_bytes } = received;
        let latency = latency.classes().map(|(up_to_ms, frames)| LatencyClass { up_to_ms, frames }).collect();
        Self::Received { shown, blank, bytes, useful_bytes, undecoded, concealed, held, corrupt, reconnects, latency }
    }
}
