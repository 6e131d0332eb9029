//! A sender's side of one receiver: which bytes of which frame go out next.

use std::time::Duration;

use bytes::{Buf as _, Bytes};

use crate::bitrate::Bitrate;
use crate::budget::{Budget, Outcome};
use crate::estimator::Path;
use crate::frame::Frame;
use crate::stream::StreamHead;

/// The part of its window that the transport may hold beyond it, so that it never waits for the publisher; at least
/// a packet. A frame's cut is late by as much.
const AHEAD: u64 = 8;
/// What the transport holds at most of the bases of a path that stalls: no more than receivers that are gone may cost.
const ROOM_FOR_BASES: u64 = 128 * 1024;
/// A path of a window below so many packets may have no room when a frame is due.
const SLOW_PACKETS: u64 = 8;

/// What to do with the transport; see the crate's example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open a stream whose bytes go before those of all earlier ones.
    Open,
    /// Write [`Publisher::unwritten`] to it, as far as it takes them, and tell [`Publisher::handle_written`].
    Write,
    /// Finish it. What was not written is not part of it.
    Finish,
}

/// What a receiver was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Frames of which at least the base was written.
    pub frames: u64,
    /// Frames that were due while an earlier one's base was not written yet; nothing of these was sent.
    pub skipped: u64,
    /// Frames that the deadline cut before their budget was written.
    pub cut: u64,
    /// Bytes of frames that were written.
    pub bytes: u64,
    /// Bytes that those frames have in full.
    pub full: u64,
}

/// Cuts frames for one receiver.
#[derive(Debug)]
pub struct Publisher {
    budget: Budget,
    current: Option<Sending>,
    /// The newest frame, if it waits for the current one's base.
    waiting: Option<Frame>,
    outcome: Outcome,
    /// The budget that a waiting frame was given.
    bytes: u64,
    /// The path is behind or slow: bases go in alone, past what waits.
    tight: bool,
    tally: Tally,
}

#[derive(Debug)]
struct Sending {
    opened: bool,
    /// The stream's head and the frame's bytes within its budget, as far as they are not written.
    unwritten: [Bytes; 2],
    /// Bytes to write until the base is whole.
    base_left: usize,
    full: usize,
    written: usize,
    finish: bool,
}

impl Publisher {
    /// For frames that are due every `interval`, and at most `cap`.
    #[must_use]
    pub fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        let budget = Budget::new(interval, cap);
        Self {
            budget,
            current: None,
            waiting: None,
            outcome: Outcome::Short,
            bytes: 0,
            tight: false,
            tally: Tally::default(),
        }
    }

    /// What this receiver was given so far.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// The estimate of the path that budgets come from.
    #[must_use]
    pub const fn estimate(&self) -> Bitrate {
        self.budget.rate()
    }

    /// How many bytes the transport should hold at most, unacknowledged or unsent. There is always room for a base.
    #[must_use]
    pub fn window(&self, path: &Path) -> u64 {
        let base = self.current.as_ref().map_or(0, |sending| sending.base_left as u64);
        if base > 0 && self.tight {
            return ROOM_FOR_BASES;
        }
        path.window + path.mtu.max(path.window / AHEAD) + base
    }

    /// A frame is due: what of the one before is not written yet is dropped, but for its base.
    pub fn handle_frame(&mut self, now: Duration, frame: &Frame, path: &Path) {
        let outcome = match &self.current {
            Some(sending) if sending.finish => self.outcome,
            Some(_) => Outcome::Cut,
            None => self.outcome,
        };
        self.bytes = self.budget.next(now, path, outcome);
        self.tight = outcome == Outcome::Cut || path.window < SLOW_PACKETS * path.mtu;
        if self.waiting.replace(frame.clone()).is_some() {
            self.tally.skipped += 1;
        }
        self.turn();
    }

    /// The transport took `count` bytes of [`Publisher::unwritten`].
    pub fn handle_written(&mut self, count: usize) {
        let Some(sending) = &mut self.current else { return };
        let head = count.min(sending.unwritten[0].len());
        let body = (count - head).min(sending.unwritten[1].len());
        sending.unwritten[0].advance(head);
        sending.unwritten[1].advance(body);
        let based = sending.base_left > 0 && head + body >= sending.base_left;
        sending.base_left = sending.base_left.saturating_sub(head + body);
        sending.written += body;
        self.tally.bytes += body as u64;
        self.tally.frames += u64::from(based);
        if sending.unwritten.iter().all(Bytes::is_empty) {
            self.outcome = if sending.written == sending.full { Outcome::Short } else { Outcome::Written };
            sending.finish = true;
        }
        self.turn();
    }

    /// What to do now; nothing until the next `handle_...` if there is none.
    pub fn poll(&mut self) -> Option<Step> {
        let sending = self.current.as_mut()?;
        if !sending.opened {
            sending.opened = true;
            return Some(Step::Open);
        }
        if !sending.finish {
            return Some(Step::Write);
        }
        self.current = None;
        self.turn();
        Some(Step::Finish)
    }

    /// What [`Step::Write`] is to write.
    #[must_use]
    pub fn unwritten(&self) -> [Bytes; 2] {
        let Some(sending) = &self.current else { return Default::default() };
        let [head, body] = sending.unwritten.clone();
        if sending.base_left > 0 && self.tight {
            let base = sending.base_left.saturating_sub(head.len()).min(body.len());
            return [head, body.slice(..base)];
        }
        [head, body]
    }

    /// Lets the waiting frame in as soon as the current one's base is out.
    fn turn(&mut self) {
        if self.waiting.is_none() {
            return;
        }
        match &mut self.current {
            None => self.current = self.waiting.take().map(|frame| self.begin(&frame)),
            Some(sending) if sending.base_left == 0 && !sending.finish => {
                sending.finish = true;
                self.outcome = Outcome::Cut;
                self.tally.cut += 1;
            }
            Some(_) => {}
        }
    }

    fn begin(&mut self, frame: &Frame) -> Sending {
        let head = StreamHead::Frame(frame.header()).encode();
        let full = frame.bytes.len();
        let base = frame.base.min(full);
        let budget = usize::try_from(self.bytes).unwrap_or(usize::MAX).saturating_sub(head.len());
        let body = frame.bytes.slice(..budget.clamp(base, full));
        self.tally.full += full as u64;
        let base_left = head.len() + base;
        Sending { opened: false, unwritten: [head, body], base_left, full, written: 0, finish: false }
    }
}
