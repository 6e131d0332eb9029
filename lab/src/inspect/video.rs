//! Reports on a stored video: its header, and one line for each frame.

use std::fmt::{self, Display, Formatter};
use std::io::Read;
use std::time::Duration;

use anyhow::Result;
use nestcast_codec::{FrameRate, Matrix, Picture, Range, VideoDecoder, VideoHeader, VideoModel};
use nestcast_media::{stored::StoredFrame, y4m};
use serde::Serialize;

use crate::metrics::{YcbcrPsnr, ycbcr_psnr};
use crate::rate_distortion::rounded;
use crate::video::kbps;

/// The longest time from one frame to the next that counts. After a longer one, or after a step back, another broadcast
/// begins, and the step counts as a frame interval.
const LONGEST_STEP: Duration = Duration::from_secs(30);

/// All lines of the report.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Line {
    /// The header.
    Video(Video),
    /// A frame.
    Frame(Frame),
    /// The sums over all frames.
    Total(Total),
}

/// The header of a video.
#[derive(Debug, Serialize)]
pub struct Video {
    file: String,
    width: usize,
    height: usize,
    frames_per_second: f64,
    /// Bits of a sample.
    bits: u8,
    full_range: bool,
    matrix: &'static str,
    /// The models of frames predicted from nothing, and of residuals.
    model_ids: [String; 2],
    /// The bit rate of each rendition's slowest receiver, in bits a second, if the video has several renditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    renditions_bps: Vec<u64>,
    /// The rendition whose frames follow, counted from 0.
    #[serde(rename = "rendition")]
    chosen: usize,
    /// Whether frames are compared with an original.
    #[serde(skip)]
    compared: bool,
}

/// A frame; its parts are unknown if it was cut inside its head.
#[derive(Debug, Serialize)]
pub struct Frame {
    frame: u64,
    kind: Option<&'static str>,
    /// Bytes of head and side information.
    side: Option<usize>,
    /// Bytes up to the end of the base-layer reference, and of the enhancement reference.
    base_reference: Option<usize>,
    enhancement_reference: Option<usize>,
    bytes: usize,
    luma_db: Option<f64>,
    ycbcr_db: Option<f64>,
}

/// Sums over all frames, and the mean of the compared ones.
#[derive(Debug, Serialize)]
pub struct Total {
    frames: u64,
    keys: u64,
    /// Frames that a decoder can begin with: keys, and frames that a random-access frame can stand for.
    beginnings: u64,
    /// The longest time from one of these to the next one, or to the end.
    longest_to_next_s: f64,
    bytes: u64,
    kbps: f64,
    luma_db: Option<f64>,
}

impl Line {
    /// Takes the video's name, the rendition that is read, and whether frames are compared with an original.
    #[must_use]
    pub fn of_header(file: &str, header: &VideoHeader, chosen: usize, compared: bool) -> Self {
        let several = header.renditions.count() > 1;
        Self::Video(Video {
            file: file.to_owned(),
            width: header.size.width(),
            height: header.size.height(),
            frames_per_second: rounded(header.rate.per_second(), 3),
            bits: header.bits,
            full_range: header.colours.range == Range::Full,
            matrix: if header.colours.matrix == Matrix::Bt709 { "BT.709" } else { "BT.601" },
            model_ids: header.models.map(|model| model.to_string()),
            renditions_bps: if several {
                header.renditions.rates().iter().map(|rate| rate.bits()).collect()
            } else {
                Vec::new()
            },
            chosen,
            compared,
        })
    }
}

/// Counts frames, and makes a line of each.
#[derive(Debug)]
pub struct Frames {
    rate: FrameRate,
    frames: u64,
    keys: u64,
    beginnings: u64,
    /// When the last frame was captured, in microseconds, if the file says so.
    captured: Option<u64>,
    /// The time since the last frame that a decoder can begin with, and the longest time after one.
    since: Duration,
    longest: Duration,
    bytes: u64,
    /// PSNR of luma of the compared frames.
    luma_db: Vec<f64>,
}

impl Frames {
    /// Takes the frames of a video of this rate.
    #[must_use]
    pub const fn new(rate: FrameRate) -> Self {
        let (captured, since, longest) = (None, Duration::ZERO, Duration::ZERO);
        Self { rate, frames: 0, keys: 0, beginnings: 0, captured, since, longest, bytes: 0, luma_db: Vec::new() }
    }

