//! What a sender asks for one receiver: which bytes of which frame go out next.
//!
//! What decides what: which frame is begun next, `pictures.rs` or `video.rs`; where a frame ends, `cut.rs`; how it is written,
//! `writer.rs`; how much the transport has at once, `room.rs`; the receiver's bandwidth, `carried_rate.rs`.

use std::time::Duration;

use bytes::Bytes;

use crate::bitrate::Bitrate;
use crate::path::stats::PathStats;
use crate::publish::carried_rate::CarriedRate;
use crate::publish::delivery_rate::DeliveryRate;
use crate::publish::pictures::Pictures;
use crate::publish::policy::Policy;
use crate::publish::room::{Room, room};
use crate::publish::stats::SendStats;
use crate::publish::step::Step;
use crate::publish::video::Video;
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::message::JoinRequest;

/// Cuts frames for one receiver.
#[derive(Debug)]
pub struct Publisher {
    writer: Writer,
    policy: Box<dyn Policy>,
    delivery_rate: DeliveryRate,
    carried_rate: CarriedRate,
}

impl Publisher {
    /// For frames that are due every `interval`. What is written keeps within `cap` over time, in bursts of three intervals' bytes at most, but
    /// for bases, which later frames make up for.
    #[must_use]
    pub fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        Self {
            writer: Writer::new(interval, cap),
            policy: Box::new(Pictures::default()),
            delivery_rate: DeliveryRate::default(),
            carried_rate: CarriedRate::new(interval),
        }
    }

    /// For video, whose frames need those before: every frame's base is sent, in order, from a [`Join`](crate::Join) on.
    #[must_use]
    pub fn of_video(mut self, interval: Duration) -> Self {
        self.policy = Box::new(Video::new(interval));
        self
    }

    /// For a receiver that does not learn the numbers of its streams: none has parity, which names them.
    #[must_use]
    pub const fn without_parity(mut self) -> Self {
        self.writer.leave_parity_out();
        self
    }

    /// Whether the next frame must have a [`Join`](crate::Join), or is not sent: at the beginning, and after too many owed bases
    /// were given up.
    #[must_use]
    pub fn needs_join(&self) -> bool {
        self.policy.needs_join()
    }

    /// What this receiver was given so far.
    #[must_use]
    pub const fn stats(&self) -> SendStats {
        self.writer.stats()
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
        self.carried_rate.rate(path)
    }

    /// Whether the path's rate fell so far since the last frame that bases on the way will go again: those that arrived need
    /// not, see [`Publisher::handle_arrived`].
    #[must_use]
    pub const fn sends_again(&self, path: &PathStats) -> bool {
        self.writer.recent.has_fallen(path)
    }

    /// All bytes that were written of the frames up to this one have arrived.
    pub fn handle_arrived(&mut self, frame: u64) {
        self.writer.recent.handle_arrived(frame);
    }

    /// The most bytes of the next frame that this receiver may have use for.
    #[must_use]
    pub fn useful_bytes(&self) -> u64 {
        self.writer.useful_bytes()
    }

    /// Whether a base is not written yet: that is more urgent than the next frame, which would wait for it.
    #[must_use]
    pub fn owes_base(&self) -> bool {
        self.writer.base_left() > 0
    }

    /// Frames of video that were due and are not begun, since the path takes their bases no sooner; of pictures one at most.
    #[must_use]
    pub fn owed_frames(&self) -> u64 {
        self.policy.owed_frames()
    }

    /// Packets that may go beyond the window, for bases alone. Where more is in flight than may be, since the path's rate fell,
    /// the bases of a frame are worth that; and where nothing was delivered for two frame intervals, longer than a packet
    /// takes on a slow link, one packet is news of a path where all of the window may be lost or far back in a queue.
    #[must_use]
    pub fn packets_beyond(&self, path: &PathStats) -> u64 {
        self.policy.packets_beyond(&self.writer, &self.carried_rate, path)
    }

    /// How many bytes the transport should have at most. There is room for the bases of a few frames besides what may be in flight,
    /// also where more is in flight than may be since the window fell.
    #[must_use]
    pub fn room(&self, path: &PathStats) -> Room {
        room(&self.writer, path, self.policy.slow_window(path))
    }

    /// What [`Step::Write`] is to write: the base alone, then the rest; both where the path has room for both.
    #[must_use]
    pub fn unwritten(&self) -> [Bytes; 2] {
        self.writer.stream().map_or_else(Default::default, |stream| self.policy.unwritten(&self.writer, stream))
    }

    /// A frame is due: what of the one before is not written yet is dropped, but for its base. If it is the same picture, of
    /// which a frame was begun, nothing is: what was not written of it follows.
    pub fn handle_frame(&mut self, now: Duration, frame: &Frame, path: &PathStats) {
        self.delivery_rate.handle_frame(now, path.delivered);
        self.carried_rate.handle_frame(path.delivered);
        self.writer.handle_frame(now, path);
        self.policy.handle_frame(&mut self.writer, frame, path);
    }

    /// The receiver lacks a frame for good. The next is a join then, unless that frame was not due yet, a join came after it, or
    /// the receiver asked a short while ago.
    pub fn handle_join_request(&mut self, now: Duration, request: JoinRequest) {
        self.policy.handle_join_request(&mut self.writer, now, request);
    }

    /// Of video: the next frame is not predicted from those before, which wait for nothing then; it must have a
    /// [`Join`](crate::Join).
    pub fn handle_other_loop(&mut self) {
        self.policy.handle_other_loop(&mut self.writer);
    }

    /// No frame comes any more: late bytes are no longer sent.
    pub fn handle_end(&mut self) {
        self.policy.handle_end(&mut self.writer);
    }

    /// The receiver could show nothing of what was written so far, as while it lacked its model: what it is given next begins
    /// anew.
    pub fn handle_unseen(&mut self) {
        self.policy.handle_unseen(&mut self.writer);
    }

    /// `count` frames were due and never handed over.
    pub fn handle_missed(&mut self, count: u64) {
        self.policy.handle_missed(&mut self.writer, count);
    }

    /// The stream that was opened last has this number.
    pub const fn handle_opened(&mut self, stream: u64) {
        self.writer.handle_opened(stream);
    }

    /// The transport took `count` bytes of [`Publisher::unwritten`].
    pub fn handle_written(&mut self, now: Duration, count: usize, path: &PathStats) {
        if let Some(body) = self.writer.handle_written(count) {
            self.policy.handle_written(&mut self.writer, now, body, path);
        }
    }

    /// What to do now; nothing until the next `handle_...` if there is none.
    pub fn poll(&mut self) -> Option<Step> {
        let step = self.writer.poll()?;
        if step == Step::Finish {
            self.policy.handle_finished(&mut self.writer);
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests;
