//! A source without an encoder: it repeats one frame's bytes.

use std::time::Duration;

use bytes::Bytes;
use nestcast_lab::pace::{Pace, microseconds};
use nestcast_proto::{
    BroadcastFrame, Demand, Frame, FrameRate, PackageHash, RandomAccessFrame, SourceError, Video, Welcome,
};
use nestcast_sender::FrameSource;

/// Frames a second.
pub const RATE: u32 = 30;

/// The same bytes 30 times a second. Ids count from 0; a frame's capture time is when it was due, counted from the
/// first request.
#[derive(Debug)]
pub struct StillFrames {
    bytes: Bytes,
    base: usize,
    time: Duration,
    /// Whether frames claim to need earlier ones.
    video: bool,
    /// Frames a second.
    rate: u32,
    id: u64,
    pace: Pace,
}

impl StillFrames {
    /// Makes frames of `bytes` bytes, of which the first `base` are the base, for `time`.
    #[must_use]
    pub fn new(bytes: usize, base: usize, time: Duration) -> Self {
        let pace = Pace::new(Duration::from_secs(1) / RATE);
        Self { bytes: vec![7; bytes].into(), base, time, video: false, rate: RATE, id: 0, pace }
    }
}

impl StillFrames {
    /// Makes this many frames a second.
    #[must_use]
    pub fn at_rate(self, rate: u32) -> Self {
        Self { rate, pace: Pace::new(Duration::from_secs(1) / rate), ..self }
    }

    /// Makes it a video: every frame needs the ones before, and a receiver that joins gets one that does not.
    #[must_use]
    pub const fn of_video(mut self) -> Self {
        self.video = true;
        self
    }
}

impl FrameSource for StillFrames {
    fn welcome(&self) -> Welcome {
        let video = self.video.then_some(Video::new([1; 6]));
        Welcome {
            model: [1; 6],
            package: PackageHash([1; 32]),
            width: 1,
            height: 1,
            rate: FrameRate::new(self.rate, 1).expect("a rate"),
            video,
        }
    }

    async fn next(&mut self, demand: &Demand) -> Result<Option<BroadcastFrame>, SourceError> {
        let captured = self.pace.next().await;
        if captured >= self.time {
            return Ok(None);
        }
        let (id, captured) = (self.id, microseconds(captured));
        self.id += 1;
        let (base, bytes) = (self.base, self.bytes.clone());
        let join = (self.video && demand.take_random_access_request())
            .then(|| RandomAccessFrame { base, bytes: bytes.clone() });
        Ok(Some(Frame { id, skipped: 0, captured, since: id, base, bytes, join }.into()))
    }
}