    /// Returns the line of the next frame. `has_random_access` says whether a random-access frame can stand for it; `psnr`
    /// is its comparison with the original, if any.
    pub fn line(&mut self, frame: &StoredFrame, has_random_access: bool, psnr: Option<YcbcrPsnr>) -> Line {
        let head = frame.head;
        let bytes = frame.bytes.len();
        let is_key = head.is_some_and(|head| head.key);
        let step = self.step_to(frame.captured);
        self.since = self.since.saturating_add(step);
        self.longest = self.longest_with(Duration::ZERO);
        if is_key || has_random_access {
            self.beginnings += 1;
            self.since = Duration::ZERO;
        }
        self.frames += 1;
        self.keys += u64::from(is_key);
        self.bytes += bytes as u64;
        self.luma_db.extend(psnr.map(|psnr| psnr.luma));
        Line::Frame(Frame {
            frame: frame.number,
            kind: head.map(|head| if head.key { "key" } else { "inter" }),
            side: head.map(|head| head.side),
            base_reference: head.map(|head| head.base),
            enhancement_reference: head.map(|head| head.enhancement_reference),
            bytes,
            luma_db: psnr.map(|psnr| rounded(psnr.luma, 3)),
            ycbcr_db: psnr.map(|psnr| rounded(psnr.weighted(), 3)),
        })
    }

    /// Returns the time from the last frame to the next one, which was captured then.
    fn step_to(&mut self, captured: Option<u64>) -> Duration {
        let before = std::mem::replace(&mut self.captured, captured);
        let step = before.zip(captured).and_then(|(before, captured)| captured.checked_sub(before));
        step.map(Duration::from_micros).filter(|step| *step <= LONGEST_STEP).unwrap_or(self.rate.interval())
    }

    /// Returns the longest time after a frame that a decoder can begin with, if the last frame lasts this long.
    fn longest_with(&self, last: Duration) -> Duration {
        if self.beginnings == 0 { self.longest } else { self.longest.max(self.since.saturating_add(last)) }
    }

    /// Returns the number of frames so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.frames
    }

    /// Returns the line of all frames together.
    #[must_use]
    pub fn total(&self) -> Line {
        let Self { rate, frames, keys, beginnings, bytes, ref luma_db, .. } = *self;
        let longest = self.longest_with(rate.interval());
        let mean = luma_db.iter().sum::<f64>() / luma_db.len() as f64;
        let luma_db = (!luma_db.is_empty()).then(|| rounded(mean, 3));
        let (longest_to_next_s, kbps) = (rounded(longest.as_secs_f64(), 3), rounded(kbps(bytes, frames, rate), 2));
        Line::Total(Total { frames, keys, beginnings, longest_to_next_s, bytes, kbps, luma_db })
    }
}

/// Decodes frames and compares them with their original video.
#[derive(Debug)]
pub struct Comparison<R> {
    decoder: VideoDecoder,
    frames: y4m::Frames<R>,
    original: Picture,
    decoded: Picture,
}

impl<R: Read> Comparison<R> {
    /// Decodes frames of the original's size and range of samples, on `threads` threads.
    #[must_use]
    pub fn new(model: VideoModel, original: y4m::Frames<R>, threads: usize) -> Self {
        let decoder = VideoDecoder::new(model, original.size(), threads).with_max_pixels(u64::MAX);
        let picture = original.picture();
        let decoded = original.picture();
        Self { decoder, frames: original, original: picture, decoded }
    }

    /// Returns the PSNR of the next frame; `None` if it cannot be decoded, or is not in the original.
    ///
    /// # Errors
    /// If the original cannot be read.
    pub fn psnr(&mut self, frame: &[u8]) -> Result<Option<YcbcrPsnr>> {
        if !self.frames.read_into(&mut self.original)? || self.decoder.decode(frame).is_err() {
            return Ok(None);
        }
        self.decoder.render_into(&mut self.decoded)?;
        Ok(Some(ycbcr_psnr(&self.original, &self.decoded)))
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Video(video) => video.fmt(f),
            Self::Frame(frame) => frame.fmt(f),
            Self::Total(total) => total.fmt(f),
        }
    }
}

