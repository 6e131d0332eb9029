//! How many bytes of a frame a receiver gets.
//!
//! A budget above what the path carries costs little: what is unsent when the next frame is due is dropped. One
//! below it wastes the path. So the rate climbs while frames arrive whole, in growing steps, and falls to what was
//! delivered as soon as one was cut or the queue grew.

use std::collections::VecDeque;
use std::time::Duration;

use crate::bitrate::Bitrate;
use crate::estimator::Path;
use crate::limits::{FIRST_BITRATE, LEAST_BITRATE, QUEUE_TARGET};

/// Of 1000 bytes on the path so many are a frame's: the others are headers and acknowledgements.
const PAYLOAD: u64 = 970;
/// The first step up after a fall, and the longest, in permille of the rate.
const FIRST_STEP: u64 = 1025;
const LONGEST_STEP: u64 = 1500;
/// Frames that the rate rests for after a fall: a quarter of a second at 30 a second, so that ten times the rate is
/// reached within a second all the same.
const REST: u32 = 8;
/// Frames over which deliveries are counted.
const MEMORY: usize = 8;
/// Packets that make a measurement: fewer would count a packet more or less as a change of rate.
const ENOUGH: u64 = 4;

/// One receiver's rate.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    interval: Duration,
    cap: Option<Bitrate>,
    rate: Bitrate,
    /// When a frame was due, and what had been delivered by then; oldest first.
    delivered: VecDeque<(Duration, u64)>,
    step: u64,
    rest: u32,
}

/// What became of the frame before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its budget was written in time.
    Written,
    /// It had fewer bytes than its budget.
    Short,
    /// The path did not take its budget in time.
    Cut,
}

impl Budget {
    pub(crate) fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        let rate = Bitrate::from_bits(FIRST_BITRATE);
        Self { interval, cap, rate, delivered: VecDeque::new(), step: LONGEST_STEP, rest: 0 }
    }

    /// The estimate that budgets come from.
    pub(crate) const fn rate(&self) -> Bitrate {
        self.rate
    }

    /// The bytes of the frame that is due now.
    pub(crate) fn next(&mut self, now: Duration, path: &Path, before: Outcome) -> u64 {
        let measured = self.measure(now, path);
        let congested = before == Outcome::Cut || path.standing_queue() > self.tolerable(path);
        if congested {
            self.rate = measured.unwrap_or(self.rate).min(self.rate);
            self.step = FIRST_STEP;
            self.rest = REST;
        } else if self.rest > 0 {
            self.rest -= 1;
        } else if before == Outcome::Written {
            self.rate = self.rate.scaled(self.step);
            self.step = (self.step + (self.step - 1000)).min(LONGEST_STEP);
        }
        let cap = self.cap.unwrap_or(Bitrate::from_bits(u64::MAX));
        self.rate = self.rate.max(Bitrate::from_bits(LEAST_BITRATE)).min(cap);
        let bytes = self.rate.scaled(PAYLOAD).bytes_in(self.interval);
        if !congested {
            return bytes;
        }
        // The queue drains at once, not over the frames to come.
        let excess = path.standing_queue().saturating_sub(self.packet(path));
        bytes.saturating_sub(self.rate.bytes_in(excess)).max(bytes / 4)
    }

    /// A queue that is no sign of too high a rate: twice what the window aims at, and a packet's own time.
    fn tolerable(&self, path: &Path) -> Duration {
        2 * QUEUE_TARGET + self.packet(path)
    }

    /// How long a packet takes at this rate.
    fn packet(&self, path: &Path) -> Duration {
        Duration::from_nanos(path.mtu * 8_000_000_000 / self.rate.bits().max(1))
    }

    /// What was delivered over the last two frames, or over as many as [`ENOUGH`] packets took.
    fn measure(&mut self, now: Duration, path: &Path) -> Option<Bitrate> {
        let measured = self.delivered.iter().rev().skip(1).find_map(|&(then, delivered)| {
            let bytes = path.delivered.saturating_sub(delivered);
            (bytes >= ENOUGH * path.mtu).then(|| Bitrate::of(bytes, now.saturating_sub(then))).flatten()
        });
        let measured = measured.or_else(|| {
            let &(then, delivered) = self.delivered.front()?;
            Bitrate::of(path.delivered.saturating_sub(delivered), now.saturating_sub(then))
        });
        self.delivered.push_back((now, path.delivered));
        if self.delivered.len() > MEMORY {
            self.delivered.pop_front();
        }
        measured
    }
}
