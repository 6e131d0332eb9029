//! The playout clock: maps the moment of a frame's capture to the moment at which it is presented.
//!
//! A frame is *ready* when it has arrived and is decoded. The time from its capture to then, its *transit*, is measured
//! with two clocks, so it is known up to a constant, which cancels out. A frame is presented at its capture time plus
//! an *offset*: the least for which fewer than one frame in a hundred is ready too late. Sound has such a clock too. If
//! it is heard, its offset counts for frames: see [`PlayoutClock::follow`].
//!
//! - The offset is a quantile of recent transits, as in the jitter buffers of Ramjee, Kurose, Towsley and Schulzrinne
//!   ("Adaptive playout mechanisms for packetized audio applications in wide-area networks", 1994), of Moon, Kurose and
//!   Towsley ("Packet audio playout delay adjustment", 1998), and of WebRTC's NetEQ, which keeps a histogram that it
//!   forgets. Here the last ten seconds are kept, so that the quantile is exact.
//! - If two of the last sixteen frames are late, the offset rises at once, as NetEQ's does for a burst. It falls
//!   slowly, so that no frame is shown noticeably shorter than it was captured.
//! - The least transit is that of the path without queues. Delays are limited relative to it, and it follows the drift
//!   of the two clocks, because it is the least of the same ten seconds (as in NTP's clock filter: Mills, RFC 5905,
//!   section 10).
//! - A frame that is later than any delay that the clock would add, as after an outage, teaches nothing until frames
//!   are in time again. If they never are, a clock was set or the route changed, and the clock begins anew.

mod latency;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

pub use self::latency::{Latency, LatencyError};

/// How long transits are remembered, at least and at most. At the beginning the clock remembers half of the time that
/// it has run, so that the first frames, which are the largest, do not count for long.
const MEMORY_LEAST: Duration = Duration::from_secs(1);
const MEMORY_MOST: Duration = Duration::from_secs(10);
/// The most transits that are remembered.
const MEMORY_FRAMES: usize = 600;
/// One frame in this number may be late.
const FRAMES_PER_LATE_FRAME: usize = 100;
/// Two late frames among this number raise the offset at once.
const BURST_FRAMES: usize = 16;
/// The time in which the offset falls by about two thirds of what it is too long.
const FALL_TIME: Duration = Duration::from_secs(2);
/// The longest delay that the clock adds to the least transit.
const MAX_ADDED: Duration = Duration::from_millis(400);
/// How long frames may be later than that before the clock begins anew.
const OUTAGE_TIME: Duration = Duration::from_secs(2);
/// Frames that are later than presented by at most this are in time: no eye sees it, and timers are no better.
const LATE_TOLERANCE: Duration = Duration::from_millis(1);

/// Maps capture times to presentation times. Times are [`Duration`]s since an origin that the caller chooses, and never
/// go back; capture times are microseconds of the sender's clock.
#[derive(Debug, Clone, Default)]
pub struct PlayoutClock {
    latency: Latency,
    interval: Duration,
    /// When the first frame was ready.
    began: Option<Duration>,
    /// When the last frame was ready.
    last: Duration,
    /// Recent frames: when each was ready, and its transit in microseconds.
    transits: VecDeque<(Duration, i64)>,
    /// What is added to capture times, in microseconds: what frames need.
    offset: i64,
    /// What is added in place of it, because sound is heard with this delay.
    master: Option<i64>,
    /// Since when all frames are too late to learn from.
    outage: Option<Duration>,
}

/// When to present a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Presentation {
    /// The moment: the frame is ready then.
    pub at: Duration,
    /// Whether the frame was ready only after the moment at which it was to be presented.
    pub is_late: bool,
}

impl PlayoutClock {
    /// Makes a clock for frames that come every `interval`.
    #[must_use]
    pub fn new(latency: Latency, interval: Duration) -> Self {
        Self { latency, interval, ..Self::default() }
    }

    /// Takes a frame that was captured at `captured` microseconds and is ready `now`, and returns when to present it.
    pub fn handle_ready(&mut self, now: Duration, captured: u64) -> Presentation {
        let transit = micros(now).saturating_sub(of_capture(captured));
        if self.began.is_none() || self.is_too_early(transit) || self.is_too_late(now, transit) {
            self.begin(now, transit);
            return Presentation { at: now, is_late: false };
        }
        let is_late = transit > self.presented_micros().saturating_add(self.tolerance());
        if self.outage.is_none() {
            self.learn(now, transit);
        }
        self.last = now;
        let at = if is_late { now } else { self.presentation(captured).unwrap_or(now).max(now) };
        Presentation { at, is_late }
    }