impl Display for Video {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, width, height, frames_per_second, full_range, matrix, model_ids: [key, residual], .. } = self;
        let range = if *full_range { "full" } else { "limited" };
        let deep = if self.bits > 8 { &format!(" of {} bits", self.bits) } else { "" };
        write!(
            f,
            "{file}\n  video     {width}x{height} YCbCr 4:2:0{deep} by {matrix}, {range} range, {frames_per_second} frames/s\n  \
             models    {key} of keys, {residual} of residuals\n"
        )?;
        if !self.renditions_bps.is_empty() {
            let rates: Vec<String> = self.renditions_bps.iter().map(|rate| (rate / 1000).to_string()).collect();
            let all = rates.join(", ");
            let chosen = &rates[self.chosen];
            writeln!(f, "  renditions for receivers from {all} kbit/s on; shown is that from {chosen}")?;
        }
        let quality = if self.compared { "    Y dB  YCbCr dB" } else { "" };
        writeln!(
            f,
            "  columns   bytes from the frame's begin to the end of side information, of the base-layer reference and \
             of the enhancement reference, and those that are there; a frame that ends before its enhancement reference was cut \
             inside it\n\n   \
             frame  kind    side    base  enhanced    bytes{quality}"
        )
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { frame, kind, side, base_reference, enhancement_reference, bytes, luma_db, ycbcr_db } = self;
        let db = |value: &Option<f64>| value.map_or_else(String::new, |value| format!("{value:>9.2}"));
        let count = |value: &Option<usize>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let [side, base_reference, enhancement_reference] = [side, base_reference, enhancement_reference].map(count);
        let kind = kind.unwrap_or("-");
        writeln!(
            f,
            "{frame:>8}  {kind:<5}{side:>7} {base_reference:>7} {enhancement_reference:>9} {bytes:>8}{}{}",
            db(luma_db),
            db(ycbcr_db)
        )
    }
}

impl Display for Total {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { frames, keys, beginnings, longest_to_next_s, bytes, kbps, luma_db } = self;
        let [s, of_keys, begins] = [frames, keys, beginnings].map(|count| if *count == 1 { "" } else { "s" });
        let quality = luma_db.map_or_else(String::new, |db| format!(", mean {db:.2} dB of luma"));
        writeln!(f, "\n{frames} frame{s}, {keys} of them key{of_keys}, {bytes} bytes, {kbps:.0} kbit/s{quality}")?;
        writeln!(
            f,
            "{beginnings} frame{begins} that a decoder can begin with, and at most {longest_to_next_s:.1} s from one to the next \
             or to the end"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the longest time to the next frame that a decoder can begin with, at 10 frames a second. Each frame has its
    /// capture time in milliseconds and whether a decoder can begin with it.
    fn longest(video: &[(Option<u64>, bool)]) -> f64 {
        let mut frames = Frames::new(FrameRate::new(10, 1).expect("a rate"));
        for (number, (captured, begins)) in (0..).zip(video) {
            let captured = captured.map(|time| time * 1000);
            frames.line(&StoredFrame { number, bytes: Vec::new().into(), captured, head: None }, *begins, None);
        }
        let Line::Total(total) = frames.total() else { panic!("a total") };
        total.longest_to_next_s
    }

    #[test]
    fn the_longest_time_has_the_last_frame_and_no_time_between_two_broadcasts() {
        let close = |video: &[_], seconds: f64| {
            let found = longest(video);
            assert!((found - seconds).abs() < 1e-9, "{found} for {seconds}: {video:?}");
        };
        close(&[], 0.0);
        close(&[(None, false), (None, false)], 0.0);
        close(&[(None, true)], 0.1);
        close(&[(None, true), (None, false), (None, false)], 0.3);
        close(&[(Some(1000), true), (Some(1100), false), (Some(1200), true), (Some(1300), false)], 0.2);
        // A pause counts, an hour between two broadcasts does not, nor does a clock that was set back.
        close(&[(Some(1000), true), (Some(4000), false), (Some(4100), true)], 3.1);
        close(&[(Some(1000), true), (Some(3_601_000), false), (Some(3_601_100), true)], 0.2);
        close(&[(Some(9000), true), (Some(1000), false), (Some(1100), true)], 0.2);
        // Some frames have no time.
        close(&[(None, true), (Some(1_000_000), false), (Some(1_000_100), false), (None, false), (None, true)], 0.4);
    }
}
