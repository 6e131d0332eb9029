//! The publisher: decides for one receiver which bytes of which frame go out next.
//!
//! `pictures.rs` or `video.rs` choose the next frame, `cut.rs` where a frame ends, `writer.rs` how it is written,
//! `room.rs` how much the transport holds, and `bandwidth_estimate.rs` estimates the receiver's bandwidth.

use std::time::Duration;

use bytes::Bytes;

use crate::path::stats::PathStats;
use crate::publish::bandwidth_estimate::CarriedRate;
use crate::publish::delivery_rate::DeliveryRate;
use crate::publish::pictures::Pictures;
use crate::publish::policy::Policy;
use crate::publish::room::{Room, room};
use crate::publish::sound::Sound;
use crate::publish::stats::SendStats;
use crate::publish::step::Step;
use crate::publish::video::Video;
use crate::publish::writer::Writer;
use crate::wire::frame::Frame;
use crate::wire::message::RandomAccessRequest;
use nestcast_units::Bitrate;

/// Cuts frames for one receiver.
#[derive(Debug)]
pub struct Publisher {
    writer: Writer,
    policy: Box<dyn Policy>,
    sound: Sound,
    cap: Option<Bitrate>,
    delivery_rate: DeliveryRate,
    bandwidth_estimate: CarriedRate,
}

impl Publisher {
    /// Makes a publisher for frames that are due every `interval`. Written bytes stay within `cap` over time, in bursts
    /// of at most three intervals' bytes. Base layers may exceed it; later frames make up for that.
    #[must_use]
    pub fn new(interval: Duration, cap: Option<Bitrate>) -> Self {
        Self {
            writer: Writer::new(interval, cap),
            policy: Box::new(Pictures::default()),
            sound: Sound::default(),
            cap,
            delivery_rate: DeliveryRate::default(),
            bandwidth_estimate: CarriedRate::new(interval),
        }
    }

    /// Switches to video, whose frames depend on earlier ones: every base layer is sent, in order, from a random-access
    /// frame ([`RandomAccessFrame`](crate::RandomAccessFrame)) on.
    #[must_use]
    pub fn of_video(mut self, interval: Duration) -> Self {
        self.policy = Box::new(Video::new(interval));
        self
    }

    /// Stops all parity, for a receiver that does not learn the numbers of its streams: parity names them.
    #[must_use]
    pub const fn without_parity(mut self) -> Self {
        self.writer.leave_parity_out();
        self
    }

    /// Returns whether the next frame needs a [`RandomAccessFrame`](crate::RandomAccessFrame) to be sent: at the
    /// beginning, and after too many owed bases were given up.
    #[must_use]
    pub fn needs_random_access(&self) -> bool {
        self.policy.needs_random_access()
    }

    /// Returns what this receiver was sent so far.
    #[must_use]
    pub const fn stats(&self) -> SendStats {
        SendStats { sound: self.sound.stats(), ..self.writer.stats() }
    }

    /// Returns the delivery rate of the path over the last eight frames, with all headers. The path could carry more if
    /// frames were larger. The delay controller's limit is [`PathStats::target_rate`].
    #[must_use]
    pub const fn delivery_rate(&self) -> Bitrate {
        self.delivery_rate.rate()
    }

    /// Returns the bandwidth estimate of the path: [`PathStats::target_rate`] as a rule, and during a round-trip probe
    /// that before it. If nothing was delivered for some frame intervals while packets are in flight, it is at most one
    /// packet in that time, or a quarter of the target if that is more. So a fallen rate shows before the first packet
    /// that met it is acknowledged, and a path after an outage recovers soon.
    #[must_use]
    pub fn bandwidth_estimate(&self, path: &PathStats) -> Bitrate {
        self.bandwidth_estimate.rate(path)
    }

    /// Returns whether the path's rate fell so far since the last frame that base layers in flight are sent again.
    /// Those that arrived need not be: see [`Publisher::handle_arrived`].
    #[must_use]
    pub const fn sends_again(&self, path: &PathStats) -> bool {
        self.writer.recent.has_fallen(path)
    }

    /// Notes that all written bytes of the frames up to this one have arrived.
    pub fn handle_arrived(&mut self, frame: u64) {
        self.writer.recent.handle_arrived(frame);
    }

    /// Returns the most bytes of the next frame that this receiver can use.
    #[must_use]
    pub fn useful_bytes(&self) -> u64 {
        self.writer.useful_bytes()
    }

    /// Returns whether a base layer is unwritten: it is more urgent than the next frame, which would wait for it.
    #[must_use]
    pub fn owes_base(&self) -> bool {
        self.writer.base_left() > 0
    }

