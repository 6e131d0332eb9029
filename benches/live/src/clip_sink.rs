//! A sink that measures: decodes the frames of the clip and compares each picture with the original.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use nestcast_codec::Picture;
use nestcast_lab::clip::Clip;
use nestcast_lab::metrics;
use nestcast_proto::{Arrived, ReceiveStats, Welcome};
use nestcast_receiver::{FrameSink, Readiness};

/// A frame that was due: shown, or the one before it still stands.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// Its number.
    pub id: u64,
    /// Bytes that came of it in time; zero if it was not shown.
    pub bytes: usize,
    /// From capture to picture, if it was shown.
    pub latency: Option<Duration>,
    /// What a viewer sees at its time, against the original.
    pub psnr: f64,
    /// Bytes that the frame has in full; zero if it was not shown.
    pub full: u64,
}

/// Decodes as frames come: pictures are small.
pub struct ClipSink<D> {
    clip: Arc<Clip>,
    decode: D,
    seen: Vec<Seen>,
    last: Option<(u64, Picture)>,
}

impl<D: FnMut(u64, &[u8]) -> Option<Picture> + Send> ClipSink<D> {
    /// `decode` gets a frame's number and prefix.
    pub fn new(clip: Arc<Clip>, decode: D) -> Self {
        Self { clip, decode, seen: Vec::new(), last: None }
    }

    /// What was seen, a frame each.
    pub fn into_seen(self) -> Vec<Seen> {
        self.seen
    }
}

impl<D: FnMut(u64, &[u8]) -> Option<Picture> + Send> FrameSink for ClipSink<D> {
    type Error = Infallible;

    async fn handle_welcome(&mut self, _welcome: &Welcome) -> Result<Readiness, Infallible> {
        Ok(Readiness::Ready)
    }

    async fn handle_package(&mut self, _package: Bytes) -> Result<(), Infallible> {
        Ok(())
    }

    fn handle_frame(&mut self, frame: Arrived, _stats: ReceiveStats) -> Result<(), Infallible> {
        let (id, bytes, full) = (frame.header.id, frame.prefix.len(), frame.header.full);
        let Some(picture) = (self.decode)(id, &frame.prefix) else { return Ok(()) };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let latency = Some(now.saturating_sub(Duration::from_micros(frame.header.captured)));
        if let Some((last, picture)) = &self.last {
            for id in last + 1..id {
                let psnr = metrics::psnr(self.clip.at(id), picture);
                self.seen.push(Seen { id, bytes: 0, latency: None, psnr, full: 0 });
            }
        }
        let psnr = metrics::psnr(self.clip.at(id), &picture);
        self.seen.push(Seen { id, bytes, latency, psnr, full });
        self.last = Some((id, picture));
        Ok(())
    }
}
