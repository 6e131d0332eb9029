//! Live video in virtual time: pictures made by arithmetic, encoded as the product does, and a sink that decodes and compares.

use std::time::Duration;

use bytes::Bytes;
use nestcast_codec::{Format, FrameRate, Picture, Range, Size, VideoDecoder, VideoModel};
use nestcast_proto::{Arrived, PackageHash, ReceiveStats, Video, Welcome};
use nestcast_receiver::{FrameSink, Readiness};
use nestcast_sender::{Feedback, FrameSource, SourceError, VideoEncoding};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::bottleneck::Bottleneck;

/// Width and height of the pictures.
pub const SIZE: [u32; 2] = [160, 96];
/// Frames a second.
pub const RATE: FrameRate = FrameRate { frames: 30, seconds: 1 };
/// Samples that the ground moves in a frame, in quarters.
const PAN: u32 = 3;

fn size() -> Size {
    Size::new(SIZE[0], SIZE[1]).expect("a valid size")
}

/// How much of a picture is new in each: the most by which noise changes a sample.
pub type Noise = u32;
/// Of a video whose every bit a link of 4 Mbit/s is too slow for.
pub const NOISY: Noise = 8;

/// A picture of a video: smooth ground that moves past, a square that crosses it, and noise.
#[must_use]
pub fn picture(id: u64, noise: Noise) -> Picture {
    let time = u32::try_from(id).expect("few frames");
    let mut picture = Picture::zero(size(), Format::Ycbcr420(Range::Limited));
    let [width, height] = SIZE;
    let square = |x: u32, y: u32| (x + width - time * 2 % width) % width < 24 && (30..54).contains(&y);
    let wave = |at: f64| 30.0 * (at / 9.0).sin() + 16.0 * (at / 3.1).sin();
    let mut samples = picture.samples_mut().iter_mut();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let along = f64::from(4 * x + PAN * time) / 4.0;
        let ground = 120.0 + wave(along) + wave(f64::from(y) * 1.7 + along / 2.0) * 0.8;
        let value = if square(x, y) { 200.0 - f64::from(y) } else { ground };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
        let value = value.clamp(16.0, 235.0) as u8;
        // Knuth's multiplicative hash of place and time.
        let random = (x + 197 * y + 40_009 * time).wrapping_mul(2_654_435_761) >> 12;
        let grain = random % (2 * noise + 1);
        *samples.next().expect("as many samples") = value.saturating_add_signed(signed(grain) - signed(noise));
    }
    samples.for_each(|sample| *sample = 120);
    picture
}

fn signed(number: u32) -> i8 {
    i8::try_from(number).expect("noise is small")
}

/// Luma PSNR in dB.
fn psnr(a: &Picture, b: &Picture) -> f64 {
    let luma = size().pixels();
    let square = |(a, b): (&u8, &u8)| f64::from(a.abs_diff(*b)).powi(2);
    let sum: f64 = a.samples()[..luma].iter().zip(b.samples()).map(square).sum();
    10.0 * (255.0 * 255.0 * luma as f64 / sum.max(1.0)).log10()
}

/// [`picture`] after picture, encoded for the receivers of now.
#[derive(Debug)]
pub struct VideoFrames {
    encoding: VideoEncoding,
    noise: Noise,
    id: u64,
    due: Option<(Instant, Interval)>,
}

impl VideoFrames {
    /// With so much noise.
    #[must_use]
    pub fn new(noise: Noise) -> Self {
        Self { encoding: VideoEncoding::new(size(), RATE, 1), noise, id: 0, due: None }
    }
}

impl FrameSource for VideoFrames {
    fn welcome(&self) -> Welcome {
        let [key, residual] = VideoModel::built_in().ids();
        let video = Some(Video { residual: residual.0, full_range: false });
        let (package, rate) = (PackageHash([0; 32]), (RATE.frames, RATE.seconds));
        Welcome { model: key.0, package, width: SIZE[0], height: SIZE[1], rate, video }
    }

    async fn next(&mut self, feedback: &Feedback) -> Result<Option<nestcast_proto::Frame>, SourceError> {
        let interval = self.welcome().interval();
        let (began, due) = self.due.get_or_insert_with(|| {
            let mut due = interval_at(Instant::now() + interval, interval);
            due.set_missed_tick_behavior(MissedTickBehavior::Delay);
            (Instant::now(), due)
        });
        let captured = u64::try_from((due.tick().await - *began).as_micros()).unwrap_or(u64::MAX);
        let id = self.id;
        self.id += 1;
        let frame =
            self.encoding.encode(&picture(id, self.noise), (id, 0, captured), feedback).map_err(SourceError::failed)?;
        Ok(Some(frame))
    }
}

/// A frame that was decoded.
#[derive(Debug, Clone, Copy)]
pub struct Decoded {
    /// Its number.
    pub id: u64,
    /// Bytes that came in time.
    pub bytes: usize,
    /// When, on the link's clock.
    pub at: Duration,
    /// From capture on.
    pub latency: Duration,
    /// From its first bytes on.
    pub receiving: Duration,
    /// How near it is to the original, luma, in dB.
    pub psnr: f64,
}

