//! Decodes frames as they arrive, and decides what to show when.

use std::time::Duration;

use nestcast_codec::Picture;
use nestcast_proto::{Arrived, More, Welcome};

use crate::announcement::Announcement;
use crate::concealment::Concealment;
use crate::corrupt::{Cause, CorruptFrame, CorruptFrames};
use crate::deadline::Deadline;
use crate::decoding::Decoding;
use crate::error::PlayError;
use crate::present::Present;
use crate::stats::PlayStats;

/// Plays one broadcast, over any number of connections; see the [crate's documentation](crate).
#[derive(Debug, Default)]
pub struct Playout {
    announced: Option<Announcement>,
    decoding: Option<Decoding>,
    /// A still picture that is not decoded yet, because a newer one may replace it.
    waiting: Option<Arrived>,
    /// The last decoded frame, while more of it may arrive.
    last: Option<Decoded>,
    /// The last picture shown; the next is drawn into it.
    picture: Option<Picture>,
    /// Whether the latency of the last picture shown is yet to be counted.
    is_unmeasured: bool,
    concealment: Concealment,
    deadline: Deadline,
    corrupt: CorruptFrames,
    stats: PlayStats,
}

/// A decoded frame, as [`Present::Show`] describes it.
#[derive(Debug, Clone, Copy)]
struct Decoded {
    id: u64,
    captured: u64,
    bytes: usize,
    full: u64,
    receiving: Duration,
    /// Whether it has not been drawn yet.
    is_new: bool,
    /// Whether to show it next.
    is_due: bool,
}

/// Input.
impl Playout {
    /// Creates a player without a sender.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a new connection with a sender's announcement. The player ignores frames until
    /// [`Playout::handle_decoding`]. The picture on the screen stays if the announced size is the same.
    ///
    /// # Errors
    /// If no picture has the announced size.
    pub fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Announcement, PlayError> {
        let announced = Announcement::of(welcome)?;
        *self = Self {
            announced: Some(announced),
            deadline: Deadline::new(welcome.interval()),
            picture: self.picture.take().filter(|picture| picture.size() == announced.size),
            corrupt: std::mem::take(&mut self.corrupt),
            stats: self.stats,
            ..Self::default()
        };
        Ok(announced)
    }

    /// Sets the decoder of the announced frames: from now on the player expects frames.
    pub fn handle_decoding(&mut self, now: Duration, decoding: Decoding) {
        self.decoding = Some(decoding);
        self.deadline.handle_arrival(now);
    }

    /// Takes a frame. It decodes all frames of video, in order, but only the newest still picture.
    ///
    /// # Errors
    /// If this frame and too many before it cannot be decoded.
    pub fn handle_frame(&mut self, now: Duration, frame: Arrived) -> Result<(), PlayError> {
        self.deadline.handle_arrival(now);
        if self.is_video() {
            return self.decode(frame);
        }
        if self.decoding.is_some() && self.waiting.replace(frame).is_some() {
            self.stats.undecoded += 1;
        }
        Ok(())
    }

    /// Takes more bytes of the last still picture. It ignores them if that picture is not on the screen.
    ///
    /// # Errors
    /// If this frame and too many before it cannot be decoded.
    pub fn handle_more(&mut self, now: Duration, more: More) -> Result<(), PlayError> {
        self.deadline.handle_arrival(now);
        self.decode_waiting()?;
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
        Ok(())
    }

    /// Notes that the last picture of [`Playout::handle_time`] is on the screen, `latency` after its capture. It counts
    /// the latency of each frame once, as first shown: later bytes do not change it.
    pub fn handle_shown(&mut self, latency: Duration) {
        if std::mem::take(&mut self.is_unmeasured) {
            self.stats.latency.note(latency);
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
        self.decode_waiting()?;
        if let Some(last) = self.last.as_mut().filter(|last| last.is_due) {
            let frame = *last;
            (last.is_new, last.is_due) = (false, false);
            return self.show(frame);
        }
        if !self.has_screen() || now < self.deadline.at() {
            return Ok(None);
        }
        self.deadline.handle_missed(now);
        self.show_missing()
    }

    /// Returns when to call [`Playout::handle_time`] even without input; `None` while there is no picture to repeat.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        if self.waiting.is_some() || self.last.is_some_and(|last| last.is_due) {
            return Some(Duration::ZERO);
        }
        self.has_screen().then(|| self.deadline.at())
    }

    /// Returns the newest frame that could not be decoded, once.
    pub const fn poll_corrupt(&mut self) -> Option<CorruptFrame> {
        self.corrupt.poll()
    }

    /// Returns the picture that [`Playout::handle_time`] returned last.
    #[must_use]
    pub const fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }

    /// Returns counts of what was shown so far, and of what was not.
    #[must_use]
    pub const fn totals(&self) -> PlayStats {
        self.stats
    }
}

impl Playout {
    fn is_video(&self) -> bool {
        self.announced.is_some_and(|announced| announced.video.is_some())
    }

    /// Returns whether there is a picture to conceal from, or to repeat.
    const fn has_screen(&self) -> bool {
        self.decoding.is_some() && self.picture.is_some()
    }

    fn decode_waiting(&mut self) -> Result<(), PlayError> {
        self.waiting.take().map_or(Ok(()), |frame| self.decode(frame))
    }

    /// Decodes a frame, to be shown next unless the screen shows a later one.
    fn decode(&mut self, frame: Arrived) -> Result<(), PlayError> {
        let is_video = self.is_video();
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(()) };
        let Arrived { header, prefix, first, shown } = frame;
        if let Err(why) = decoding.decode(announced.size, &prefix) {
            return self.refuse(header.id, why);
        }
        self.last = Some(Decoded {
            id: header.id,
            captured: header.captured,
            bytes: prefix.len(),
            full: header.full,
            receiving: shown.saturating_sub(first),
            is_new: true,
            is_due: !is_video || self.concealment.handle_decoded(header.id),
        });
        Ok(())
    }

    /// Draws the last decoded frame.
    fn show(&mut self, frame: Decoded) -> Result<Option<Present<'_>>, PlayError> {
        let (Some(decoding), Some(announced)) = (&mut self.decoding, &self.announced) else { return Ok(None) };
        if let Err(why) = decoding.draw(announced.size, &mut self.picture) {
            return self.refuse(frame.id, why).map(|()| None);
        }
        self.corrupt.handle_drawn();
        self.is_unmeasured = frame.is_new;
        self.stats.shown += u64::from(frame.is_new);
        let Decoded { id, captured, bytes, full, receiving, .. } = frame;
        let show = |picture| Present::Show { id, captured, bytes, full, receiving, picture };
        Ok(self.picture.as_ref().map(show))
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
    fn refuse(&mut self, id: u64, why: Cause) -> Result<(), PlayError> {
        self.stats.corrupt += 1;
        self.corrupt.note(CorruptFrame { id, why }).map_err(PlayError::Undecodable)
    }
}

#[cfg(test)]
mod tests;
