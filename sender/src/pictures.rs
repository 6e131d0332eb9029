//! The source that encodes pictures, each by itself.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Encoder, ModelId, Picture, Size};
use nestcast_proto::{Frame, MAX_FRAME, PackageHash};

use crate::capture::{Capture, Captured, MakeFrames, PictureError, Pictures};
use crate::feedback::Feedback;
use crate::source::SourceError;

/// Bounds of a picture's base: a thumbnail of the smallest picture, and what one packet takes.
const MIN_BASE_BYTES: usize = 64;
const MAX_BASE_BYTES: usize = 1000;
/// Samples for each byte of a base: 0.05 bits a pixel of RGB show the whole of a picture.
const SAMPLES_PER_BASE_BYTE: usize = 480;

/// Pixels for each byte of a frame's stream, and the least that one is allowed.
const PIXELS_PER_BYTE: usize = 2;
const LEAST_FRAME: usize = 16 * 1024;

/// A picture that was there for so long, or will be, is one that stays: all of it is encoded, since late bytes follow. Less would
/// take the repeated pictures of a film for such, and encode more of these than is sent.
const STAYS: Duration = Duration::from_millis(250);

/// How pictures are encoded, and the model that goes with it.
pub struct Encoding {
    model: ModelId,
    hash: PackageHash,
    encoder: Encoder,
    /// The most bytes of a frame, whatever is of use.
    max_bytes: usize,
    package: Option<Bytes>,
}

impl std::fmt::Debug for Encoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoding").field("model", &self.model).finish_non_exhaustive()
    }
}

impl Encoding {
    /// The most bytes of a frame's stream that are worth encoding for pictures of this size: beyond 4 bits a pixel nothing is seen, and
    /// encoding takes longer. For [`Encoder::with_max_bytes`].
    #[must_use]
    pub fn most_bytes(size: Size) -> usize {
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        (size.pixels() / PIXELS_PER_BYTE).clamp(LEAST_FRAME, most)
    }

    /// Encodes with the transform of the package `hash`.
    #[must_use]
    pub fn new(hash: PackageHash, encoder: Encoder) -> Self {
        let (model, max_bytes) = (encoder.model().id(), encoder.max_bytes());
        Self { model, hash, encoder, max_bytes, package: None }
    }

    /// Gives `package`, which has the hash, to receivers that ask for it.
    #[must_use]
    pub fn with_package(mut self, package: Bytes) -> Self {
        self.package = Some(package);
        self
    }

    /// The most bytes of a frame of which so many are of use.
    fn limit(&self, useful_bytes: u64) -> usize {
        usize::try_from(useful_bytes).unwrap_or(usize::MAX).min(self.max_bytes)
    }

    fn encode(&mut self, picture: &Picture, limit: usize) -> Result<Bytes, PictureError> {
        self.encoder.set_max_bytes(limit);
        Ok(self.encoder.encode(picture)?.bytes().clone())
    }
}

impl Capture {
    /// Pictures as frames, each encoded by itself.
    ///
    /// # Panics
    /// If a side is longer than a [`Size`] allows.
    #[must_use]
    pub fn pictures(pictures: Pictures, encoding: Encoding) -> Self {
        let welcome = pictures.welcome(encoding.model, encoding.hash, None);
        let package = encoding.package.clone();
        let stills = Stills { encoding, interval: pictures.rate().interval(), last: None };
        Self::new(welcome, package, pictures, stills)
    }
}

/// What encodes pictures one after another.
struct Stills {
    encoding: Encoding,
    interval: Duration,
    last: Option<Encoded>,
}

/// The picture that was encoded last.
struct Encoded {
    captured: Captured,
    /// When it was captured first, in microseconds as [`Captured::at`].
    from: u64,
    frame: Frame,
    /// Most bytes that were asked for.
    limit: usize,
}

impl MakeFrames for Stills {
    fn make(
        &mut self,
        captured: Captured,
        skipped: u64,
        feedback: &Feedback,
    ) -> Result<(Frame, Option<Picture>), SourceError> {
        self.encode(captured, skipped, feedback.take_useful_bytes()).map_err(SourceError::failed)
    }
}

impl Stills {
    /// Gives a picture's frame, and the picture before it.
    fn encode(
        &mut self,
        captured: Captured,
        skipped: u64,
        useful_bytes: u64,
    ) -> Result<(Frame, Option<Picture>), PictureError> {
        let same = self.last.as_ref().filter(|last| last.captured.picture == captured.picture);
        let (since, from) = same.map_or((captured.id, captured.at), |last| (last.frame.since, last.from));
        let stays = Duration::from_micros(captured.at.saturating_sub(from)) + self.interval >= STAYS;
        let limit = self.encoding.limit(if stays { MAX_FRAME } else { useful_bytes });
        let (bytes, base, limit) = match same {
            // A picture that stays is encoded again only if more of it is of use: what was sent of it is the beginning of that.
            Some(last) if last.limit >= limit || last.frame.bytes.len() < last.limit => {
                (last.frame.bytes.clone(), last.frame.base, last.limit)
            }
            _ => {
                let bytes = self.encoding.encode(&captured.picture, limit)?;
                let base = base_bytes(captured.picture.size(), captured.picture.channels()).min(bytes.len());
                (bytes, base, limit)
            }
        };
        let frame =
            Frame { id: captured.id, skipped, captured: captured.at, since, base, bytes, join: None, loops: None };
        let before = self.last.replace(Encoded { captured, from, frame: frame.clone(), limit });
        Ok((frame, before.map(|before| before.captured.picture)))
    }
}

/// Bytes of the base of a picture.
fn base_bytes(size: Size, channels: Channels) -> usize {
    (size.pixels() * channels.count() / SAMPLES_PER_BASE_BYTE).clamp(MIN_BASE_BYTES, MAX_BASE_BYTES)
}
