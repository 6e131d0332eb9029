//! Decodes frames as they arrive, and decides what to show when.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{FrameResiduals, Picture};
use nestcast_proto::{More, ReceivedFrame, SoundPacket, Welcome};

use crate::announcement::Announcement;
use crate::clock::{Latency, PlayoutClock, Presentation};
use crate::concealment::Concealment;
use crate::corrupt::{CorruptFrame, CorruptFrames, FrameFault};
use crate::deadline::Deadline;
use crate::decoding::Decoding;
use crate::error::PlayError;
use crate::frames::{Decoded, Timing, Waiting};
use crate::present::Present;
use crate::sound::{SoundBlock, SoundMode, SoundPlayout, SoundStats};
use crate::stats::PlayStats;

/// Plays one broadcast, over any number of connections; see the [crate's documentation](crate).
#[derive(Debug, Default)]
pub struct Playout {
    announced: Option<Announcement>,
    decoding: Option<Decoding>,
    /// A still picture that is not decoded yet, because a newer one may replace it.
    waiting: Option<ReceivedFrame>,
    /// A frame that lacks its residuals, with its bytes: nothing can be drawn from the decoder until it has them.
    incomplete: Option<(Decoded, Bytes)>,
    /// The last decoded frame, while it is not shown or more of it may arrive.
    last: Option<Decoded>,
    /// Pictures of frames before it.
    queue: Waiting,
    /// The last picture shown.
    picture: Option<Picture>,
    /// When a new frame was last shown.
    shown_at: Duration,
    latency: Latency,
    clock: PlayoutClock,
    /// Whether the latency of the last picture shown is yet to be counted.
    is_unmeasured: bool,
    /// The latency of the frame shown before.
    before: Option<Duration>,
    concealment: Concealment,
    deadline: Deadline,
    corrupt: CorruptFrames,
    /// The newest frame of this connection's video that could not be decoded, until it is reported.
    undecoded: Option<u64>,
    sound: Option<SoundPlayout>,
    stats: PlayStats,
}

/// Input.
impl Playout {
    /// Creates a player without a sender.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long frames are delayed so that they are shown evenly, from the next welcome on; [`Latency::Smooth`] by
    /// default.
    pub const fn set_latency(&mut self, latency: Latency) {
        self.latency = latency;
    }

    /// Plays sound from now on, until the next welcome; `None` plays none.
    pub fn set_sound(&mut self, mode: Option<SoundMode>) {
        self.keep_sound_stats();
        self.sound = mode.map(SoundPlayout::new);
        self.clock.follow(None);
    }

    /// Takes a packet of sound. It ignores it before [`Playout::set_sound`].
    pub fn handle_sound(&mut self, now: Duration, packet: SoundPacket) {
        if let Some(sound) = &mut self.sound {
            sound.handle_packet(now, packet);
        }
    }

    /// Notes that no sound follows: a recording need not wait for any.
    pub fn handle_sound_end(&mut self) {
        if let Some(sound) = &mut self.sound {
            sound.handle_end();
        }
    }

    /// Begins a new connection with a sender's announcement. The player ignores frames until
    /// [`Playout::handle_decoding`]. The picture on the screen stays if the announced size is the same.
    ///
    /// # Errors
    /// If no picture has the announced size.
    pub fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Announcement, PlayError> {
        let announced = Announcement::of(welcome)?;
        let interval = welcome.interval();
        self.keep_sound_stats();
        *self = Self {
            announced: Some(announced),
            latency: self.latency,
            clock: PlayoutClock::new(self.latency, interval),
            concealment: Concealment::new(interval),
            deadline: Deadline::new(interval),
            picture: self.picture.take().filter(|picture| picture.size() == announced.size),
            corrupt: std::mem::take(&mut self.corrupt),
            stats: self.stats,
            ..Self::default()
        };
        Ok(announced)
    }

    /// Sets the decoder of the announced frames: from now on the player expects frames.
    pub fn handle_decoding(&mut self, now: Duration, decoding: Decoding) {
        (self.decoding, self.incomplete) = (Some(decoding), None);
        self.deadline.handle_presented(now, self.clock.grace());
    }

