//! Constants of a path that several files use, with their reasons.

use std::time::Duration;

/// The longest time that data may wait in the network's queue. It is long enough for two packets at 1 Mbit/s, so that a
/// slow link stays busy; and half of a frame interval at 30 frames a second, so that a frame does not wait for the one
/// before.
pub const QUEUE_TARGET: Duration = Duration::from_millis(15);
pub(crate) const QUEUE_LEAST: Duration = Duration::from_millis(5);
/// Bytes in flight before the path is measured; doubled in each round trip. They are fewer than RFC 9002, section 7.2,
/// allows, so that the first frame does not wait for an excess.
pub const INITIAL_WINDOW: u64 = 4_800;
/// The fewest packets in flight: two make the peer acknowledge at once (RFC 9000, section 13.2.2).
pub(crate) const MIN_WINDOW_PACKETS: u64 = 2;
