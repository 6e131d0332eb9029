//! A video at several rates: encoded once, decoded as the receiver of each rate would, and compared with each frame
//! coded alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use nestcast_codec::{
    Bitrate, Budget, Codec, Decoder, Effort, Encoder, FrameRate, MAX_HEADER, Picture, Restoration, VideoDecoder,
    VideoModel, VideoRenditions, VideoSettings,
};
use serde::{Deserialize, Serialize};

use crate::bd::{self, Point};
use crate::metrics::ycbcr_psnr;

/// Quality counts from this frame on, counted from 0, because bytes of the first frame fill those before it. Bytes
/// count from the first frame on.
pub const FIRST_FRAME: usize = 8;

/// One frame at one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// Bytes of the frame that the receiver got.
    pub bytes: usize,
    /// PSNR of luma in dB.
    pub luma_db: f64,
    /// PSNR of luma, blue and red difference in dB, weighted 6:1:1.
    pub ycbcr_db: f64,
}

/// What one receiver showed.
#[derive(Clone, Debug)]
pub struct Run {
    /// The receiver's rate, bits per second.
    pub rate: Bitrate,
    /// The frames in the order in which they are shown.
    pub frames: Vec<Frame>,
    /// The time to decode.
    pub decode: Duration,
}

/// Quality over the frames of a run, in dB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// The largest difference between two frames that follow each other.
    pub jump: f64,
}

/// What all receivers showed.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Frames predicted from those before, by rising rate.
    pub video: Vec<Run>,
    /// Every frame coded alone as a picture, at the same rates.
    pub intra: Vec<Run>,
    /// The time to encode the video, once for all rates.
    pub encode: Duration,
}

impl Run {
    fn new(rate: Bitrate) -> Self {
        Self { rate, frames: Vec::new(), decode: Duration::ZERO }
    }

    /// Returns the bytes of all frames.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.bytes).sum()
    }

    /// Returns the quality from [`FIRST_FRAME`] on, or of all frames if fewer than two follow it.
    #[must_use]
    pub fn summary(&self, db: impl Fn(&Frame) -> f64) -> Summary {
        Summary::of(&self.frames, db)
    }
}

impl Frame {
    /// Compares two frames of planar YCbCr 4:2:0, the second decoded from `bytes`.
    ///
    /// # Panics
    /// If they differ in shape, as in [`ycbcr_psnr`].
    #[must_use]
    pub fn new(bytes: usize, original: &Picture, decoded: &Picture) -> Self {
        let psnr = ycbcr_psnr(original, decoded);
        Self { bytes, luma_db: psnr.luma, ycbcr_db: psnr.weighted() }
    }
}

impl Summary {
    /// Measures from [`FIRST_FRAME`] on, or all frames if fewer than two follow it.
    #[must_use]
    pub fn of(frames: &[Frame], db: impl Fn(&Frame) -> f64) -> Self {
        let settled = frames.get(FIRST_FRAME..).filter(|settled| settled.len() > 1).unwrap_or(frames);
        let all: Vec<f64> = settled.iter().map(db).collect();
        Self {
            mean: all.iter().sum::<f64>() / all.len() as f64,
            least: all.iter().copied().fold(f64::INFINITY, f64::min),
            jump: all.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(0.0, f64::max),
        }
    }
}

impl Measured {
    /// Returns the video's BD-rate against coding each frame alone, in percent; `None` where their qualities do not
    /// overlap.
    #[must_use]
    pub fn bd_rate(&self, db: impl Fn(&Frame) -> f64 + Copy) -> Option<f64> {
        let curve = |runs: &[Run]| -> Vec<Point> {
            // Both curves have the same number of frames, so bytes serve as a rate.
            runs.iter().map(|run| Point { bpp: run.bytes() as f64, quality: run.summary(db).mean }).collect()
        };
        Some(bd::delta_rate(&curve(&self.intra), &curve(&self.video))?.percent)
    }
}

/// Returns the kbit/s of `frames` frames of `bytes` together.
#[must_use]
pub fn kbps(bytes: u64, frames: u64, rate: FrameRate) -> f64 {
    let seconds = frames.max(1) as f64 / rate.per_second();
    bytes as f64 * 8e-3 / seconds
}

