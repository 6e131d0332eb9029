//! How fast a path is, counted in frame intervals, and how long it is busy with what was written.
//!
//! What decides whether the path is busy until the next frame is due: the queue that the last round trip saw, without what
//! left since, and on a slow path the bytes that the transport could not send yet.

use std::time::Duration;

use crate::path::limits::{QUEUE_LEAST, QUEUE_TARGET};
use crate::path::stats::{PathStats, payload};

/// A path that carries fewer packets in a frame interval is slow: each of them must be full.
const SLOW_PACKETS: u64 = 3;

/// Whether a packet takes a large part of a frame interval.
pub(super) fn is_slow(path: &PathStats, interval: Duration) -> bool {
    !carries_packets(SLOW_PACKETS, path, interval)
}

/// Whether the path carries two packets in a frame interval. Else each packet is one frame's.
pub(super) fn carries_two_packets(path: &PathStats, interval: Duration) -> bool {
    carries_packets(2, path, interval)
}

/// For how long the path is busy with what was written, at most a frame interval.
pub(super) fn busy_time(path: &PathStats, interval: Duration) -> Duration {
    let busy = if carries_two_packets(path, interval) {
        queue_of_now(path)
    } else {
        path.queue().saturating_add(unsent_time(path))
    };
    busy.min(interval)
}

/// The queue as far as it is there now. It was seen a round trip ago. What left since then is no longer in flight: there is no
/// more of it than that has, and what a queue is aimed to have. Else a long round trip would bring bursts, each of which stops
/// the next.
fn queue_of_now(path: &PathStats) -> Duration {
    path.queue().min(path.standing().saturating_add(QUEUE_TARGET))
}

/// How long what is unsent takes after the queue. It follows the queue if the window is full. Without a queue the path may carry
/// more than is known; and packets that are not full would be faster than others, which then seem to have waited.
fn unsent_time(path: &PathStats) -> Duration {
    let window_is_full = path.in_flight + path.unsent + path.mtu > path.window;
    let packet_is_full = path.unsent >= payload(path.mtu);
    if window_is_full && packet_is_full && path.queue() >= QUEUE_LEAST {
        path.target_rate().time_for(path.unsent)
    } else {
        Duration::ZERO
    }
}

fn carries_packets(count: u64, path: &PathStats, interval: Duration) -> bool {
    path.target_rate().time_for(count * path.mtu) <= interval
}
