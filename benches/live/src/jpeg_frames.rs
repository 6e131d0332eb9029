//! The rivals: Motion JPEG at a fixed quality and as a ladder, over the same session as nestcast's frames.
//!
//! A JPEG is of no use in part, so that all of a frame is its base: it is never cut, and while it is on its way the
//! newest picture waits.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bytes::Bytes;
use nestcast_lab::clip::{Clip, FRAMES_PER_SECOND};
use nestcast_lab::motion_jpeg::MotionJpeg;
use nestcast_proto::{Bitrate, Frame, PackageHash, Welcome};
use nestcast_sender::{Feedback, FrameSource, SourceError};
use tokio::time::{Interval, interval};

/// Of the link's bytes so many percent are a fixed quality's: the others are headers and room for larger pictures.
const FIXED_SHARE: u64 = 90;
/// The quality that is sent where even it takes more than there is room for.
pub const LOWEST: u8 = 1;
/// What the ladder's rungs take.
pub const RUNGS: [u64; 3] = [250_000, 850_000, 3_400_000];
/// How long a rung is kept before the next higher one is tried, first and at most; twice as long after each failure.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_PATIENCE: Duration = Duration::from_secs(8);

/// Bytes of a frame at a number of bits a second.
pub fn bytes_of(bits: u64) -> usize {
    usize::try_from(bits / 8 / u64::from(FRAMES_PER_SECOND)).unwrap_or(usize::MAX)
}

/// How a rival chooses what to send.
pub enum Choice {
    /// One quality for all pictures.
    Fixed(u8),
    /// The rungs, by what the path delivers.
    Ladder(Ladder),
}

impl Choice {
    /// The best fixed quality for a link of a known mean rate.
    pub fn fixed(jpegs: &MotionJpeg, mean: u64) -> Result<Self> {
        Ok(Self::Fixed(jpegs.fitting_in_the_mean(bytes_of(mean * FIXED_SHARE / 100))?.unwrap_or(LOWEST)))
    }

    fn quality(&mut self, index: usize, jpegs: &MotionJpeg, skipped: u64, delivery_rate: Bitrate) -> Result<u8> {
        match self {
            Self::Fixed(quality) => Ok(*quality),
            Self::Ladder(ladder) => {
                let bits = RUNGS[ladder.rung(Instant::now(), skipped, delivery_rate)];
                Ok(jpegs.fitting(index, bytes_of(bits))?.unwrap_or(LOWEST))
            }
        }
    }
}

/// Which rung a receiver is on.
pub struct Ladder {
    rung: usize,
    since: Instant,
    patience: Duration,
    skipped: u64,
}

impl Default for Ladder {
    fn default() -> Self {
        Self { rung: 0, since: Instant::now(), patience: FIRST_PATIENCE, skipped: 0 }
    }
}

impl Ladder {
    /// Falls to what the path delivers when a picture had to be skipped, and tries the next rung when all is well.
    fn rung(&mut self, now: Instant, skipped: u64, delivery_rate: Bitrate) -> usize {
        let failed = std::mem::replace(&mut self.skipped, skipped) < skipped;
        if failed {
            // What was delivered of late is of the rung before, which need not fill the path.
            let carried = RUNGS.iter().rposition(|&rung| rung * 85 / 100 <= delivery_rate.bits()).unwrap_or(0);
            if carried < self.rung {
                self.patience = (2 * self.patience).min(LONGEST_PATIENCE);
            }
            (self.rung, self.since) = (carried.min(self.rung), now);
        } else if self.rung + 1 < RUNGS.len() && now - self.since > self.patience {
            (self.rung, self.since) = (self.rung + 1, now);
        }
        self.rung
    }
}

/// The clip as JPEGs, for one receiver.
pub struct JpegFrames {
    clip: Arc<Clip>,
    jpegs: Arc<MotionJpeg>,
    choice: Choice,
    ids: Range<u64>,
    due: Option<Interval>,
}

impl JpegFrames {
    /// The first `count` frames of the broadcast.
    pub fn new(clip: Arc<Clip>, jpegs: Arc<MotionJpeg>, choice: Choice, count: u64) -> Self {
        Self { clip, jpegs, choice, ids: 0..count, due: None }
    }

    fn frame(&mut self, id: u64, feedback: &Feedback) -> Result<Frame> {
        let index = self.clip.index(id);
        let (skipped, delivery_rate) = match feedback.statistics().receivers.first() {
            Some(receiver) => (receiver.sent.skipped, receiver.delivery_rate),
            None => (0, Bitrate::default()),
        };
        let quality = self.choice.quality(index, &self.jpegs, skipped, delivery_rate)?;
        // What was sent is found by its length: no pixels are sent, so that both ends need one set of files.
        let bytes = Bytes::from(vec![0; self.jpegs.bytes(index, quality)?]);
        let captured = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?;
        Ok(Frame { id, skipped: 0, captured, base: bytes.len(), bytes, join: None })
    }
}

impl FrameSource for JpegFrames {
    fn welcome(&self) -> Welcome {
        let size = self.clip.at(0).size();
        let [width, height] = [size.width(), size.height()].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
        Welcome {
            model: [0; 6],
            package: PackageHash([0; 32]),
            width,
            height,
            rate: (FRAMES_PER_SECOND, 1),
            video: None,
        }
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<Frame>, SourceError> {
        let time = self.welcome().interval();
        self.due.get_or_insert_with(|| interval(time)).tick().await;
        let Some(id) = self.ids.next() else { return Ok(None) };
        self.frame(id, feedback).map(Some).map_err(SourceError::failed)
    }
}