/// Measures a video frame by frame; it keeps figures, but no frames.
pub struct Measurement {
    encoder: VideoRenditions,
    video: Vec<Receiver>,
    alone: Alone,
    decoded: Option<Picture>,
    encode: Duration,
}

struct Receiver {
    /// The index of its rendition.
    of: usize,
    decoder: VideoDecoder,
    budget: Budget,
    run: Run,
}

/// The coders of every frame as a picture.
struct Alone {
    encoder: Encoder,
    decoder: Decoder,
    frame_rate: FrameRate,
    runs: Vec<Run>,
}

impl Measurement {
    /// Measures receivers of these rates with an encoder of these settings that makes `renditions`
    /// renditions.
    ///
    /// # Errors
    /// If the codec does not support this number of renditions.
    pub fn new(settings: &VideoSettings, renditions: usize, effort: Effort, rates: &[Bitrate]) -> Result<Self> {
        let VideoSettings { size, rate: frame_rate, threads, .. } = *settings;
        let model = VideoModel::built_in();
        let encoder = VideoRenditions::new(&model, settings.clone(), renditions)?;
        let encoder = encoder.with_effort(effort).with_known_receivers(true);
        let renditions = encoder.rates();
        let receiver = |&rate: &Bitrate| Receiver {
            of: renditions.serving(rate),
            // The caller holds the original in memory too, so a limit would not help.
            decoder: VideoDecoder::new(model.clone(), size, threads).with_max_pixels(u64::MAX),
            budget: Budget::new(rate, frame_rate),
            run: Run::new(rate),
        };
        Ok(Self {
            video: rates.iter().map(receiver).collect(),
            alone: Alone::new(frame_rate, rates),
            encoder,
            decoded: None,
            encode: Duration::ZERO,
        })
    }

    /// Adds the restoration that receivers apply to decoded frames.
    #[must_use]
    pub fn with_restoration(mut self, restoration: &Arc<dyn Restoration>) -> Self {
        let receivers = self.video.into_iter();
        let restored = receivers.map(|receiver| Receiver {
            decoder: receiver.decoder.with_restoration(Arc::clone(restoration)),
            ..receiver
        });
        self.video = restored.collect();
        self
    }

    /// Measures the next frame, planar YCbCr 4:2:0 of the size in the settings.
    ///
    /// # Errors
    /// If the frame has another shape.
    pub fn push(&mut self, original: &Picture) -> Result<()> {
        let start = Instant::now();
        let frames = self.encoder.encode(original)?;
        self.encode += start.elapsed();
        let decoded = self.decoded.get_or_insert_with(|| Picture::zero(original.size(), original.format()));
        for Receiver { of, decoder, budget, run } in &mut self.video {
            let frame = &frames[*of];
            let count = budget.cut(&frame.bytes, 0)?;
            let start = Instant::now();
            decoder.decode(&frame.bytes[..count])?;
            decoder.render_into(&mut *decoded)?;
            run.decode += start.elapsed();
            run.frames.push(Frame::new(count, original, decoded));
        }
        self.alone.push(original, decoded)
    }

    /// Returns the figures of all frames.
    #[must_use]
    pub fn finish(self) -> Measured {
        let video = self.video.into_iter().map(|receiver| receiver.run).collect();
        Measured { video, intra: self.alone.runs, encode: self.encode }
    }
}

impl Alone {
    fn new(frame_rate: FrameRate, rates: &[Bitrate]) -> Self {
        let codec = Codec::photo();
        let most = rates.iter().map(|rate| rate.bytes_per_frame(frame_rate)).max().unwrap_or(0).saturating_add(1);
        Self {
            encoder: codec.encoder().with_max_bytes(most.max(MAX_HEADER)),
            decoder: codec.decoder(),
            frame_rate,
            runs: rates.iter().map(|&rate| Run::new(rate)).collect(),
        }
    }

