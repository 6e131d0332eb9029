//! Numbers of a path that several files use, with their reasons.

use std::time::Duration;

/// How long data may wait in the network's queue, at most. Long enough for two packets at 1 Mbit/s, so that a slow link
/// stays busy; half of a frame interval at 30 frames a second, so that a frame does not wait for the one before.
pub const QUEUE_TARGET: Duration = Duration::from_millis(15);
pub(crate) const QUEUE_LEAST: Duration = Duration::from_millis(5);
/// Bytes in flight before anything is known of a path: fewer than RFC 9002, section 7.2, allows, for a first frame that
/// does not wait behind what is too much; doubled in each round trip.
pub const INITIAL_WINDOW: u64 = 4_800;
/// Fewest bytes in flight, in packets: two make the peer acknowledge at once (RFC 9000, section 13.2.2).
pub(crate) const MIN_WINDOW_PACKETS: u64 = 2;
