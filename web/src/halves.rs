//! The worker that shares large video with the screen: it decodes the residuals of the same frames, which the screen
//! predicts meanwhile.

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_codec::{FrameResidualDecoder, FrameResiduals, Size, VideoModel};

use crate::mail::{Mail, MailError, Record};
use crate::screen::MAX_PIXELS;

/// Decodes residuals of the frames in mail for the screen.
#[derive(Debug, Default)]
pub struct Halves {
    decoder: Option<FrameResidualDecoder>,
    waiting: VecDeque<Record>,
}

impl Halves {
    /// Begins with frames of this width and height; of others it decodes nothing.
    pub fn open(&mut self, model: VideoModel, [width, height]: [u32; 2]) {
        let size = Size::new(width, height).ok().filter(|size| size.pixels() <= MAX_PIXELS);
        self.decoder = size.map(|size| FrameResidualDecoder::new(model, size, 1));
    }

    /// Takes a copy of the screen's mail.
    ///
    /// # Errors
    /// If these are other bytes.
    pub fn handle_mail(&mut self, mail: Bytes) -> Result<(), MailError> {
        self.waiting = Mail::open(mail)?.into();
        Ok(())
    }

    /// Decodes the residuals of the next frame into `out`. Returns its number; `None` after the last one.
    pub fn poll(&mut self, out: &mut FrameResiduals) -> Option<u64> {
        while let Some(record) = self.waiting.pop_front() {
            // The screen finds what is wrong with a frame.
            if let (Record::Frame(frame), Some(decoder)) = (record, &mut self.decoder)
                && decoder.decode(&frame.prefix, out).is_ok_and(|is_there| is_there)
            {
                return Some(frame.header.id);
            }
        }
        None
    }
}
