//! Live video in virtual time: computed pictures, encoded as in the product, and a sink that decodes and compares.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nestcast_codec::{Format, FrameRate, Picture, Size, TransformError, VideoDecoder, VideoModel, Ycbcr};
use nestcast_encode::{PictureFormat, RenditionLimit};
use nestcast_lab::bottleneck::Bottleneck;
use nestcast_lab::video_frames::VideoFrames;
use nestcast_proto::{ReceiveStats, ReceivedFrame, Welcome};
use nestcast_receiver::{FrameSink, Readiness};

/// Width and height of the pictures.
pub const SIZE: [u32; 2] = [160, 96];
/// Frames a second.
pub const RATE: FrameRate = match FrameRate::new(30, 1) {
    Ok(rate) => rate,
    Err(_) => panic!("a rate"),
};
const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);
/// Samples that the ground moves in a frame, in quarters.
const PAN_SAMPLES: u32 = 3;

fn size() -> Size {
    Size::new(SIZE[0], SIZE[1]).expect("a valid size")
}

fn format() -> PictureFormat {
    PictureFormat::new(size(), FORMAT, FrameRate::new(RATE.frames(), RATE.seconds()).expect("a valid rate"))
}

/// Returns a picture of a video: smooth ground with fine grain that moves past, and a square that crosses it. Computed
/// once.
#[must_use]
pub fn picture(id: u64) -> Picture {
    static MADE: Mutex<BTreeMap<u64, Picture>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(id).or_insert_with(|| draw(id)).clone()
}

fn draw(id: u64) -> Picture {
    let time = u32::try_from(id).expect("few frames");
    let mut picture = Picture::zero(size(), FORMAT);
    let [width, height] = SIZE;
    let square = |x: u32, y: u32| (x + width - time * 2 % width) % width < 24 && (30..54).contains(&y);
    let wave = |at: f64| 30.0 * (at / 9.0).sin() + 16.0 * (at / 3.1).sin();
    let mut samples = picture.samples_mut().iter_mut();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let along = f64::from(4 * x + PAN_SAMPLES * time) / 4.0;
        let ground = 120.0 + wave(along) + wave(f64::from(y) * 1.7 + along / 2.0) * 0.8;
        let value = if square(x, y) { 200.0 - f64::from(y) } else { ground };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
        let value = value.clamp(16.0, 235.0) as u8;
        *samples.next().expect("as many samples") = value;
    }
    samples.for_each(|sample| *sample = 120);
    picture
}

/// Returns the luma PSNR in dB.
fn psnr(a: &Picture, b: &Picture) -> f64 {
    let luma = size().pixels();
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    let sum: f64 = a.samples()[..luma].iter().zip(b.samples()).map(square).sum();
    10.0 * (255.0 * 255.0 * luma as f64 / sum.max(1.0)).log10()
}

/// Encodes successive [`picture`]s for the present receivers.
#[must_use]
pub fn video_frames(limit: RenditionLimit) -> VideoFrames {
    VideoFrames::new(format(), (1, limit), picture)
}

/// Does the same as [`video_frames`] without storing pictures, so that a long test measures only the product's memory.
#[must_use]
pub fn drawn_video_frames(limit: RenditionLimit) -> VideoFrames {
    VideoFrames::new(format(), (1, limit), draw)
}

/// Does the same with noise that differs in every frame: its bases are as large as allowed.
#[must_use]
pub fn noisy_video_frames(limit: RenditionLimit) -> VideoFrames {
    VideoFrames::new(format(), (1, limit), |id| {
        let (mut noisy, mut state) = (picture(id), id + 1);
        for sample in &mut noisy.samples_mut()[..size().pixels()] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *sample = sample.saturating_add((state >> 59) as u8);
        }
        noisy
    })
}

/// The first frame of another scene.
pub const CUT: u64 = 60;

