//! A sender's side of one receiver: which bytes of which frame go out next.

mod begin;
mod sending;
mod writing;

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::bitrate::Bitrate;
use crate::path::stats::{PathStats, repaired_in_time};
use crate::publish::cap::Cap;
use crate::publish::delivery_rate::DeliveryRate;
use crate::publish::lossy::LossyIntervals;
use crate::publish::recent::Recent;
use crate::publish::still::Still;
use crate::publish::waiting::Waiting;
use crate::wire::frame::Frame;
use crate::wire::limits::MAX_HEAD_BYTES;
use crate::wire::limits::MIN_JOIN_INTERVAL;
use crate::wire::message::JoinRequest;

use self::sending::{Kind, Sending};

/// While nothing is acknowledged a path is thought to carry at least its rate before then, divided by this. Bases of video take
/// 0.4 of that: ten frames' bases are what the path carried in one frame interval. So an outage is soon caught up with if the
/// rate comes again as it was, and a tenth of it still carries them.
const STALL_DIVISOR: u64 = 4;
/// A receiver that took so many times a frame's bytes is not thought able to take more of the next.
const USEFUL_GROWTH: u64 = 2;

/// What to do with the transport; see the crate's example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Open a stream; its bytes go after those of all earlier ones. Tell [`Publisher::handle_opened`] its number.
    Open {
        /// The frame that it carries, or belongs to.
        frame: u64,
    },
    /// Write [`Publisher::unwritten`] to it, as far as it takes them, and tell [`Publisher::handle_written`].
    Write,
    /// Finish it. What was not written is not part of it.
    Finish,
    /// Reset all streams that were opened so far for frames from `first` on: most of what is on the way is lost, and none of
    /// it is worth sending again. Then open one for the bases of these frames, whose bytes go before all others'.
    Again {
        /// The oldest of the frames; this stream counts as one of it.
        first: u64,
    },
}

/// How many bytes of streams a transport should have at most: then no more is to be written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that it holds: unsent, in flight, or acknowledged behind one that is not.
    pub held: u64,
    /// Bytes that are unsent or in flight; none for a slow path that loses nothing, where `held` decides.
    pub pending: Option<u64>,
}

/// What a receiver was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendStats {
    /// Frames of which at least the base was written.
    pub frames: u64,
    /// Frames that were due while an earlier one's base was not written yet, or missed; nothing of these was sent. Of video:
    /// those that were given up because too many bases were owed.
    pub skipped: u64,
    /// Frames that the deadline cut.
    pub cut: u64,
    /// Bytes of frames that were written.
    pub bytes: u64,
    /// Bytes that those frames have in full.
    pub full: u64,
    /// How often the bases of frames on the way were sent again.
    pub again: u64,
}

/// Cuts frames for one receiver.
#[derive(Debug)]
pub struct Publisher {
    cap: Cap,
    delivery_rate: DeliveryRate,
    current: Option<Sending>,
    /// What waits for the current one's base.
    waiting: Waiting,
    /// The picture that is sent, or was last: while it stays more of it is.
    still: Still,
    /// When a frame was begun, or late bytes.
    began: Duration,
    /// When the last frame was due.
    now: Duration,
    /// Bytes of the last frame that was written.
    last: u64,
    /// Bytes that had been delivered when the last frame was due, and for how many frames none were.
    delivered: u64,
    stalled: u32,
    /// From one frame to the next.
    interval: Duration,
    /// When the receiver last asked for a join and got one.
    asked: Option<Duration>,
    recent: Recent,
    /// How often packets are lost, and how long they are.
    lossy: LossyIntervals,
    mtu: u64,
    /// Whether what is lost comes again before its frame is shown.
    repairs_in_time: bool,
    /// Of video: whether the next bytes are written as far as there is room, and not in parts.
    goes_on: bool,
    /// Of video: whether the frame that was begun last is written in one, since nothing waits and the path has room for all of it.
    at_once: bool,
    /// How many times a frame's bytes are sent beside it because more is tried.
    tried: f64,
    stats: SendStats,
    /// Where heads are written: its memory is used again once the transport has let go of those before.
    heads: BytesMut,
}

