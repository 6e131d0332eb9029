//! The results of encoding a picture or a video: a line for people, and figures for programs.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::time::Duration;

use nestcast_codec::{Bitrate, Channels, Stream, VideoHeader};
use nestcast_media::stored::Written;
use serde::Serialize;

use crate::metrics;
use crate::rate_distortion::rounded;
use crate::video::kbps;

/// The names of an encoding's input and output.
#[derive(Debug, Clone, Serialize)]
pub struct Names {
    /// The input.
    pub input: String,
    /// The output.
    pub output: String,
}

impl Names {
    /// Takes the input's name in messages, and the path of the output.
    #[must_use]
    pub fn new(input: String, output: &Path) -> Self {
        Self { input, output: output.display().to_string() }
    }
}

/// A picture's stream.
#[derive(Debug, Serialize)]
pub struct EncodedPicture {
    #[serde(flatten)]
    names: Names,
    width: usize,
    height: usize,
    channels: usize,
    /// Bits of a sample, and whether there is opacity.
    bits: u8,
    alpha: bool,
    bytes: usize,
    bpp: f64,
    model: String,
    model_id: String,
    analysis: &'static str,
    encode_ms: f64,
}

/// A stored video.
#[derive(Debug, Serialize)]
pub struct EncodedVideo {
    #[serde(flatten)]
    names: Names,
    width: usize,
    height: usize,
    /// Bits of a sample.
    bits: u8,
    frames: u64,
    keys: u64,
    frames_per_second: f64,
    /// The slowest and the fastest rate expected of receivers, in kbit/s.
    least_kbps: f64,
    most_kbps: f64,
    renditions: usize,
    bytes: u64,
    kbps: f64,
    encode_s: f64,
}

/// A picture's code.
#[derive(Debug, Serialize)]
pub struct EncodedCode {
    /// The names of the input and the output.
    #[serde(flatten)]
    pub names: Names,
    /// The code's length.
    pub bits: usize,
    /// The model's name.
    pub model: String,
}

impl EncodedPicture {
    /// Describes a stream, the model's name, the analysis transform and the time that encoding took.
    #[must_use]
    pub fn new(names: Names, stream: &Stream, model: &str, analysis: &'static str, took: Duration) -> Self {
        let header = stream.header();
        let bytes = stream.bytes().len();
        Self {
            names,
            width: header.size.width(),
            height: header.size.height(),
            channels: header.channels.count(),
            bits: header.bits,
            alpha: header.alpha.is_some(),
            bytes,
            bpp: rounded(metrics::bpp(bytes, header.size), 6),
            model: model.to_owned(),
            model_id: header.model.to_string(),
            analysis,
            encode_ms: rounded(took.as_secs_f64() * 1e3, 3),
        }
    }
}

impl EncodedVideo {
    /// Describes a video and the time that encoding took. `bitrates` are the slowest and the fastest receiver's.
    #[must_use]
    pub fn new(names: Names, header: &VideoHeader, written: Written, bitrates: [Bitrate; 2], took: Duration) -> Self {
        let Written { frames, keys, bytes, .. } = written;
        let [least_kbps, most_kbps] = bitrates.map(|rate| rate.bits() as f64 / 1e3);
        Self {
            names,
            width: header.size.width(),
            height: header.size.height(),
            bits: header.bits,
            frames,
            keys,
            frames_per_second: rounded(header.rate.per_second(), 3),
            least_kbps,
            most_kbps,
            renditions: header.renditions.count(),
            bytes,
            kbps: rounded(kbps(bytes, frames, header.rate), 2),
            encode_s: rounded(took.as_secs_f64(), 6),
        }
    }
}

impl Display for EncodedPicture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { names: Names { output, .. }, width, height, bytes, bpp, model, model_id, analysis, .. } = self;
        let colours = if self.channels == Channels::Grey.count() { "grey" } else { "RGB" };
        let deep = if self.bits > 8 { &format!(" of {} bits", self.bits) } else { "" };
        let alpha = if self.alpha { " with opacity" } else { "" };
        writeln!(
            f,
            "{output}: {width}x{height} {colours}{deep}{alpha}, {bytes} bytes, {bpp:.3} bpp, model {model} ({model_id}), \
             {analysis} analysis, {:.0} ms",
            self.encode_ms
        )
    }
}

impl Display for EncodedCode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { names: Names { output, .. }, bits, model } = self;
        writeln!(f, "{output}: code of {bits} bits, model {model}")
    }
}

impl Display for EncodedVideo {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { names: Names { output, .. }, width, height, frames, bytes, kbps, encode_s, .. } = self;
        let s = if *frames == 1 { "" } else { "s" };
        let deep = if self.bits > 8 { &format!(" of {} bits", self.bits) } else { "" };
        let renditions =
            if self.renditions > 1 { format!(" in {} renditions", self.renditions) } else { String::new() };
        writeln!(
            f,
            "{output}: {width}x{height}{deep}, {frames} frame{s} for {}..{} kbit/s{renditions}, {bytes} bytes, {kbps:.0} kbit/s, \
             {encode_s:.1} s, {:.1} frames/s",
            self.least_kbps,
            self.most_kbps,
            *frames as f64 / encode_s
        )
    }
}
