//! Encodes frames into bytes.

use std::sync::Arc;

use crate::error::Error;
use crate::motion::search::search_parameters::Effort;
use crate::observer::Observer;
use crate::parallel::Threads;
use crate::picture::View;
use crate::video::frame::CodedFrame;
use crate::video::model::VideoModel;
use crate::video::population::Population;
use crate::video::rendition_encoder::RenditionEncoder;
use crate::video::settings::VideoSettings;
use crate::video::source::Source;
#[cfg(feature = "training")]
use crate::{motion::field::Field, residual::encoder::ResidualEncoder};

/// Encodes the frames of one video, one after another.
pub struct VideoEncoder {
    settings: VideoSettings,
    source: Source,
    pub(super) encoder: RenditionEncoder,
}

impl std::fmt::Debug for VideoEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VideoEncoder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl VideoEncoder {
    /// Returns an encoder for frames of this size.
    #[must_use]
    pub fn new(model: VideoModel, settings: VideoSettings) -> Self {
        let encoder = RenditionEncoder::new(model, &settings, Threads::new(settings.threads));
        Self { source: Source::new(settings.size), encoder, settings }
    }

    /// Sets how long it searches for motion; decoders do not depend on it.
    #[must_use]
    pub const fn with_effort(mut self, effort: Effort) -> Self {
        self.encoder.effort = effort;
        self
    }

    /// Says whether the encoder knows all receivers: each has every frame, or begins with a frame of
    /// [`VideoEncoder::join`]. Without this call it does not, so it keeps renewing the picture for receivers that began
    /// elsewhere: it predicts a 128th of each frame from nothing. With it, the encoder renews the picture in the 384
    /// frames after a join alone, or in 128 if the picture stays. That saves 5 % of the bytes at equal quality, and then
    /// a picture that stays needs four bytes a frame and hardly any time.
    #[must_use]
    pub const fn with_known_receivers(mut self, are_known: bool) -> Self {
        self.encoder.renewal.knows_receivers = are_known;
        self
    }

    /// Shows an observer its work from now on; the caller then does all of it.
    #[must_use]
    pub fn with_observer(self, observer: Arc<dyn Observer>) -> Self {
        self.encoder.threads.observe(observer);
        self
    }

    /// Returns the tables, motion and residual of the last frame.
    #[cfg(feature = "training")]
    pub(crate) const fn last(&mut self) -> (&VideoModel, &Field, &mut ResidualEncoder) {
        (&self.encoder.model, &self.encoder.field, &mut self.encoder.coder)
    }

    /// Returns the tables with which it codes.
    #[must_use]
    pub const fn model(&self) -> &VideoModel {
        &self.encoder.model
    }

    /// Sets the receivers from the next frame on.
    pub fn set_population(&mut self, population: Population) {
        self.encoder.population = population.clone();
        self.settings.population = population;
    }

    /// Encodes the next frame, planar YCbCr 4:2:0.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub fn encode<'a>(&mut self, frame: impl Into<View<'a>>) -> Result<CodedFrame, Error> {
        let news = self.source.take(&frame.into(), self.encoder.effort, &self.encoder.threads)?;
        let frame = self.encoder.encode(&mut self.source, news, false)?;
        self.source.finish();
        Ok(frame)
    }

    /// Returns a random-access frame for receivers that have none of the frames before. It replaces the last frame, and
    /// sets their two references to an embedded picture of the base-layer reference, of at most `max_bytes`. They
    /// continue with the next frame: at once close to all other receivers, and closer with every refreshed block. That
    /// next frame has no bi-predicted blocks. If the vectors that it copies take more than half of `max_bytes`, the picture
    /// has the other half, and this frame is larger.
    #[must_use]
    pub fn join(&mut self, max_bytes: usize) -> CodedFrame {
        self.encoder.join(self.source.last_phase(), max_bytes)
    }
}
