//! A path's speed in frame intervals, and how long written bytes keep it busy.
//!
//! Whether the path is busy until the next frame is due depends on the queue of the last round trip, minus what has
//! left since, and on the queue that follows from what was written if the rate of the slowest link is known. On a slow
//! path unsent bytes count too.

use std::time::Duration;

use crate::path::limits::{QUEUE_LEAST, QUEUE_TARGET};
use crate::path::stats::{PathStats, payload};
use nestcast_units::Bitrate;

/// A path that carries fewer packets in a frame interval is slow: each packet must be full.
const SLOW_PACKETS: u64 = 3;

/// Returns whether a packet takes a large part of a frame interval, as far as the window and the last round trip show.
pub(super) fn is_slow(path: &PathStats, interval: Duration) -> bool {
    !carries_packets(SLOW_PACKETS, path, interval)
}

/// Returns whether the path carries two packets in a frame interval. If not, each packet belongs to one frame.
pub(super) fn carries_two_packets(path: &PathStats, interval: Duration) -> bool {
    carries_packets(2, path, interval)
}

/// Returns how long written bytes keep the path busy, at most a frame interval.
pub(super) fn busy_time(path: &PathStats, interval: Duration) -> Duration {
    let busy = if carries_two_packets(path, interval) {
        queue_of_now(path)
    } else {
        path.queue().saturating_add(unsent_time(path))
    };
    let known = if is_slow(path, interval) { backlog(path) } else { Duration::ZERO };
    busy.max(known).min(interval)
}

/// Returns the current queue. It was measured a round trip ago, and bytes that left since are no longer in flight. So
/// it is at most the queue of the bytes in flight plus the target queue. Without this limit, a long round trip would
/// cause bursts, each of which stops the next.
fn queue_of_now(path: &PathStats) -> Duration {
    path.queue().min(path.standing().saturating_add(QUEUE_TARGET))
}

/// Returns how long everything that was written keeps the path busy, at the rate of its slowest link. The queue that
/// the last round trip showed may be several packets older.
fn backlog(path: &PathStats) -> Duration {
    if path.link_rate == Bitrate::default() {
        return Duration::ZERO;
    }
    let packets = path.unsent.div_ceil(path.payload());
    let headers = packets.saturating_mul(path.mtu.saturating_sub(path.payload()));
    path.backlog.saturating_add(path.link_rate.time_for(path.unsent.saturating_add(headers)))
}

/// Returns how long unsent bytes take after the queue; they follow it if the window is full. Without a queue the path
/// may carry more than is known. And packets that are not full would be faster than others, which would then seem to
/// have waited.
fn unsent_time(path: &PathStats) -> Duration {
    let window_is_full = path.in_flight + path.unsent + path.mtu > path.window;
    let packet_is_full = path.unsent >= payload(path.mtu);
    if window_is_full && packet_is_full && path.queue() >= QUEUE_LEAST {
        path.target_rate().time_for(path.unsent)
    } else {
        Duration::ZERO
    }
}

/// Returns whether the path carries `count` packets in a frame interval, by its window. The rate that its slowest link
/// once had says less: after that link became faster, it would count as slow for many seconds.
fn carries_packets(count: u64, path: &PathStats, interval: Duration) -> bool {
    path.target_rate().time_for(count * path.mtu) <= interval
}
