//! Progressive refinement: what a receiver has of a picture that stays, and what goes out next (spec, "Late bytes").

use bytes::Bytes;

use crate::wire::frame::Frame;
use crate::wire::stream::LateHeader;

/// The last picture that was begun for one receiver.
#[derive(Debug, Default)]
pub(crate) struct Still {
    frame: Option<Frame>,
    /// The number of leading bytes that were written, and that the receiver's cap allows.
    written: usize,
    allowed: usize,
    /// Whether the same picture was due again, and nothing newer.
    stays: bool,
    /// The number of frames so far that were not sent because the picture stayed.
    repeated: u64,
}

impl Still {
    /// Returns the number of frames so far that were not sent because the picture stayed.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Begins a frame, of which `allowed` bytes may be written.
    pub(crate) fn begin(&mut self, frame: Frame, allowed: usize) {
        self.frame = Some(frame);
        self.written = 0;
        self.allowed = allowed;
        self.stays = false;
    }

    /// Counts `count` more written bytes.
    pub(crate) const fn handle_written(&mut self, count: usize) {
        self.written += count;
    }

    /// Notes that its streams are reset: the receiver gets only the base layer, and bytes sent again count against the
    /// cap again.
    pub(crate) fn handle_reset(&mut self) {
        let base = self.frame.as_ref().map_or(0, |frame| frame.base);
        self.written = self.written.min(base);
        self.allowed = self.allowed.min(self.written);
    }

    /// Returns whether `frame`, which is due, is the same picture. It may have more bytes by now, of which `most` more
    /// may be written.
    pub(crate) fn repeats(&mut self, frame: &Frame, most: usize) -> bool {
        let Some(still) = self.frame.as_mut().filter(|still| still.since == frame.since) else { return false };
        still.bytes = frame.bytes.clone();
        self.allowed = self.written.saturating_add(most).min(still.bytes.len());
        self.stays = true;
        self.repeated += 1;
        true
    }

    /// Forgets the picture because the receiver has nothing of it: it is sent anew even if it stays.
    pub(crate) fn forget(&mut self) {
        self.frame = None;
        self.stays = false;
    }

    /// Notes that something newer is due, or that the broadcast ends.
    pub(crate) const fn end(&mut self) {
        self.stays = false;
    }

    /// Returns the head of a stream of late bytes, and the bytes that may be written; `None` if the picture does not
    /// stay.
    pub(crate) fn late(&self) -> Option<(LateHeader, Bytes)> {
        let frame = self.frame.as_ref().filter(|_| self.stays)?;
        let offset = self.written as u64;
        let full = frame.bytes.len() as u64;
        Some((
            LateHeader { id: frame.id, offset, full },
            frame.bytes.slice(self.written..self.allowed.max(self.written)),
        ))
    }
}
