//! A rival: Motion JPEG of one quality. A partial JPEG is useless, so the whole frame is its base: it is never cut, and
//! while it is in flight the newest picture waits.

use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::clip::Clip;
use nestcast_lab::motion_jpeg::MotionJpeg;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_proto::{BroadcastFrame, Demand, Frame, PackageHash, SourceError, Welcome};
use nestcast_sender::FrameSource;

/// The quality that is sent where even it exceeds the available rate.
const LOWEST_QUALITY: u8 = 1;

/// The clip as JPEGs.
pub(crate) struct JpegFrames {
    clip: Arc<Clip>,
    jpegs: Arc<MotionJpeg>,
    quality: u8,
    id: u64,
    pace: Pace,
}

impl JpegFrames {
    /// Finds the best quality whose frames average at most `bits_per_second`.
    pub(crate) fn new(clip: &Arc<Clip>, jpegs: &Arc<MotionJpeg>, bits_per_second: f64) -> Result<Self> {
        let interval = clip.rate().interval();
        let quality =
            jpegs.fitting_in_the_mean(whole(bits_per_second / 8.0 * interval.as_secs_f64()))?.unwrap_or(LOWEST_QUALITY);
        Ok(Self { clip: Arc::clone(clip), jpegs: Arc::clone(jpegs), quality, id: 0, pace: Pace::new(interval) })
    }

    fn frame(&mut self, captured: u64) -> Result<BroadcastFrame> {
        let id = self.id;
        self.id += 1;
        let length = self.jpegs.bytes(self.clip.index(id), self.quality)?;
        // No pixels are sent, because both ends have the same files: the first byte is the quality.
        let bytes = Bytes::from(vec![self.quality; length]);
        Ok(Frame { id, skipped: 0, captured, since: id, base: length, bytes, join: None }.into())
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a frame are few and positive")]
fn whole(bytes: f64) -> usize {
    bytes as usize
}

/// Returns the picture of a received frame.
pub(crate) fn decode(clip: &Clip, jpegs: &MotionJpeg, id: u64, prefix: &[u8]) -> Result<Picture> {
    jpegs.picture(clip.index(id), prefix.first().copied().unwrap_or(LOWEST_QUALITY))
}

impl FrameSource for JpegFrames {
    fn welcome(&self) -> Welcome {
        let size = self.clip.size();
        let [width, height] = [size.width(), size.height()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        let rate = self.clip.rate();
        Welcome { model: [0; 6], package: PackageHash([0; 32]), width, height, rate, video: None }
    }

    async fn next(&mut self, _demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let captured = microseconds(self.pace.next().await);
        self.frame(captured).map(Some).map_err(SourceError::failed)
    }
}