    fn push(&mut self, original: &Picture, decoded: &mut Picture) -> Result<()> {
        let stream = self.encoder.encode(original)?;
        for run in &mut self.runs {
            // Whole bytes: those due by the frame's end, less those due before.
            let due =
                |frames: usize| Bitrate::from_bits(run.rate.bits() * frames as u64).bytes_per_frame(self.frame_rate);
            let number = run.frames.len();
            let prefix = stream.prefix((due(number + 1) - due(number)).max(MAX_HEADER));
            let start = Instant::now();
            self.decoder.reset();
            self.decoder.push(&prefix)?;
            self.decoder.render_into(&mut *decoded)?;
            run.decode += start.elapsed();
            run.frames.push(Frame::new(prefix.len(), original, decoded));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Format, Population, Size, Ycbcr};

    use super::*;

    /// A texture that moves by two pixels a frame.
    fn frame(size: Size, number: usize) -> Picture {
        let format = Format::Ycbcr420(Ycbcr::BT601);
        let mut samples = Vec::new();
        for plane in 0..3 {
            let [width, height] = format.plane(size, plane);
            let step = if plane == 0 { 2 } else { 1 };
            let sample = |x: usize, y: usize| 60 + ((x * 7) ^ (y * 5)) % 90 + (x * y) % 31;
            let rows = (0..height).flat_map(|y| (0..width).map(move |x| sample(x + step * number, y)));
            samples.extend(rows.map(|sample| u8::try_from(sample).expect("below 256")));
        }
        Picture::new(size, format, samples).expect("the shape fits")
    }

    #[test]
    fn a_video_is_measured_at_every_rate_and_beats_frames_alone() {
        let size = Size::new(64, 48).expect("a valid size");
        let rate = FrameRate::new(30, 1).expect("a rate");
        let rates = [60_000, 120_000, 240_000].map(Bitrate::from_bits);
        let population = Population::log_uniform(Bitrate::from_bits(60_000)..=Bitrate::from_bits(240_000));
        let settings = VideoSettings { size, rate, population, threads: 1 };
        let mut measurement = Measurement::new(&settings, 1, Effort::Normal, &rates).expect("one loop");
        for number in 0..16 {
            measurement.push(&frame(size, number)).expect("its shape");
        }
        let measured = measurement.finish();
        for runs in [&measured.video, &measured.intra] {
            let db: Vec<f64> = runs.iter().map(|run| run.summary(|frame| frame.luma_db).mean).collect();
            assert!(db[0] < db[1] && db[1] < db[2], "{db:?}");
            for run in runs {
                assert_eq!(run.frames.len(), 16);
                let most = run.rate.bits() as f64 / 8.0 * 16.0 / 30.0;
                assert!((run.bytes() as f64) <= most && run.bytes() as f64 > 0.8 * most, "{} of {most}", run.bytes());
            }
        }
        for (video, intra) in measured.video.iter().zip(&measured.intra) {
            let [video, intra] = [video, intra].map(|run| run.summary(|frame| frame.luma_db).mean);
            assert!(video > intra + 0.5, "{video} {intra}");
        }
        assert!(measured.encode > Duration::ZERO);
    }

    #[test]
    fn half_the_bytes_at_equal_quality_are_half_the_rate() {
        let run = |(bytes, luma_db): (usize, f64)| {
            let mut run = Run::new(Bitrate::from_bits(1));
            run.frames = vec![Frame { bytes, luma_db, ycbcr_db: 0.0 }; 3];
            run
        };
        let points = [(100, 30.0), (200, 34.0), (400, 37.0)];
        let measured = Measured {
            video: points.map(|(bytes, db)| run((bytes / 2, db))).into(),
            intra: points.map(run).into(),
            encode: Duration::ZERO,
        };
        assert!(measured.bd_rate(|frame| frame.luma_db).is_some_and(|percent| (percent + 50.0).abs() < 1e-9));
        assert_eq!(measured.bd_rate(|frame| frame.ycbcr_db), None);
    }

    #[test]
    fn quality_counts_behind_the_first_frames() {
        let frame = |luma_db: f64| Frame { bytes: 10, luma_db, ycbcr_db: 0.0 };
        let mut run = Run::new(Bitrate::from_bits(1));
        run.frames = [vec![frame(9.0); FIRST_FRAME], [30.0, 33.0, 32.0].map(frame).to_vec()].concat();
        let summary = run.summary(|frame| frame.luma_db);
        assert_eq!((summary.least, summary.jump, run.bytes()), (30.0, 3.0, 110));
        assert!((summary.mean - 95.0 / 3.0).abs() < 1e-12);
        run.frames.truncate(2);
        assert_eq!(run.summary(|frame| frame.luma_db), Summary { mean: 9.0, least: 9.0, jump: 0.0 });
    }
}