/// Returns [`picture`], and from [`CUT`] on its negative.
#[must_use]
pub fn cut_picture(id: u64) -> Picture {
    let mut picture = picture(id);
    if id >= CUT {
        picture.samples_mut()[..size().pixels()].iter_mut().for_each(|sample| *sample = 255 - *sample);
    }
    picture
}

/// Encodes successive [`cut_picture`]s for the present receivers.
#[must_use]
pub fn cut_video_frames(limit: RenditionLimit) -> VideoFrames {
    VideoFrames::new(format(), (1, limit), cut_picture)
}

/// A decoded frame.
#[derive(Debug, Clone, Copy)]
pub struct Decoded {
    /// Its number.
    pub id: u64,
    /// Bytes that arrived in time.
    pub bytes: usize,
    /// When it was shown, on the link's clock.
    pub at: Duration,
    /// The time since capture.
    pub latency: Duration,
    /// The time since its first bytes arrived.
    pub receiving: Duration,
    /// Luma PSNR against the original, in dB.
    pub psnr: f64,
}

/// Decodes frames and compares them.
#[derive(Debug)]
pub struct Viewer {
    original: fn(u64) -> Picture,
    decoder: VideoDecoder,
    picture: Picture,
}

impl Default for Viewer {
    fn default() -> Self {
        let decoder = VideoDecoder::new(VideoModel::built_in(), size(), 1);
        Self { original: picture, decoder, picture: Picture::zero(size(), FORMAT) }
    }
}

impl Viewer {
    /// Decodes the next frame, and returns its PSNR against the original.
    ///
    /// # Errors
    /// If it breaks the specification.
    pub fn view(&mut self, id: u64, frame: &[u8]) -> Result<f64, TransformError> {
        self.decoder.decode(frame)?;
        self.decoder.render_into(&mut self.picture)?;
        Ok(psnr(&(self.original)(id), &self.picture))
    }
}

/// Decodes received frames.
#[derive(Debug)]
pub struct Watcher {
    network: Bottleneck,
    viewer: Viewer,
    /// Frames in the order of arrival.
    pub decoded: Vec<Decoded>,
    /// What was received by the last frame.
    pub received: ReceiveStats,
}

impl Watcher {
    /// Watches a broadcast over this network.
    #[must_use]
    pub fn new(network: &Bottleneck) -> Self {
        let (network, viewer) = (network.clone(), Viewer::default());
        Self { network, viewer, decoded: Vec::new(), received: ReceiveStats::default() }
    }

    /// Compares with these pictures instead of [`picture`].
    #[must_use]
    pub fn compared_with(self, original: fn(u64) -> Picture) -> Self {
        Self { viewer: Viewer { original, ..self.viewer }, ..self }
    }

    /// Returns the mean PSNR of frames between two moments.
    #[must_use]
    pub fn psnr(&self, from: Duration, to: Duration) -> f64 {
        let within: Vec<_> = self.decoded.iter().filter(|frame| (from..to).contains(&frame.at)).collect();
        within.iter().map(|frame| frame.psnr).sum::<f64>() / within.len() as f64
    }

    /// Returns the longest time between two frames.
    #[must_use]
    pub fn longest_gap(&self) -> Duration {
        self.decoded.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap_or_default()
    }
}

impl FrameSink for Watcher {
    type Error = TransformError;

    async fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Readiness, TransformError> {
        assert!(welcome.video.is_some(), "video is announced");
        Ok(Readiness::Ready)
    }

    fn handle_frame(&mut self, frame: ReceivedFrame, stats: ReceiveStats) -> Result<(), TransformError> {
        let (id, bytes, at) = (frame.header.id, frame.prefix.len(), self.network.now());
        let psnr = self.viewer.view(id, &frame.prefix)?;
        let latency = at.saturating_sub(Duration::from_micros(frame.header.captured));
        let receiving = frame.shown.saturating_sub(frame.first);
        self.decoded.push(Decoded { id, bytes, at, latency, receiving, psnr });
        self.received = stats;
        Ok(())
    }
}
