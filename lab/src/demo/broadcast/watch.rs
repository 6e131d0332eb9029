//! The demo's viewer of a broadcast: it decodes, compares, and keeps the pictures that the page plays.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nestcast_codec::{Picture, TransformError, VideoDecoder, VideoModel};
use nestcast_proto::{ReceiveStats, ReceivedFrame};
use nestcast_receiver::FrameSink;

use super::played;
use super::schedule::LENGTH_SECONDS;
use crate::bottleneck::Bottleneck;
use crate::clip::Clip;
use crate::metrics;

/// A frame that was shown.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) id: u64,
    pub(super) bytes: usize,
    /// From the moment the frame was due at the sender until the receiver hands it over to be shown.
    pub(super) latency: Duration,
    /// PSNR of luma, in dB.
    pub(super) psnr: f64,
    /// The picture, if this frame is one of those kept.
    pub(super) picture: Option<Picture>,
}

/// Records what a receiver shows.
pub(super) struct Watcher {
    clip: Arc<Clip>,
    network: Bottleneck,
    /// Frames whose pictures are kept.
    kept: Range<u64>,
    decoder: VideoDecoder,
    picture: Picture,
    pub(super) seen: Vec<Seen>,
    /// The time that decoding took, on this machine.
    pub(super) decode: Duration,
}

impl Watcher {
    pub(super) fn new(clip: &Arc<Clip>, network: &Bottleneck) -> Self {
        Self {
            clip: Arc::clone(clip),
            network: network.clone(),
            kept: played::ids(clip),
            decoder: VideoDecoder::new(VideoModel::built_in(), clip.size(), 1),
            picture: Picture::zero(clip.size(), clip.at(0).format()),
            seen: Vec::new(),
            decode: Duration::ZERO,
        }
    }
}

impl FrameSink for Watcher {
    type Error = TransformError;

    fn handle_frame(&mut self, frame: ReceivedFrame, _stats: ReceiveStats) -> Result<(), TransformError> {
        let id = frame.header.id;
        let bytes = frame.prefix.len();
        if id >= self.clip.frames_in(LENGTH_SECONDS) {
            return Ok(());
        }
        let start = Instant::now();
        self.decoder.decode(&frame.prefix)?;
        self.decoder.render_into(&mut self.picture)?;
        self.decode += start.elapsed();
        let latency = self.network.now().saturating_sub(Duration::from_micros(frame.header.captured));
        let psnr = metrics::luma_psnr(self.clip.at(id), &self.picture);
        let picture = self.kept.contains(&id).then(|| self.picture.clone());
        self.seen.push(Seen { id, bytes, latency, psnr, picture });
        Ok(())
    }
}
