//! The worker that shares large video with the screen: it decodes the residuals of the same frames, which the screen
//! predicts meanwhile.

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_codec::{FrameResidualDecoder, FrameResiduals, Size, VideoModel};

use crate::mail::{Mail, MailError, Record};
use crate::screen::MAX_PIXELS;

/// Decodes residuals of the frames in mail for the screen.
#[derive(Debug, Default)]
pub struct ResidualWorker {
    model: Option<VideoModel>,
    decoder: Option<FrameResidualDecoder>,
    waiting: VecDeque<Record>,
}

impl ResidualWorker {
    /// Begins with frames of this width and height. A welcome in the mail changes them.
    pub fn open(&mut self, model: VideoModel, size: [u32; 2]) {
        self.model = Some(model);
        self.begin(size);
    }

    fn begin(&mut self, [width, height]: [u32; 2]) {
        let size = Size::new(width, height).ok().filter(|size| size.pixels() <= MAX_PIXELS);
        let model = self.model.clone();
        self.decoder = size.zip(model).map(|(size, model)| FrameResidualDecoder::new(model, size, 1));
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
            match record {
                Record::Welcome(welcome) => self.begin([welcome.width, welcome.height]),
                Record::Frame(frame) => {
                    let decoder = self.decoder.as_mut();
                    // The screen finds what is wrong with a frame.
                    if decoder.is_some_and(|decoder| decoder.decode(&frame.prefix, out) == Ok(true)) {
                        return Some(frame.header.id);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
