//! Encodes independent pictures as frames.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Channels, Encoder, Picture, Size};
use nestcast_proto::{
    BroadcastFrame, Captured, Demand, Frame, FrameEncoder, MAX_FRAME, PackageHash, SourceError, Welcome,
};

use crate::error::PictureError;
use crate::format::PictureFormat;

/// Bounds of a picture's base layer: a thumbnail of the smallest picture, and the size of a packet.
const MIN_BASE_BYTES: usize = 64;
const MAX_BASE_BYTES: usize = 1000;
/// Samples for each byte of a base layer: 0.05 bits a pixel of RGB show the whole picture.
const SAMPLES_PER_BASE_BYTE: usize = 480;

/// Pixels for each byte of a frame's stream, and the smallest limit.
const PIXELS_PER_BYTE: usize = 2;
const LEAST_FRAME: usize = 16 * 1024;

/// A picture that lasts this long counts as one that stays: all of it is encoded, because late bytes follow. With a
/// shorter time, the repeated pictures of a film would count too, and more of them would be encoded than is sent.
const STILL_AFTER: Duration = Duration::from_millis(250);

/// Encodes independent pictures.
pub struct PictureEncoding {
    welcome: Welcome,
    package: Option<Bytes>,
    encoder: Encoder,
    /// The most bytes of a frame, however many are useful.
    max_bytes: usize,
    interval: Duration,
    last: Option<Encoded>,
}

/// The last encoded picture.
struct Encoded {
    captured: Captured<Picture>,
    /// When it was first captured, in microseconds like [`Captured::at`].
    from: u64,
    frame: Frame,
    /// The most bytes requested.
    limit: usize,
}

impl std::fmt::Debug for PictureEncoding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PictureEncoding").field("welcome", &self.welcome).finish_non_exhaustive()
    }
}

impl PictureEncoding {
    /// Returns the most bytes of a frame's stream that are worth encoding for pictures of this size, for
    /// [`Encoder::with_max_bytes`]: more than 4 bits a pixel show no difference, and encoding takes longer.
    #[must_use]
    pub fn most_bytes(size: Size) -> usize {
        let most = usize::try_from(MAX_FRAME).unwrap_or(usize::MAX);
        (size.pixels() / PIXELS_PER_BYTE).clamp(LEAST_FRAME, most)
    }

    /// Encodes pictures of this format with the transform of the package `hash`.
    #[must_use]
    pub fn new(format: PictureFormat, hash: PackageHash, encoder: Encoder) -> Self {
        let welcome = format.welcome(encoder.model().id(), hash, None);
        let max_bytes = encoder.max_bytes();
        let interval = format.rate.most().interval();
        Self { welcome, package: None, encoder, max_bytes, interval, last: None }
    }

    /// Sends `package`, which has the hash, to receivers that ask for it.
    #[must_use]
    pub fn with_package(mut self, package: Bytes) -> Self {
        self.package = Some(package);
        self
    }

    /// Returns the most bytes of a frame of which `useful_bytes` are useful.
    fn limit(&self, useful_bytes: u64) -> usize {
        usize::try_from(useful_bytes).unwrap_or(usize::MAX).min(self.max_bytes)
    }

    /// Encodes a picture's frame, and returns the picture before it.
    fn encode_within(
        &mut self,
        captured: Captured<Picture>,
        skipped: u64,
        useful_bytes: u64,
    ) -> Result<(Frame, Option<Picture>), PictureError> {
        let same = self.last.as_ref().filter(|last| last.captured.picture == captured.picture);
        let (since, from) = same.map_or((captured.id, captured.at), |last| (last.frame.since, last.from));
        let stays = Duration::from_micros(captured.at.saturating_sub(from)) + self.interval >= STILL_AFTER;
        let limit = self.limit(if stays { MAX_FRAME } else { useful_bytes });
        let (bytes, base, limit) = match same {
            // A picture that stays is encoded again only if more of it is useful: the bytes already sent are a prefix
            // of the new ones.
            Some(last) if last.limit >= limit || last.frame.bytes.len() < last.limit => {
                (last.frame.bytes.clone(), last.frame.base, last.limit)
            }
            _ => {
                self.encoder.set_max_bytes(limit);
                let bytes = self.encoder.encode(&captured.picture)?.bytes().clone();
                let base = base_bytes(captured.picture.size(), captured.picture.channels()).min(bytes.len());
                (bytes, base, limit)
            }
        };
        let frame = Frame { id: captured.id, skipped, captured: captured.at, since, base, bytes, join: None };
        let before = self.last.replace(Encoded { captured, from, frame: frame.clone(), limit });
        Ok((frame, before.map(|before| before.captured.picture)))
    }
}

impl FrameEncoder for PictureEncoding {
    type Picture = Picture;

    fn welcome(&self) -> Welcome {
        self.welcome.clone()
    }

    fn package(&self) -> Option<Bytes> {
        self.package.clone()
    }

    fn encode(
        &mut self,
        captured: Captured<Picture>,
        skipped: u64,
        demand: &Demand,
    ) -> Result<(BroadcastFrame, Option<Picture>), SourceError> {
        let encoded = self.encode_within(captured, skipped, demand.take_useful_bytes());
        encoded.map(|(frame, spent)| (frame.into(), spent)).map_err(SourceError::failed)
    }
}

/// Returns the size in bytes of a picture's base layer.
fn base_bytes(size: Size, channels: Channels) -> usize {
    (size.pixels() * channels.count() / SAMPLES_PER_BASE_BYTE).clamp(MIN_BASE_BYTES, MAX_BASE_BYTES)
}
