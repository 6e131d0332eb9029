//! Figures as JSON, as `nestcast send --json` prints them. Times are milliseconds, rates bits a second.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::figures::statistics::{ReceiverStatistics, Statistics};

#[derive(Serialize)]
struct Report<'a> {
    frames: u64,
    skipped: u64,
    encoded_bytes: u64,
    encode_ms: f64,
    accepted: u64,
    refused: u64,
    source_failures: u64,
    renditions: u64,
    rendition_receivers: BTreeMap<u64, u64>,
    receivers: &'a [ReceiverStatistics],
}

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = Report {
            frames: self.frames,
            skipped: self.skipped,
            encoded_bytes: self.encoded_bytes,
            encode_ms: milliseconds(self.encode_time),
            accepted: self.accepted,
            refused: self.refused(),
            source_failures: self.source_failures,
            renditions: self.renditions,
            rendition_receivers: self.rendition_receivers(),
            receivers: &self.receivers,
        };
        report.serialize(serializer)
    }
}

#[derive(Serialize)]
struct ReceiverReport<'a> {
    address: String,
    name: Option<&'a str>,
    rendition: Option<u64>,
    target_rate_bits: u64,
    delivery_rate_bits: u64,
    frames: u64,
    skipped: u64,
    cut: u64,
    cut_reasons: BTreeMap<&'static str, u64>,
    bytes: u64,
    full: u64,
    sound_packets: u64,
    sound_skipped: u64,
    sound_bytes: u64,
    window: u64,
    rtt_ms: f64,
    queue_ms: f64,
    lost_bytes: u64,
}

impl Serialize for ReceiverStatistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { sent, path, .. } = self;
        let report = ReceiverReport {
            address: self.address.to_string(),
            name: self.name.as_deref(),
            rendition: self.rendition,
            target_rate_bits: path.target_rate().bits(),
            delivery_rate_bits: self.delivery_rate.bits(),
            frames: sent.frames,
            skipped: sent.skipped,
            cut: sent.cut,
            cut_reasons: sent.cut_reasons.each().into(),
            bytes: sent.bytes,
            full: sent.full,
            sound_packets: sent.sound.packets,
            sound_skipped: sent.sound.skipped,
            sound_bytes: sent.sound.bytes,
            window: path.window,
            rtt_ms: milliseconds(path.rtt),
            queue_ms: milliseconds(path.queue()),
            lost_bytes: path.lost,
        };
        report.serialize(serializer)
    }
}

/// Returns the number nearest to the whole nanoseconds, so that its text is as short as theirs.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