impl Publisher {
    /// For frames that are due every `interval`. What is written keeps within `cap` over time, in bursts of three intervals' bytes at most, but
    /// for bases, which later frames make up for.
    #[must_use]
    pub fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        let (cap, recent, stats) = (Cap::new(interval, cap), Recent::new(interval), SendStats::default());
        Self {
            cap,
            delivery_rate: DeliveryRate::default(),
            current: None,
            waiting: Waiting::pictures(),
            still: Still::default(),
            began: Duration::ZERO,
            now: Duration::ZERO,
            last: 0,
            delivered: 0,
            stalled: 0,
            interval,
            asked: None,
            recent,
            lossy: LossyIntervals::default(),
            mtu: PathStats::default().mtu,
            repairs_in_time: true,
            goes_on: false,
            at_once: false,
            tried: 0.0,
            stats,
            heads: BytesMut::new(),
        }
    }

    /// For video, whose frames need those before: every frame's base is sent, in order, from a [`Join`](crate::Join) on.
    #[must_use]
    pub fn of_video(mut self, interval: Duration) -> Self {
        self.waiting = Waiting::video(interval);
        self
    }

    /// Whether the next frame must have a [`Join`](crate::Join), or is not sent: at the beginning, and where so many bases
    /// were owed that they were given up.
    #[must_use]
    pub fn needs_join(&self) -> bool {
        self.waiting.needs_join()
    }

    /// What this receiver was given so far.
    #[must_use]
    pub const fn stats(&self) -> SendStats {
        self.stats
    }

    /// What the path delivered over the last eight frames, all headers counted; it could do more if frames had more bytes.
    /// What the controller lets through is [`PathStats::target_rate`].
    #[must_use]
    pub const fn delivery_rate(&self) -> Bitrate {
        self.delivery_rate.rate()
    }

    /// What the path is thought to carry: [`PathStats::target_rate`], but where nothing was delivered for some frame intervals
    /// though packets are on the way, no more than one packet in that time, or a quarter of the target if that is more. A
    /// rate that fell shows so before the first packet is acknowledged that met it; a path that is out comes again soon.
    #[must_use]
    pub fn carried_rate(&self, path: &PathStats) -> Bitrate {
        let target = path.target_rate();
        let packet = Bitrate::of(path.mtu, self.interval * self.stalled).filter(|_| path.in_flight >= path.mtu);
        packet.map_or(target, |packet| packet.max(Bitrate::from_bits(target.bits() / STALL_DIVISOR)).min(target))
    }

    /// Whether the path's rate fell so far since the last frame that bases on the way will go again: those that arrived need
    /// not, see [`Publisher::handle_arrived`].
    #[must_use]
    pub const fn sends_again(&self, path: &PathStats) -> bool {
        self.recent.has_fallen(path)
    }

    /// All bytes that were written of the frames up to this one have arrived.
    pub fn handle_arrived(&mut self, frame: u64) {
        self.recent.handle_arrived(frame);
    }

    /// The most bytes of the next frame that this receiver may have use for.
    #[must_use]
    pub fn useful_bytes(&self) -> u64 {
        let (written, unwritten) = self.current.as_ref().map_or((0, 0), |sending| {
            (sending.written as u64, sending.unwritten.iter().map(Bytes::len).sum::<usize>() as u64)
        });
        written.max(self.last).saturating_mul(USEFUL_GROWTH).min(self.cap.useful_bytes(unwritten))
    }

    /// Whether a base is not written yet: that is more urgent than the next frame, which would wait for it.
    #[must_use]
    pub fn owes_base(&self) -> bool {
        self.current.as_ref().is_some_and(|sending| sending.base_left > 0)
    }

    /// Frames of video that were due and are not begun, since the path takes their bases no sooner; of pictures one at most.
    #[must_use]
    pub fn owed_frames(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Packets that may go beyond the window, for bases alone. Where more is in flight than may be, since the path's rate fell,
    /// the bases of a frame are worth that; and where nothing was delivered for two frame intervals, longer than a packet
    /// takes on a slow link, one packet is news of a path where all of the window may be lost or far back in a queue.
    #[must_use]
    pub fn packets_beyond(&self, path: &PathStats) -> u64 {
        let base = self.current.as_ref().map_or(0, |sending| sending.base_left as u64);
        let packets = |bytes: u64| bytes.div_ceil(path.mtu * 9 / 10);
        if self.waiting.is_video() {
            // Bases of video are long: all at once they would be lost again before a path that became slow. The first window of
            // them shows what is lost of all before, and then they go as they arrive.
            let goes_again = |sending: &Sending| sending.kind == Kind::Again && sending.open.is_some();
            let goes_again = self.current.as_ref().is_some_and(goes_again);
            let news = u64::from(self.stalled >= 2 && self.interval * self.stalled >= path.rtt);
            return if goes_again { packets(base.min(path.window)).max(news) } else { news };
        }
        if self.current.as_ref().is_some_and(|sending| matches!(sending.kind, Kind::Late | Kind::Parity)) {
            return 0;
        }
        if path.in_flight + base.min(path.mtu) > path.window || self.stalled >= 2 {
            packets(base).max(u64::from(self.stalled >= 2))
        } else {
            0
        }
    }

    /// A frame is due: what of the one before is not written yet is dropped, but for its base. If it is the same picture, of
    /// which a frame was begun, nothing is: what was not written of it follows.
    pub fn handle_frame(&mut self, now: Duration, frame: &Frame, path: &PathStats) {
        self.delivery_rate.handle_frame(now, path.delivered);
        let still = std::mem::replace(&mut self.delivered, path.delivered) == path.delivered;
        self.stalled = if still { self.stalled + 1 } else { 0 };
        self.now = now;
        (self.mtu, self.repairs_in_time) = (path.mtu, repaired_in_time(path.rtt, self.interval).is_some());
        self.lossy.handle_frame(path.lost);
        self.cap.handle_frame(now, path.policed);
        self.tried = path.policed.map_or(0.0, |policed| {
            path.tried.bits() as f64 / policed.bits().saturating_sub(path.tried.bits()).max(1) as f64
        });
        if self.waiting.is_video() {
            // Of what is not begun yet nothing is lost.
            let unfinished = self.current.as_ref().map(|sending| sending.first);
            if let Some((first, bases)) = self.recent.owed_again(path, unfinished) {
                self.again(first, bases);
            }
        } else {
            if let Some(bases) = self.recent.handle_path(now, path) {
                self.still.handle_reset();
                self.again(0, bases);
            }
            let most = self.cap.bytes().saturating_sub(MAX_HEAD_BYTES as u64);
            if self.waiting.is_empty() && self.still.repeats(frame, usize::try_from(most).unwrap_or(usize::MAX)) {
                return self.go_on();
            }
            self.still.end();
            // What was not sent because the picture stayed is not waited for.
            if let Some(frame) = frame.for_receiver(self.still.repeated(), false) {
                self.recent.handle_frame(now, &frame);
                self.stats.skipped += self.waiting.put(&frame);
            }
            return self.admit_waiting();
        }
        self.stats.skipped += self.waiting.put(frame);
        self.admit_waiting();
        self.at_once = self.takes_whole(now, path);
    }

    /// The receiver lacks a frame for good. The next is a join then, unless that frame was not due yet, a join came behind it, or
    /// the receiver asked a short while ago.
    pub fn handle_join_request(&mut self, now: Duration, request: JoinRequest) {
        let soon = self.asked.is_some_and(|asked| now.saturating_sub(asked) < MIN_JOIN_INTERVAL);
        if soon || !self.waiting.may_lack(request.lost) {
            return;
        }
        self.asked = Some(now);
        self.stats.skipped += self.waiting.give_up();
    }

    /// Of video: the next frame is not predicted from those before, which wait for nothing then; it must have a
    /// [`Join`](crate::Join).
    pub fn handle_other_loop(&mut self) {
        self.stats.skipped += self.waiting.give_up();
    }

    /// No frame comes any more: late bytes are no longer sent.
    pub fn handle_end(&mut self) {
        self.still.end();
        if let Some(sending) = self.current.as_mut().filter(|sending| sending.kind == Kind::Late) {
            sending.unwritten[1] = Bytes::new();
            sending.cut();
        }
    }

    /// So many frames were due and never handed over.
    pub fn handle_missed(&mut self, count: u64) {
        self.stats.skipped += count + self.waiting.miss(count);
    }

    /// The stream that was opened last has this number.
    pub const fn handle_opened(&mut self, stream: u64) {
        if let Some(sending) = &mut self.current {
            sending.stream = Some(stream);
        }
    }

    /// The transport took `count` bytes of [`Publisher::unwritten`].
    pub fn handle_written(&mut self, now: Duration, count: usize, path: &PathStats) {
        let Some(sending) = &mut self.current else { return };
        let head = count.min(sending.unwritten[0].len());
        let body = (count - head).min(sending.unwritten[1].len());
        sending.unwritten[0].advance(head);
        sending.unwritten[1].advance(body);
        let ends_base = sending.base_left > 0 && head + body >= sending.base_left;
        sending.base_left = sending.base_left.saturating_sub(head + body);
        sending.written += body;
        self.cap.handle_written(head + body);
        self.stats.bytes += body as u64;
        self.stats.frames += u64::from(ends_base && sending.kind == Kind::Frame);
        self.still.handle_written(body);
        self.at_once = false;
        let whole = sending.unwritten.iter().all(Bytes::is_empty);
        let based = sending.base_left == 0;
        let enough = based && self.waiting.is_video() && self.keeps_busy(now, path);
        self.goes_on = !enough && self.goes_on(path);
        let Some(sending) = &mut self.current else { return };
        if whole {
            sending.finish = true;
        } else if enough && !sending.finish {
            sending.finish = true;
            self.stats.cut += 1;
        }
        self.admit_waiting();
    }

    /// What to do now; nothing until the next `handle_...` if there is none.
    pub fn poll(&mut self) -> Option<Step> {
        let sending = self.current.as_mut()?;
        if let Some(step) = sending.open.take() {
            return Some(step);
        }
        if !sending.finish {
            return Some(Step::Write);
        }
        match sending.kind {
            Kind::Frame => self.last = sending.written as u64,
            Kind::Late => self.last = self.last.max(sending.written as u64),
            Kind::Again | Kind::Parity => {}
        }
        self.current = self.current.take().and_then(|sent| self.protect(&sent));
        self.admit_waiting();
        self.begin_late();
        Some(Step::Finish)
    }

    /// Lets the waiting frame in as soon as the current one's base is out.
    fn admit_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        match &mut self.current {
            None => self.current = self.waiting.take().map(|frame| self.begin(&frame)),
            Some(sending) => self.stats.cut += u64::from(sending.cut()),
        }
    }

    /// The picture that is sent stays: its frame ends as any does, and what is left of it follows.
    fn go_on(&mut self) {
        match &mut self.current {
            None => self.begin_late(),
            Some(sending) if sending.kind == Kind::Late => {
                // What it took of late bytes in an interval tells what it may take of a frame.
                self.last = self.last.max(std::mem::take(&mut sending.written) as u64);
            }
            Some(sending) => self.stats.cut += u64::from(sending.cut()),
        }
    }
}

#[cfg(test)]
mod tests;