    /// Takes a frame. It decodes all frames of video, in order, but only the newest still picture. A frame is ready
    /// when the next call says how late it is, so pass the present time to each call.
    ///
    /// # Errors
    /// If this frame and too many before it cannot be decoded.
    pub fn handle_frame(&mut self, now: Duration, frame: ReceivedFrame) -> Result<(), PlayError> {
        if self.handle_frame_to_complete(now, frame)? {
            self.complete();
        }
        Ok(())
    }

    /// As [`Playout::handle_frame`], but leaves the residuals of a frame of video to another worker, which decodes them
    /// with a [`FrameResidualDecoder`](nestcast_codec::FrameResidualDecoder). Returns whether the frame now waits for
    /// [`Playout::handle_residuals`].
    ///
    /// # Errors
    /// As [`Playout::handle_frame`].
    pub fn handle_frame_to_complete(&mut self, now: Duration, frame: ReceivedFrame) -> Result<bool, PlayError> {
        self.complete();
        self.settle(now);
        if self.is_video() {
            self.begin(now, frame)?;
            return Ok(self.incomplete.is_some());
        }
        if self.decoding.is_some() && self.waiting.replace(frame).is_some() {
            self.stats.undecoded += 1;
        }
        Ok(false)
    }

    /// Completes the frame that waits with these residuals, in exchange for others that nobody needs any more, and
    /// returns whether they were of use. Without residuals, or if they are of another frame, it decodes them itself.
    pub fn handle_residuals(&mut self, residuals: Option<&mut FrameResiduals>) -> bool {
        let (Some(residuals), Some(decoding)) = (residuals, &mut self.decoding) else {
            self.complete();
            return false;
        };
        let are_used = decoding.complete_with(residuals);
        if are_used {
            self.last = self.incomplete.take().map(|(frame, _)| frame);
        }
        self.complete();
        are_used
    }

    /// Takes more bytes of the last still picture. It ignores them if that picture is not on the screen.
    ///
    /// # Errors
    /// If this frame and too many before it cannot be decoded.
    pub fn handle_more(&mut self, now: Duration, more: More) -> Result<(), PlayError> {
        self.settle(now);
        self.decode_waiting(now)?;
        let Self { decoding: Some(decoding), last: Some(last), .. } = self else { return Ok(()) };
        if last.id != more.frame {
            return Ok(());
        }
        if let Err(why) = decoding.append(&more.bytes) {
            self.last = None;
            return self.refuse(more.frame, why);
        }
        last.bytes = last.bytes.saturating_add(more.bytes.len());
        last.full = last.full.max(more.full);
        last.is_due = true;
        if !last.is_new {
            self.deadline.handle_presented(now, self.clock.grace());
        }
        Ok(())
    }

    /// Notes that the last picture of [`Playout::handle_time`] is on the screen, `latency` after its capture. It counts
    /// the latency of each frame once, as first shown: later bytes do not change it.
    pub fn handle_shown(&mut self, latency: Duration) {
        if !std::mem::take(&mut self.is_unmeasured) {
            return;
        }
        self.stats.latency.note(latency);
        if let Some(before) = self.before.replace(latency) {
            // The interval in which both were shown, less the one in which they were captured.
            self.stats.unevenness.note(latency.abs_diff(before));
        }
    }
}