/// Decodes frames and compares them.
#[derive(Debug)]
pub struct Viewer {
    decoder: VideoDecoder,
    picture: Picture,
    noise: Noise,
}

impl Viewer {
    /// Of a video with so much noise.
    #[must_use]
    pub fn new(noise: Noise) -> Self {
        let decoder = VideoDecoder::new(VideoModel::built_in(), size(), 1);
        Self { decoder, picture: Picture::zero(size(), Format::Ycbcr420(Range::Limited)), noise }
    }

    /// Decodes the next frame, and gives how near it is to the original.
    ///
    /// # Errors
    /// If it breaks the specification.
    pub fn view(&mut self, id: u64, frame: &[u8]) -> Result<f64, nestcast_codec::Error> {
        self.decoder.decode(frame)?;
        self.decoder.render_into(&mut self.picture)?;
        Ok(psnr(&picture(id, self.noise), &self.picture))
    }
}

/// Decodes what comes.
#[derive(Debug)]
pub struct Watcher {
    network: Bottleneck,
    viewer: Viewer,
    /// Frames in the order in which they came.
    pub decoded: Vec<Decoded>,
    /// What came, as of the last frame.
    pub received: ReceiveStats,
}

impl Watcher {
    /// Of a broadcast over this network, of a video with so much noise.
    #[must_use]
    pub fn new(network: &Bottleneck, noise: Noise) -> Self {
        let (network, viewer) = (network.clone(), Viewer::new(noise));
        Self { network, viewer, decoded: Vec::new(), received: ReceiveStats::default() }
    }

    /// The mean PSNR of frames between two moments.
    #[must_use]
    pub fn psnr(&self, from: Duration, to: Duration) -> f64 {
        let within: Vec<_> = self.decoded.iter().filter(|frame| (from..to).contains(&frame.at)).collect();
        within.iter().map(|frame| frame.psnr).sum::<f64>() / within.len() as f64
    }

    /// The longest time between two frames that were shown between two moments.
    #[must_use]
    pub fn longest_gap(&self, from: Duration, to: Duration) -> Duration {
        let within: Vec<_> = self.decoded.iter().filter(|frame| (from..to).contains(&frame.at)).collect();
        within.windows(2).map(|pair| pair[1].at - pair[0].at).max().unwrap_or_default()
    }

    /// From capture until it was there: so many percent of the frames between two moments took no longer.
    #[must_use]
    pub fn latency(&self, percent: usize, from: Duration, to: Duration) -> Duration {
        let within = self.decoded.iter().filter(|frame| (from..to).contains(&frame.at));
        let mut latencies: Vec<_> = within.map(|frame| frame.latency).collect();
        latencies.sort_unstable();
        latencies.get(latencies.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default()
    }

    /// Frames behind the first that were not decoded.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let [first, last] = [self.decoded.first(), self.decoded.last()].map(|frame| frame.map_or(0, |frame| frame.id));
        (last - first + 1).saturating_sub(self.decoded.len() as u64)
    }

    /// Frames behind a change until one is within 1.5 dB of the mean of the last second.
    #[must_use]
    pub fn frames_until_settled(&self, change: Duration) -> usize {
        let Some(last) = self.decoded.last() else { return 0 };
        let settled = self.psnr(last.at.saturating_sub(Duration::from_secs(1)), last.at);
        let behind = self.decoded.iter().filter(|frame| frame.at - frame.latency >= change);
        behind.take_while(|frame| frame.psnr < settled - 1.5).count()
    }

    /// What it saw, in a line.
    #[must_use]
    pub fn describe(&self) -> String {
        let end = Duration::MAX;
        let latency = [50, 95, 100].map(|percent| self.latency(percent, Duration::ZERO, end).as_millis());
        let second = |second| self.psnr(Duration::from_secs(second), Duration::from_secs(second + 1));
        let psnr: Vec<_> = (0..8).map(|at| format!("{:.1}", second(at))).collect();
        let (gap, received) = (self.longest_gap(Duration::ZERO, end), self.received);
        format!("latency {latency:?} ms, gap {gap:?}, {} missing, {} dB, {received:?}", self.missing(), psnr.join(" "))
    }
}

impl FrameSink for Watcher {
    type Error = nestcast_codec::Error;

    async fn handle_welcome(&mut self, welcome: &Welcome) -> Result<Readiness, nestcast_codec::Error> {
        assert!(welcome.video.is_some(), "video is announced");
        Ok(Readiness::Ready)
    }

    async fn handle_package(&mut self, _package: Bytes) -> Result<(), nestcast_codec::Error> {
        Ok(())
    }

    fn handle_frame(&mut self, frame: Arrived, stats: ReceiveStats) -> Result<(), nestcast_codec::Error> {
        let (id, bytes, at) = (frame.header.id, frame.prefix.len(), self.network.now());
        let psnr = self.viewer.view(id, &frame.prefix)?;
        let latency = at.saturating_sub(Duration::from_micros(frame.header.captured));
        let receiving = frame.shown.saturating_sub(frame.first);
        self.decoded.push(Decoded { id, bytes, at, latency, receiving, psnr });
        self.received = stats;
        Ok(())
    }
}
