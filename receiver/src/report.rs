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
    missing_bases: u64,
    bytes: u64,
    useful_bytes: u64,
    undecoded: u64,
    concealed: u64,
    repeated: u64,
    corrupt: u64,
    late: u64,
    reconnects: u64,
    /// How long a frame waited on average after it was ready.
    delay_ms: f64,
    /// What the unevenness of 95 % of the frames does not exceed; `None` without frames, and above 100 ms.
    unevenness_p95_ms: Option<f64>,
    sound_packets: u64,
    sound_lost: u64,
    sound_concealed_ms: f64,
    sound_silent_ms: f64,
    latency: Vec<LatencyClass>,
    unevenness: Vec<UnevennessClass>,
}

/// Frames shown at most this long after their capture, and longer than the class before allows.
#[derive(Serialize)]
struct LatencyClass {
    /// `None` in the last class, which contains all others.
    up_to_ms: Option<u64>,
    frames: u64,
}

/// Frames that were at most this uneven, and more than the class before allows.
#[derive(Serialize)]
struct UnevennessClass {
    /// `None` in the last class, which contains all others.
    up_to_us: Option<u64>,
    frames: u64,
}

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { received, played, reconnects, .. } = *self;
        let ReceiveStats { shown, missing_bases, bytes, useful: useful_bytes } = received;
        let PlayStats { undecoded, concealed, repeated, corrupt, late, latency, unevenness, sound, .. } = played;
        let p95 = unevenness.percentile(95).filter(|p95| *p95 < Duration::MAX);
        let [delay_ms, unevenness_p95_ms] = [Some(played.mean_wait()), p95].map(|time| time.map(milliseconds));
        let delay_ms = delay_ms.unwrap_or_default();
        let unevenness = unevenness.classes().map(|(up_to_us, frames)| UnevennessClass { up_to_us, frames }).collect();
        let latency = latency.classes().map(|(up_to_ms, frames)| LatencyClass { up_to_ms, frames }).collect();
        TotalsReport {
            shown,
            missing_bases,
            bytes,
            useful_bytes,
            undecoded,
            concealed,
            repeated,
            corrupt,
            late,
            reconnects,
            delay_ms,
            unevenness_p95_ms,
            sound_packets: sound.packets,
            sound_lost: sound.lost,
            sound_concealed_ms: milliseconds(sound.concealed),
            sound_silent_ms: milliseconds(sound.silent),
            latency,
            unevenness,
        }
        .serialize(serializer)
    }
}

/// Returns the number nearest to the whole nanoseconds, so that its text is as short as theirs.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_no_digits_that_come_from_binary_fractions() {
        assert_eq!(milliseconds(Duration::from_micros(211_300)).to_string(), "211.3");
    }
}