/// Output.
impl Playout {
    /// Returns what to show now, if anything. Call it after every frame, and at [`Playout::poll_timeout`].
    ///
    /// # Errors
    /// If too many frames in a row cannot be decoded.
    pub fn handle_time(&mut self, now: Duration) -> Result<Option<Present<'_>>, PlayError> {
        self.settle(now);
        if self.waiting.is_some() {
            self.decode_waiting(now)?;
            return Ok(None);
        }
        if let Some((frame, picture)) = self.queue.take(now) {
            if let Some(shown) = self.picture.replace(picture) {
                self.queue.reuse(shown);
            }
            return Ok(self.shown(now, frame));
        }
        if let Some(last) = self.last.as_mut().filter(|last| last.is_due) {
            if last.presented_at() > now {
                return Ok(None);
            }
            let frame = *last;
            (last.is_new, last.is_due) = (false, false);
            return self.show(now, frame);
        }
        if !self.can_repeat() || now < self.deadline.at() {
            return Ok(None);
        }
        self.deadline.handle_missed(now);
        self.show_missing()
    }

    /// Returns when to call [`Playout::handle_time`] even without input; `None` while there is no picture to repeat, or
    /// a frame waits for its residuals.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        if self.waiting.is_some() {
            return Some(Duration::ZERO);
        }
        self.next_frame_at().or_else(|| self.can_repeat().then(|| self.deadline.at()))
    }

    /// Returns when the next frame is to be shown, if one is decoded. A caller that decodes slowly shows it before it
    /// passes another frame, if there is no time for both.
    #[must_use]
    pub fn next_frame_at(&self) -> Option<Duration> {
        self.queue.at().or_else(|| self.last.filter(|last| last.is_due).map(|last| last.presented_at()))
    }

    /// Returns the next block of sound that is due, if any. Call it until it returns `None`, after every packet and at
    /// [`Playout::poll_sound_timeout`]. Pictures follow what it returns.
    pub fn poll_sound(&mut self, now: Duration) -> Option<SoundBlock> {
        let pictures = self.clock.learned_micros();
        let sound = self.sound.as_mut()?;
        let block = sound.poll(now, pictures);
        self.clock.follow(sound.offset());
        block
    }

    /// Returns when to call [`Playout::poll_sound`] even without a packet.
    #[must_use]
    pub fn poll_sound_timeout(&self) -> Option<Duration> {
        self.sound.as_ref()?.poll_timeout(self.clock.learned_micros())
    }

    /// Returns the clock by which frames are shown.
    #[must_use]
    pub const fn clock(&self) -> &PlayoutClock {
        &self.clock
    }

    /// Returns the newest frame that could not be decoded, once.
    pub const fn poll_corrupt(&mut self) -> Option<CorruptFrame> {
        self.corrupt.poll()
    }

    /// Returns the newest frame of video that could not be decoded, once: frames after it are damaged, so the caller
    /// passes it to `ReceiverSession::handle_undecoded`, which asks for a frame to begin with. A picture damages no
    /// other.
    pub const fn poll_undecoded(&mut self) -> Option<u64> {
        self.undecoded.take()
    }

    /// Returns the picture that [`Playout::handle_time`] returned last.
    #[must_use]
    pub const fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns counts of what was shown so far, and of what was not.
    #[must_use]
    pub fn totals(&self) -> PlayStats {
        let now = self.sound.as_ref().map(SoundPlayout::stats).unwrap_or_default();
        PlayStats { sound: add(self.stats.sound, now), ..self.stats }
    }
}

impl Playout {
    /// Counts what earlier sound was, before it is replaced.
    fn keep_sound_stats(&mut self) {
        self.stats = self.totals();
        self.sound = None;
    }

    fn is_video(&self) -> bool {
        self.announced.is_some_and(|announced| announced.video.is_some())
    }

    /// Returns whether there is a picture to conceal from, or to repeat.
    const fn can_repeat(&self) -> bool {
        self.decoding.is_some() && self.picture.is_some() && self.incomplete.is_none()
    }

    /// Notes that the last decoded frame is ready.
    fn settle(&mut self, now: Duration) {
        let Some(last) = self.last.as_mut().filter(|last| last.timing.is_none()) else { return };
        let Presentation { mut at, is_late } = self.clock.handle_ready(now, last.captured);
        if is_late && self.latency != Latency::Min {
            // After a stall late frames come all at once. Each that is shown is seen for half an interval.
            at = at.max(self.shown_at.saturating_add(2 * self.clock.grace()));
        }
        last.timing = Some(Timing { ready: now, at, is_late });
        self.deadline.handle_presented(at, self.clock.grace());
    }

    fn decode_waiting(&mut self, now: Duration) -> Result<(), PlayError> {
        if let Some(frame) = self.waiting.take() {
            self.begin(now, frame)?;
            self.complete();
        }
        Ok(())
    }

    /// Completes the frame that waits for residuals, if one does.
    fn complete(&mut self) {
        let Some((frame, prefix)) = self.incomplete.take() else { return };
        if let Some(decoding) = &mut self.decoding {
            decoding.complete(&prefix);
        }
        self.last = Some(frame);
    }

