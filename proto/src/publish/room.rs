//! How many bytes the transport should have: enough that the path is never idle, and few enough that a newer frame waits for
//! little.

use crate::path::stats::PathStats;
use crate::publish::pace::is_slow;
use crate::publish::writer::Writer;

/// What the transport may hold of bases beyond its window. A path that stalls for longer than these take gets no
/// more of them: they would be old, and in the way of newer ones.
const ROOM_FOR_BASES_BYTES: u64 = 16 * 1024;
/// Windows that the transport may hold of data that arrived after packets that were lost.
const HELD_WINDOWS: u64 = 2;

/// How many bytes of streams a transport should have at most: then no more is to be written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that it holds: unsent, in flight, or acknowledged after one that is not.
    pub held: u64,
    /// Bytes that are unsent or in flight; none for a slow path that loses nothing, where `held` decides.
    pub pending: Option<u64>,
}

/// The room for what `writer` writes. A slow path that loses nothing has `slow_window` bytes for all but bases.
pub(super) fn room(writer: &Writer, path: &PathStats, slow_window: u64) -> Room {
    let owes_base = writer.base_left() > 0;
    let bases = path.window.max(path.in_flight) + ROOM_FOR_BASES_BYTES;
    if writer.is_lossy() || !is_slow(path, writer.interval()) {
        let most = if owes_base { bases } else { path.window };
        return Room { held: most + HELD_WINDOWS * path.window, pending: Some(most) };
    }
    // What arrived after a lost packet is held too until that arrives: at most all that was on the way with it.
    let holes = if path.repairing > 0 { path.window } else { 0 };
    let held = if owes_base { bases + holes } else { slow_window + holes / 4 };
    Room { held, pending: None }
}

/// Packets that `bytes` of bases take.
pub(super) const fn packets_of(bytes: u64, path: &PathStats) -> u64 {
    bytes.div_ceil(path.mtu * 9 / 10)
}
