//! How much of a frame is written, and how much at once.

use std::time::Duration;

use bytes::Bytes;

use super::sending::{Kind, Sending};
use super::{Publisher, Room};
use crate::path::limits::{QUEUE_LEAST, QUEUE_TARGET};
use crate::path::stats::{PathStats, payload};

/// What the transport may hold of bases beyond its window. A path that stalls for longer than these take gets no
/// more of them: they would be old, and in the way of newer ones.
const ROOM_FOR_BASES_BYTES: u64 = 16 * 1024;
/// Windows that the transport may hold of data that arrived behind lost packets.
const HELD_WINDOWS: u64 = 2;
/// A path that carries fewer packets in a frame interval is slow: each of them must be full.
const SLOW_PACKETS: u64 = 3;
/// A frame is written in so many parts at least, if it has as many packets.
const MIN_PARTS_PER_FRAME: u64 = 4;

impl Publisher {
    /// How many bytes the transport should have at most. There is room for the bases of a few frames beside what may be in flight,
    /// also where more is in flight than may be since the window fell.
    #[must_use]
    pub fn room(&self, path: &PathStats) -> Room {
        let owes_base = self.owes_base();
        let bases = path.window.max(path.in_flight) + ROOM_FOR_BASES_BYTES;
        if self.lossy.is_lossy() || !self.is_slow(path) {
            let most = if owes_base { bases } else { path.window };
            return Room { held: most + HELD_WINDOWS * path.window, pending: Some(most) };
        }
        // A transport sends whole packets alone: of video the next one waits, and is filled by one frame.
        let window = if self.waiting.is_video() {
            path.window.div_ceil(path.mtu.max(1)) * payload(path.mtu)
        } else {
            // What waits fills the packet of the next base, where nothing is lost: else that would leave with a base alone.
            let fills = path.window / path.mtu.max(1) * path.mtu.saturating_sub(payload(path.mtu));
            path.window + if path.repairing == 0 { fills } else { 0 }
        };
        let most = if owes_base { bases } else { window };
        // What came behind a lost packet is held too, until that came again: at most all that was on the way with it.
        let holes = if path.repairing > 0 { path.window } else { 0 };
        Room { held: most + if owes_base { holes } else { holes / 4 }, pending: None }
    }

    /// What [`Step::Write`](crate::Step::Write) is to write: the base alone, then the rest; both where the path has room for both.
    #[must_use]
    pub fn unwritten(&self) -> [Bytes; 2] {
        let Some(sending) = &self.current else { return Default::default() };
        let [head, body] = sending.unwritten.clone();
        if self.at_once {
            return [head, body];
        }
        if sending.base_left > 0 {
            let base = sending.base_left.saturating_sub(head.len()).min(body.len());
            return [head, body.slice(..base)];
        }
        if !self.waiting.is_video() || self.goes_on {
            return [head, body];
        }
        // Up to the end of a packet, so that a frame may end there.
        let packets = self.last / payload(self.mtu) / MIN_PARTS_PER_FRAME;
        let part = usize::try_from(packets.max(1) * payload(self.mtu)).unwrap_or(usize::MAX);
        let written: usize = sending.whole.iter().map(Bytes::len).sum::<usize>() - head.len() - body.len();
        let left = part - written % part;
        let body = body.slice(..left.saturating_sub(head.len()).min(body.len()));
        [head, body]
    }

    /// Of video: whether no more than the room decides how much is written next, since nothing that waits ends the frame before more is
    /// acknowledged.
    pub(super) fn goes_on(&self, path: &PathStats) -> bool {
        path.target_rate().time_for(2 * path.mtu) <= self.interval
    }

    /// Of video: whether a frame was just begun of which the path has room for all.
    pub(super) fn takes_whole(&self, now: Duration, path: &PathStats) -> bool {
        let begun = |sending: &&Sending| sending.kind == Kind::Frame && sending.open.is_some();
        let Some(begun) = self.current.as_ref().filter(begun) else { return false };
        let [head, body] = begun.unwritten.each_ref().map(|part| part.len() as u64);
        let pending = path.stream_bytes(path.in_flight) + path.unsent;
        let room = pending + head + body <= path.stream_bytes(path.window);
        room && self.waiting.is_empty() && self.goes_on(path) && !self.is_slow(path) && !self.keeps_busy(now, path)
    }

    /// Whether a packet takes a large part of a frame interval.
    fn is_slow(&self, path: &PathStats) -> bool {
        path.target_rate().time_for(SLOW_PACKETS * path.mtu) > self.interval
    }

    /// Of video: whether what was written keeps the path busy until the next frame is due. What came later of this one would be in
    /// the next one's way, and its end arrives sooner without.
    pub(super) fn keeps_busy(&self, now: Duration, path: &PathStats) -> bool {
        // Where a packet takes more than half of an interval it is one frame's, and what is unsent follows the queue if nothing more may be in
        // flight. Without a queue the path may carry more than is known; and packets that are not full would be faster than others,
        // which then seem to have waited.
        let is_most = !self.goes_on(path);
        // A queue was seen a round trip ago. What left since then is no longer in flight: there is no more of it than that has, and what
        // a queue is aimed to have. Else a long round trip would bring bursts, each of which stops the next.
        let queue = if is_most { path.queue() } else { path.queue().min(path.standing().saturating_add(QUEUE_TARGET)) };
        let full = path.in_flight + path.unsent + path.mtu > path.window && path.unsent >= payload(path.mtu);
        let follows = is_most && full && queue >= QUEUE_LEAST;
        let unsent = if follows { path.target_rate().time_for(path.unsent) } else { Duration::ZERO };
        now + queue.saturating_add(unsent).min(self.interval) >= self.now + self.interval
    }
}
