//! The source that encodes pictures, each by itself.

use std::time::{Duration, Instant};

use bytes::Bytes;
use nestcast_codec::{Channels, Encoder, ModelId, Picture, Size};
use nestcast_proto::{Frame, MAX_FRAME, PackageHash, Welcome};

use crate::capture::{Capture, Captured, Desk, PictureError, Pictures};
use crate::feedback::Feedback;
use crate::source::{FrameSource, SourceError};

/// Bounds of a picture's base: a thumbnail of the smallest picture, and what one packet takes.
const MIN_BASE_BYTES: usize = 64;
const MAX_BASE_BYTES: usize = 1000;
/// Samples for each byte of a base: 0.05 bits a pixel of RGB show the whole of a picture.
const SAMPLES_PER_BASE_BYTE: usize = 480;

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

/// Pictures as frames.
#[derive(Debug)]
pub struct EncodedPictures {
    welcome: Welcome,
    package: Option<Bytes>,
    capture: Capture,
}

impl EncodedPictures {
    /// Nothing is read or encoded before the first frame is asked for.
    ///
    /// # Panics
    /// If a side is longer than a [`Size`] allows.
    #[must_use]
    pub fn new(pictures: Pictures, mut encoding: Encoding) -> Self {
        let (model, hash, package) = (encoding.model, encoding.hash, encoding.package.clone());
        let welcome = pictures.welcome(model, hash, None);
        let interval = pictures.rate().interval();
        let work =
            Box::new(move |feedback: &Feedback, desk: &mut Desk| encode(&mut encoding, interval, feedback, desk));
        Self { welcome, package, capture: Capture::new(pictures, work) }
    }
}

impl FrameSource for EncodedPictures {
    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn package(&self) -> Option<Bytes> {
        self.package.clone()
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        self.capture.next(feedback).await
    }

    fn stop(&mut self) {
        self.capture.stop();
    }
}

fn encode(
    encoding: &mut Encoding,
    interval: Duration,
    feedback: &Feedback,
    desk: &mut Desk,
) -> Result<(), SourceError> {
    let mut last: Option<Encoded> = None;
    while let Some((captured, skipped)) = desk.take() {
        let start = Instant::now();
        let same = last.as_ref().filter(|last| last.captured.picture == captured.picture);
        let (since, from) = same.map_or((captured.id, captured.at), |last| (last.frame.since, last.from));
        let stays = Duration::from_micros(captured.at.saturating_sub(from)) + interval >= STAYS;
        let limit = encoding.limit(if stays { MAX_FRAME } else { feedback.useful_bytes() });
        let (bytes, base, limit) = match same {
            // A picture that stays is encoded again only if more of it is of use: what was sent of it is the beginning of that.
            Some(last) if last.limit >= limit || last.frame.bytes.len() < last.limit => {
                (last.frame.bytes.clone(), last.frame.base, last.limit)
            }
            _ => {
                let bytes = encoding.encode(&captured.picture, limit).map_err(SourceError::failed)?;
                let base = base_bytes(captured.picture.size(), captured.picture.channels()).min(bytes.len());
                (bytes, base, limit)
            }
        };
        feedback.handle_encoded(start.elapsed());
        let frame =
            Frame { id: captured.id, skipped, captured: captured.at, since, base, bytes, join: None, loops: None };
        if !desk.send(frame.clone()) {
            break;
        }
        if let Some(before) = last.replace(Encoded { captured, from, frame, limit }) {
            desk.spend(before.captured.picture);
        }
    }
    Ok(())
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

/// Bytes of the base of a picture.
fn base_bytes(size: Size, channels: Channels) -> usize {
    (size.pixels() * channels.count() / SAMPLES_PER_BASE_BYTE).clamp(MIN_BASE_BYTES, MAX_BASE_BYTES)
}
