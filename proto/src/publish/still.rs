//! What a receiver has of a picture that stays, and what of it goes out next (spec, "Late bytes").

use bytes::Bytes;

use crate::wire::frame::Frame;
use crate::wire::stream::LateHeader;

/// The last picture that was begun for one receiver.
#[derive(Debug, Default)]
pub(crate) struct Still {
    frame: Option<Frame>,
    /// Bytes from the first on that were written, and that may be, as the receiver's cap has it.
    written: usize,
    allowed: usize,
    /// It was due again, with the same picture, and nothing newer was.
    stays: bool,
    /// Frames that were due and not sent because the picture stayed, of all so far.
    repeated: u64,
}

impl Still {
    /// Of all frames so far, those that were not sent because the picture stayed.
    pub(crate) const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// A frame is begun, of which `allowed` bytes may be written.
    pub(crate) fn begin(&mut self, frame: Frame, allowed: usize) {
        self.frame = Some(frame);
        self.written = 0;
        self.allowed = allowed;
        self.stays = false;
    }

    /// So many more bytes of it were written.
    pub(crate) const fn handle_written(&mut self, count: usize) {
        self.written += count;
    }

    /// Its streams are reset: no more than its base will be there, and what goes again takes of the receiver's cap anew.
    pub(crate) fn handle_reset(&mut self) {
        let base = self.frame.as_ref().map_or(0, |frame| frame.base);
        self.written = self.written.min(base);
        self.allowed = self.allowed.min(self.written);
    }

    /// Whether `frame`, which is due, is the same picture. It may have more bytes by now, and `most` of them more may be
    /// written.
    pub(crate) fn repeats(&mut self, frame: &Frame, most: usize) -> bool {
        let Some(still) = self.frame.as_mut().filter(|still| still.since == frame.since) else { return false };
        still.bytes = frame.bytes.clone();
        self.allowed = self.written.saturating_add(most).min(still.bytes.len());
        self.stays = true;
        self.repeated += 1;
        true
    }

    /// The receiver has nothing of it: the picture is sent anew though it stays.
    pub(crate) fn forget(&mut self) {
        self.frame = None;
        self.stays = false;
    }

    /// Something newer is due, or nothing more is.
    pub(crate) const fn end(&mut self) {
        self.stays = false;
    }

    /// The head of a stream of late bytes, and the bytes that may be written of them; `None` if the picture does not stay.
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
