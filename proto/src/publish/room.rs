//! The transport's room: enough bytes that the path is never idle, and few enough that a newer frame hardly waits.

use crate::path::stats::PathStats;
use crate::publish::pace::is_slow;
use crate::publish::writer::Writer;

/// The bytes of base layers that the transport may hold beyond its window. A path that stalls for longer gets no more
/// base layers: they would be old, and would delay newer ones.
const ROOM_FOR_BASES_BYTES: u64 = 16 * 1024;
/// The windows of data that the transport may hold because it arrived after lost packets.
const HELD_WINDOWS: u64 = 2;

/// The most stream bytes that a transport should hold; above that, write no more to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that it holds: unsent, in flight, or acknowledged after an unacknowledged one.
    pub held: u64,
    /// Bytes that are unsent or in flight; `None` for a slow path without loss, where `held` decides.
    pub pending: Option<u64>,
}

/// Returns the room for the writer's bytes. On a slow path without loss, all but base layers get `slow_window` bytes.
pub(super) fn room(writer: &Writer, path: &PathStats, slow_window: u64) -> Room {
    let owes_base = writer.base_left() > 0;
    let bases = path.window.max(path.in_flight) + ROOM_FOR_BASES_BYTES;
    if writer.is_lossy() || !is_slow(path, writer.interval()) {
        let most = if owes_base { bases } else { path.window };
        return Room { held: most + HELD_WINDOWS * path.window, pending: Some(most) };
    }
    // Data that arrived after a lost packet is held until that packet arrives: at most all that was in flight with it.
    let holes = if path.retransmitted_bytes > 0 { path.window } else { 0 };
    let held = if owes_base { bases + holes } else { slow_window + holes / 4 };
    Room { held, pending: None }
}

/// Returns the number of packets for `bytes` of base layers.
pub(super) const fn packets_of(bytes: u64, path: &PathStats) -> u64 {
    bytes.div_ceil(path.mtu * 9 / 10)
}