    /// Begins with a frame, to be shown after it is complete, unless the screen shows a later one.
    fn begin(&mut self, now: Duration, frame: ReceivedFrame) -> Result<(), PlayError> {
        self.keep_last(now, frame.header.captured)?;
        let is_video = self.is_video();
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let ReceivedFrame { header, prefix, first, shown } = frame;
        if let Err(why) = decoding.begin(announced.size, &prefix) {
            return self.refuse(header.id, why);
        }
        let is_due = self.concealment.handle_decoded(header.id, header.captured) || !is_video;
        let frame = Decoded {
            id: header.id,
            captured: header.captured,
            bytes: prefix.len(),
            full: header.full,
            receiving: shown.saturating_sub(first),
            is_new: true,
            is_due,
            timing: None,
        };
        (self.last, self.incomplete) = (None, Some((frame, prefix)));
        Ok(())
    }

    /// Draws the last decoded frame if it still waits, because the next one is about to be decoded. If both are
    /// overdue, only the next one is shown.
    fn keep_last(&mut self, now: Duration, next_captured: u64) -> Result<(), PlayError> {
        let Some(last) = self.last.take_if(|last| last.is_due && last.is_new) else { return Ok(()) };
        let is_overdue = last.timing.is_some_and(|timing| timing.is_late) || last.presented_at() <= now;
        if is_overdue && self.clock.is_due(now, next_captured) {
            return Ok(());
        }
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let mut picture = self.queue.spare();
        if let Err(why) = decoding.draw(announced.size, &mut picture) {
            return self.refuse(last.id, why);
        }
        if let Some(picture) = picture {
            self.queue.push(last, picture);
        }
        Ok(())
    }

    /// Draws the last decoded frame.
    fn show(&mut self, now: Duration, frame: Decoded) -> Result<Option<Present<'_>>, PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(None) };
        if let Err(why) = decoding.draw(announced.size, &mut self.picture) {
            return self.refuse(frame.id, why).map(|()| None);
        }
        Ok(self.shown(now, frame))
    }

    /// Counts a frame whose picture is drawn, and describes it.
    fn shown(&mut self, now: Duration, frame: Decoded) -> Option<Present<'_>> {
        self.corrupt.handle_drawn();
        self.is_unmeasured = frame.is_new;
        if frame.is_new {
            self.shown_at = now;
            self.stats.shown += 1;
            self.stats.late += u64::from(frame.timing.is_some_and(|timing| timing.is_late));
            let ready = frame.timing.map_or(now, |timing| timing.ready);
            self.stats.waited = self.stats.waited.saturating_add(now.saturating_sub(ready));
        }
        let Decoded { id, captured, bytes, full, receiving, .. } = frame;
        let picture = self.picture.as_ref()?;
        Some(Present::Show { id, captured, bytes, full, receiving, picture })
    }

    /// Shows the last picture moved by its motion, or unchanged.
    fn show_missing(&mut self) -> Result<Option<Present<'_>>, PlayError> {
        self.is_unmeasured = false;
        let concealed = self.conceal()?;
        match concealed {
            Some(_) => self.stats.concealed += 1,
            None => self.stats.repeated += 1,
        }
        Ok(self.picture.as_ref().map(|picture| match concealed {
            Some(id) => Present::Conceal { id, picture },
            None => Present::Hold { picture },
        }))
    }

    /// Draws what the missing frame may look like; returns its number, or `None` if the picture stays as it is.
    fn conceal(&mut self) -> Result<Option<u64>, PlayError> {
        let Self { decoding: Some(decoding), picture: Some(picture), .. } = self else { return Ok(None) };
        let Some((id, frames)) = self.concealment.handle_interval() else { return Ok(None) };
        match decoding.conceal(picture, frames) {
            Ok(false) => Ok(None),
            Ok(true) => {
                self.concealment.handle_concealed(id);
                Ok(Some(id))
            }
            Err(why) => self.refuse(id, why).map(|()| None),
        }
    }

    /// Counts a frame that cannot be decoded or drawn.
    fn refuse(&mut self, id: u64, why: FrameFault) -> Result<(), PlayError> {
        self.stats.corrupt += 1;
        self.undecoded = self.undecoded.max(Some(id).filter(|_| self.is_video()));
        self.corrupt.note(CorruptFrame { id, why }).map_err(PlayError::Undecodable)
    }
}

fn add(a: SoundStats, b: SoundStats) -> SoundStats {
    SoundStats {
        packets: a.packets + b.packets,
        lost: a.lost + b.lost,
        concealed: a.concealed + b.concealed,
        silent: a.silent + b.silent,
    }
}

#[cfg(test)]
mod tests;
