//! The rate that an encoder counts on for a receiver.

use nestcast_proto::ReceiverDemand;

/// The part of a path's rate that carries frames; the rest is headers.
const PAYLOAD_SHARE: f64 = 0.9;

/// Returns the part of a receiver's path that carries frames, within the receiver's cap, in bits a second.
pub(crate) fn rate_of(wanted: &ReceiverDemand) -> f64 {
    let carried = wanted.bandwidth.bits() as f64 * PAYLOAD_SHARE;
    wanted.max_bitrate.map_or(carried, |most| carried.min(most.bits() as f64))
}
