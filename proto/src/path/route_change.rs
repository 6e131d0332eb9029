//! Detects that a path became longer for good, for instance by another route.
//!
//! Its round trips look as if a queue had formed. But a flow's own queue shrinks with the flow's bytes in flight, and
//! another flow's queue grows until it is cut. If round trips stay the same while the bytes in flight fall to a third,
//! and little is lost, the path itself is longer.

use std::time::Duration;

use crate::path::limits::MIN_WINDOW_PACKETS;

/// How long round trips must stay the same, and for how many rounds.
const STEADY_TIME: Duration = Duration::from_millis(300);
const STEADY_ROUNDS: u32 = 5;
/// The largest difference between round trips that count as the same.
const RTT_TOLERANCE: Duration = Duration::from_millis(3);
/// The part to which the bytes in flight must fall meanwhile, or to the least window. When two flows begin to share a
/// path, one falls to half.
const FALLS_TO: f64 = 1.0 / 3.0;
/// The most loss: with a full queue round trips stay the same too.
const MAX_LOSS: f64 = 0.05;

/// The measurements of one round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trip {
    /// The shortest round-trip time in it.
    pub(crate) time: Duration,
    /// Whether a queue seems to have formed.
    pub(crate) queue: bool,
    /// The most bytes in flight.
    pub(crate) flight: u64,
    /// Bytes delivered, and bytes lost.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// The estimated rate of the path, in bytes a second.
    pub(crate) rate: Option<f64>,
}

/// A run of round trips of one length.
#[derive(Debug, Clone, Copy)]
struct Level {
    since: Duration,
    /// Whether there was no queue before it.
    first: bool,
    rounds: u32,
    shortest: Duration,
    longest: Duration,
    delivered: u64,
    lost: u64,
    /// The last round trip before it.
    before: Trip,
}

/// The detector of another route.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RouteChange {
    level: Option<Level>,
    last: Trip,
}

impl RouteChange {
    /// Processes the end of a round trip; packets have `mtu` bytes. Returns the new path's shortest round trip and the
    /// earlier rate estimate, once a longer path is certain.
    pub(crate) fn handle_round(&mut self, now: Duration, trip: Trip, mtu: u64) -> Option<(Duration, Option<f64>)> {
        let last = std::mem::replace(&mut self.last, trip);
        if !trip.queue {
            self.level = None;
            return None;
        }
        let level = self.level.get_or_insert(Level::new(now, trip.time, last));
        let shortest = level.shortest.min(trip.time);
        let longest = level.longest.max(trip.time);
        if longest - shortest > RTT_TOLERANCE {
            // The first may have begun before the change; then the bytes in flight before it count.
            let before = if level.first { level.before } else { last };
            *level = Level { first: false, ..Level::new(now, trip.time, before) };
            return None;
        }
        *level = Level {
            rounds: level.rounds + 1,
            shortest,
            longest,
            delivered: level.delivered + trip.delivered,
            lost: level.lost + trip.lost,
            ..*level
        };
        let lasts = level.rounds >= STEADY_ROUNDS && now.saturating_sub(level.since) >= STEADY_TIME;
        if !lasts || !level.fell(trip.flight, MIN_WINDOW_PACKETS * mtu) || level.is_lossy() {
            return None;
        }
        let rate = level.before.rate;
        *self = Self::default();
        Some((shortest, rate))
    }
}

impl Level {
    const fn new(since: Duration, time: Duration, before: Trip) -> Self {
        Self { since, first: true, rounds: 0, shortest: time, longest: time, delivered: 0, lost: 0, before }
    }

    /// Returns whether `flight` is small compared with the bytes in flight before; no window is smaller than `least`.
    fn fell(&self, flight: u64, least: u64) -> bool {
        let before = self.before.flight;
        flight as f64 <= FALLS_TO * before as f64 || flight <= least && before >= 2 * least
    }

    fn is_lossy(&self) -> bool {
        self.lost as f64 > MAX_LOSS * (self.delivered + self.lost) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1200;

    /// Returns the detector's result after a second at 50 ms with 24 kB in flight, and then `trips`: milliseconds, kB
    /// in flight, kB lost.
    fn after(trips: impl IntoIterator<Item = (u64, u64, u64)>) -> Option<(Duration, Option<f64>)> {
        let mut change = RouteChange::default();
        let mut now = Duration::ZERO;
        let mut round = |time, flight: u64, lost: u64, queue| {
            let time = Duration::from_millis(time);
            now += time;
            let flight = flight * 1000;
            let lost = lost * 1000;
            let trip = Trip { time, queue, flight, delivered: flight, lost, rate: Some(flight as f64) };
            change.handle_round(now, trip, MTU)
        };
        assert!((0..20).all(|_| round(50, 24, 0, false).is_none()));
        trips.into_iter().find_map(|(time, flight, lost)| round(time, flight, lost, true))
    }

    #[test]
    fn round_trips_that_stay_the_same_while_less_is_in_flight_are_the_paths() {
        let falling = [24, 18, 14, 10, 8, 6, 5, 4];
        let found = after(falling.map(|flight| (80, flight, 0)));
        assert_eq!(found, Some((Duration::from_millis(80), Some(24_000.0))));
        assert_eq!(
            after([(65, 24, 0)].into_iter().chain(falling.map(|flight| (80, flight, 0)))),
            found,
            "half a round"
        );
    }

    #[test]
    fn a_queue_is_none() {
        let falling = [24, 18, 14, 10, 8, 6, 5, 4];
        assert_eq!(after(falling.map(|flight| (60 + flight, flight, 0))), None, "this flow's own");
        assert_eq!(after((0..20).map(|round| (60 + 4 * round, 4, 0))), None, "one that grows");
        assert_eq!(after(falling.map(|flight| (80, flight, 1))), None, "one that is full");
        assert_eq!(after([24, 20, 16, 14, 12, 12, 12, 12].map(|flight| (80, flight, 0))), None, "two flows share");
    }
}
