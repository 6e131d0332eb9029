//! A stored video as a receiver of some rate sees it.

use std::io::{Read, Seek};
use std::sync::Arc;

use nestcast_codec::{Arrived, Budget, Picture, Restoration, VideoDecoder, VideoModel};

use super::{Error, Frames};

/// Decodes the frames of a range.
#[derive(Debug)]
pub struct Player<R> {
    frames: Frames<R>,
    decoder: VideoDecoder,
    budget: Option<Budget>,
    played: Played,
}

/// What was shown so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Played {
    /// Frames.
    pub frames: u64,
    /// Bytes that the receiver got of them.
    pub bytes: u64,
    /// Of the frames, those that show the one before, since they cannot be decoded.
    pub repeated: u64,
}

/// A frame that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// From 0.
    pub number: u64,
    /// Bytes that the receiver got of it.
    pub bytes: usize,
    /// Whether it shows the one before, since it cannot be decoded.
    pub repeated: bool,
}

impl<R: Read> Player<R> {
    /// All that there is of each frame, decoded on so many threads.
    ///
    /// # Errors
    /// [`Error::Models`] if the frames need other tables than `model`'s.
    pub fn new(frames: Frames<R>, model: VideoModel, threads: usize) -> Result<Self, Error> {
        frames.reader().check_model(&model)?;
        let decoder = VideoDecoder::new(model, frames.reader().header().size, threads).with_max_pixels(u64::MAX);
        Ok(Self { frames, decoder, budget: None, played: Played::default() })
    }

    /// What a receiver of so many bits a second gets of each, of the loop that serves it.
    #[must_use]
    pub fn with_bitrate(mut self, bits_per_second: f64) -> Self {
        self.frames.choose(bits_per_second);
        self.budget = Some(Budget::new(bits_per_second, self.frames.reader().header().rate));
        self
    }

    /// Shows frames as this makes them of decoded ones.
    #[must_use]
    pub fn with_restoration(mut self, restoration: Arc<dyn Restoration>) -> Self {
        self.decoder = self.decoder.with_restoration(restoration);
        self
    }

    /// What reads the frames.
    #[must_use]
    pub const fn frames(&self) -> &Frames<R> {
        &self.frames
    }

    /// What was shown so far.
    #[must_use]
    pub const fn played(&self) -> Played {
        self.played
    }

    /// Decodes up to the next frame of the range that has a picture, and draws it: planar YCbCr 4:2:0 of the header's size and range.
    /// Nothing behind the last; what was the matter, [`Frames::fault`] tells.
    ///
    /// # Errors
    /// Those of the system; if `picture` has another size or format.
    pub fn next_into(&mut self, picture: &mut Picture) -> Result<Option<Shown>, Error> {
        while let Some(frame) = self.frames.next()? {
            let bytes = self.budget.as_mut().map_or(frame.bytes.len(), |budget| frame.allowed(budget));
            let decoded = self.decoder.decode(&frame.bytes[..bytes]);
            let repeated = decoded.is_err();
            let arrived = decoded.unwrap_or_else(|error| {
                self.frames.blame(format!("frame {}: {error}", frame.number));
                Arrived::Nothing
            });
            // Frames before the range are only predicted from, and without any there is nothing to show.
            if frame.number < self.frames.range().start || (arrived == Arrived::Nothing && self.played.frames == 0) {
                continue;
            }
            self.decoder.render_into(picture)?;
            self.played.frames += 1;
            self.played.bytes += bytes as u64;
            self.played.repeated += u64::from(repeated);
            return Ok(Some(Shown { number: frame.number, bytes, repeated }));
        }
        Ok(None)
    }
}

impl<R: Read + Seek> Player<R> {
    /// Leaves out the frames before the range that nothing in it is predicted from, as [`Frames::seek`] does.
    ///
    /// # Errors
    /// Those of the system.
    pub fn seek(&mut self) -> Result<(), Error> {
        self.frames.seek()
    }
}