    /// Returns the backlog: frames of video that were due but not begun, because the path has no room for their base
    /// layers yet. For pictures it is at most one.
    #[must_use]
    pub fn owed_frames(&self) -> u64 {
        self.policy.owed_frames()
    }

    /// Returns how many packets may exceed the window, for base layers only. After the path's rate fell, more is in
    /// flight than the window allows, and a frame's base layer is worth it. And if nothing was delivered for two frame
    /// intervals (longer than a packet takes on a slow link), one packet tests a path on which the whole window may be
    /// lost or far back in a queue.
    #[must_use]
    pub fn packets_beyond(&self, path: &PathStats) -> u64 {
        self.policy.packets_beyond(&self.writer, &self.bandwidth_estimate, path)
    }

    /// Returns how many bytes the transport should hold at most. In addition to the window there is room for the base
    /// layers of a few frames, even if the window fell below the bytes in flight.
    #[must_use]
    pub fn room(&self, path: &PathStats) -> Room {
        room(&self.writer, path, self.policy.slow_window(path))
    }

    /// Returns what [`Step::Write`] is to write: the base layer alone, then the rest; both at once if the path has room
    /// for both.
    #[must_use]
    pub fn unwritten(&self) -> [Bytes; 2] {
        self.writer.stream().map_or_else(Default::default, |stream| self.policy.unwritten(&self.writer, stream))
    }

    /// Processes a frame that is due, and drops the unwritten part of the frame before it, except its base layer. If
    /// the frame is the same picture as one already begun, nothing is dropped: the unwritten part follows.
    pub fn handle_frame(&mut self, now: Duration, frame: &Frame, path: &PathStats) {
        self.delivery_rate.handle_frame(now, path.delivered);
        self.bandwidth_estimate.handle_frame(now, path);
        self.writer.handle_frame(now, path);
        self.policy.handle_frame(&mut self.writer, frame, path);
    }

    /// Processes the stream of a packet of sound that is due, while `unsettled` streams of sound are not known to have
    /// arrived. Returns whether to send it: at once, before the bytes of all frames.
    pub fn handle_sound(&mut self, stream: &Bytes, unsettled: usize) -> bool {
        let is_sent = self.sound.handle_packet(stream, unsettled, self.cap);
        if is_sent {
            self.writer.handle_sound(stream.len());
        }
        is_sent
    }

    /// Notes that the receiver wants no sound from now on.
    pub const fn handle_sound_unwanted(&mut self) {
        self.sound.handle_unwanted();
    }

    /// Returns the part of `rate` that sound leaves to frames.
    #[must_use]
    pub fn beside_sound(&self, rate: Bitrate) -> Bitrate {
        self.sound.left_of(rate)
    }

    /// Answers a receiver that lacks a frame for good: the next frame is a random-access frame. It ignores the request
    /// if that frame was not due yet, a random-access frame followed it, or the receiver asked a short while ago.
    pub fn handle_random_access_request(&mut self, now: Duration, request: RandomAccessRequest) {
        self.policy.handle_random_access_request(&mut self.writer, now, request);
    }

    /// For video: notes that the next frame is not predicted from the earlier ones. The backlog is dropped, and the
    /// next frame must have a [random-access frame](crate::RandomAccessFrame).
    pub fn handle_other_rendition(&mut self) {
        self.policy.handle_other_rendition(&mut self.writer);
    }

    /// Notes that no more frames will be due: late bytes are no longer sent.
    pub fn handle_end(&mut self) {
        self.policy.handle_end(&mut self.writer);
    }

    /// Notes that the receiver could show nothing written so far, for example because it lacked its model. The next
    /// frame begins anew.
    pub fn handle_unseen(&mut self) {
        self.policy.handle_unseen(&mut self.writer);
    }

    /// Notes that `count` frames were due but were never made.
    pub fn handle_missed(&mut self, count: u64) {
        self.policy.handle_missed(&mut self.writer, count);
    }

    /// Notes the number of the stream opened last.
    pub const fn handle_opened(&mut self, stream: u64) {
        self.writer.handle_opened(stream);
    }

    /// Counts `count` bytes of [`Publisher::unwritten`] that the transport accepted.
    pub fn handle_written(&mut self, now: Duration, count: usize, path: &PathStats) {
        if let Some(body) = self.writer.handle_written(count) {
            self.policy.handle_written(&mut self.writer, now, body, path);
        }
    }

    /// Returns the next action; `None` until the next `handle_...`.
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