    /// Returns when something captured at `captured` microseconds is presented; `None` before the first frame is ready.
    #[must_use]
    pub fn presentation(&self, captured: u64) -> Option<Duration> {
        self.began?;
        let micros = of_capture(captured).saturating_add(self.presented_micros());
        Some(Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
    }

    /// Presents frames `offset` microseconds after their capture from now on, because sound is heard then; `None`
    /// returns to the offset that frames need.
    pub const fn follow(&mut self, offset: Option<i64>) {
        self.master = offset;
    }

    /// Returns the offset that frames need, in microseconds; `None` before the first frame is ready.
    #[must_use]
    pub fn learned_micros(&self) -> Option<i64> {
        self.began.map(|_| self.offset)
    }

    /// Returns the offset by which frames are presented, in microseconds.
    fn presented_micros(&self) -> i64 {
        self.master.unwrap_or(self.offset)
    }

    /// Returns whether something captured at `captured` microseconds is due `now`.
    pub(crate) fn is_due(&self, now: Duration, captured: u64) -> bool {
        (self.latency == Latency::Min && self.master.is_none())
            || self.presentation(captured).is_none_or(|at| at <= now)
    }

    /// Returns how long after its presentation time a frame is still waited for.
    #[must_use]
    pub fn grace(&self) -> Duration {
        match self.latency {
            Latency::Min => self.interval / 2,
            Latency::Smooth | Latency::Fixed(_) => self.interval / 4,
        }
    }

    /// Returns the delay of frames relative to the least transit.
    #[must_use]
    pub fn delay(&self) -> Duration {
        let added = self.presented_micros().saturating_sub(self.shortest());
        Duration::from_micros(u64::try_from(added).unwrap_or_default())
    }

    /// Begins with a frame of this transit.
    fn begin(&mut self, now: Duration, transit: i64) {
        (self.began, self.last, self.outage, self.offset) = (Some(now), now, None, transit);
        self.transits.clear();
        self.transits.push_back((now, transit));
        if let Latency::Fixed(delay) = self.latency {
            self.offset = transit.saturating_add(micros(delay));
        }
    }

    /// Returns whether a frame is so early that it would wait for longer than any frame should: the sender's clock was
    /// set, or says nothing.
    fn is_too_early(&self, transit: i64) -> bool {
        self.latency != Latency::Min && transit < self.shortest().saturating_sub(micros(MAX_ADDED))
    }

    /// Notes whether frames are too late to learn from. Returns whether they have been for so long that the clock must
    /// begin anew.
    fn is_too_late(&mut self, now: Duration, transit: i64) -> bool {
        if self.latency == Latency::Min {
            return false;
        }
        let most = self.shortest().saturating_add(micros(MAX_ADDED));
        let limit = if self.outage.is_some() { most.min(self.offset) } else { most };
        if transit <= limit {
            self.outage = None;
            return false;
        }
        let since = *self.outage.get_or_insert(now);
        now.saturating_sub(since) >= OUTAGE_TIME
    }

    /// Returns by how many microseconds a frame may be late without counting as late.
    fn tolerance(&self) -> i64 {
        micros(if self.latency == Latency::Min { self.grace() } else { LATE_TOLERANCE })
    }

    /// Moves the offset for a frame with this transit.
    fn learn(&mut self, now: Duration, transit: i64) {
        self.remember(now, transit);
        let target = match self.latency {
            Latency::Min => {
                self.offset = transit;
                return;
            }
            Latency::Smooth => self.least_offset(),
            Latency::Fixed(delay) => self.shortest().saturating_add(micros(delay)),
        };
        let passed = now.saturating_sub(self.last).min(FALL_TIME).as_secs_f64() / FALL_TIME.as_secs_f64();
        let above = self.offset.saturating_sub(target);
        self.offset = target.saturating_add(above.max(0).saturating_sub(part(above.max(0), passed)));
    }

    fn remember(&mut self, now: Duration, transit: i64) {
        self.transits.push_back((now, transit));
        let runs = self.began.map_or(Duration::ZERO, |began| now.saturating_sub(began));
        let memory = (runs / 2).clamp(MEMORY_LEAST, MEMORY_MOST);
        let is_old = |(at, _): &(Duration, i64)| now.saturating_sub(*at) > memory;
        while self.transits.len() > MEMORY_FRAMES || self.transits.front().is_some_and(is_old) {
            self.transits.pop_front();
        }
    }

    /// Returns the least offset with which few enough recent frames would have been late, in microseconds.
    fn least_offset(&self) -> i64 {
        let late = ((self.transits.len() + 1) / FRAMES_PER_LATE_FRAME).saturating_sub(1);
        let mut longest = BinaryHeap::with_capacity(late + 2);
        for (_, transit) in &self.transits {
            longest.push(Reverse(*transit));
            if longest.len() > late + 1 {
                longest.pop();
            }
        }
        let quantile = longest.peek().map_or(i64::MIN, |Reverse(transit)| *transit);
        let (mut most, mut second) = (i64::MIN, i64::MIN);
        for &(_, transit) in self.transits.iter().rev().take(BURST_FRAMES) {
            second = second.max(transit.min(most));
            most = most.max(transit);
        }
        quantile.max(second)
    }

    /// Returns the least of the recent transits, in microseconds.
    fn shortest(&self) -> i64 {
        self.transits.iter().map(|(_, transit)| *transit).min().unwrap_or(self.offset)
    }
}

/// Returns a capture time as a number with a sign.
fn of_capture(captured: u64) -> i64 {
    i64::try_from(captured).unwrap_or(i64::MAX)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Returns the share `part`, 0 to 1, of a number of microseconds.
#[expect(clippy::cast_possible_truncation, reason = "it is no longer than the whole")]
fn part(micros: i64, part: f64) -> i64 {
    (micros as f64 * part).round() as i64
}

#[cfg(test)]
mod tests;
