//! The words of video: bit rates and ranges of frames.

use std::str::FromStr;

use anyhow::{Context as _, Error, Result, ensure};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use nestcast_codec::{Effort, FrameRate, MAX_RENDITIONS, Matrix, Population, Size, VideoSettings};
use nestcast_media::FrameRange;
use nestcast_proto::Bitrate;

/// The options that encode a video.
#[derive(Debug, Args)]
pub(crate) struct VideoCoding {
    /// Video: the bandwidth of the slowest and of the fastest receiver, in bits per second, or with k or M, as in 100k..1600k
    /// [default: by pixels and frame rate, a factor of 16 apart: 226k..3616k for 640x360 at 30 frames/s, about 27 to 36 dB for the
    /// slowest and 40 to 48 dB for the fastest]
    #[arg(long, value_name = "LEAST..MOST")]
    bitrates: Option<Bitrates>,
    /// Video: how long to search for motion [default: normal]
    #[arg(long, value_parser = effort())]
    pub(crate) effort: Option<Effort>,
    /// Video: encode N renditions into one larger file, each for receivers of similar bandwidth; `cut` and `decode --bitrate`
    /// choose the one that serves the rate [default: 1]
    #[arg(long, value_name = "N", value_parser = renditions())]
    pub(crate) renditions: Option<usize>,
    /// Video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: FrameRange,
    #[command(flatten)]
    matrix: MatrixChoice,
}

/// The matrix of a y4m video.
#[derive(Debug, Args)]
pub(crate) struct MatrixChoice {
    /// Video: how red, green and blue make its samples, which y4m cannot say [default: 601 (BT.601) below 720 lines, 709 (BT.709)
    /// from there, as players do]
    #[arg(long, value_parser = matrix_parser())]
    matrix: Option<Matrix>,
}

impl MatrixChoice {
    /// Returns the matrix that you asked for.
    pub(crate) const fn asked(&self) -> Option<Matrix> {
        self.matrix
    }
}

/// Parses a matrix.
fn matrix_parser() -> impl TypedValueParser<Value = Matrix> {
    PossibleValuesParser::new(["601", "709"]).map(|name| if name == "601" { Matrix::Bt601 } else { Matrix::Bt709 })
}

impl VideoCoding {
    /// Returns whether you gave any of these options.
    pub(crate) fn is_asked_for(&self) -> bool {
        let of_coding = self.bitrates.is_some() || self.effort.is_some() || self.renditions.is_some();
        of_coding || !self.frames.is_all() || self.matrix().is_some()
    }

    /// Returns the matrix that you asked for.
    pub(crate) const fn matrix(&self) -> Option<Matrix> {
        self.matrix.asked()
    }

    /// Returns the rates that you asked for, or the usual ones.
    pub(crate) fn bitrates(&self, size: Size, rate: FrameRate) -> [Bitrate; 2] {
        self.bitrates.map_or_else(|| Population::usual_bitrates(size, rate), |Bitrates(both)| both)
    }

    /// Returns the encoder's settings.
    pub(crate) fn settings(&self, size: Size, rate: FrameRate, threads: usize) -> VideoSettings {
        let [least, most] = self.bitrates(size, rate);
        VideoSettings { size, rate, population: Population::log_uniform(least..=most), threads }
    }
}

/// The bandwidth of the slowest and of the fastest receiver.
#[derive(Debug, Clone, Copy)]
struct Bitrates([Bitrate; 2]);

impl FromStr for Bitrates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (least, most) = text.split_once("..").context("give two rates, LEAST..MOST")?;
        let (least, most) = (least.parse()?, most.parse()?);
        ensure!(least <= most, "the first rate is above the second: give the lower one first");
        Ok(Self([least, most]))
    }
}

/// Parses how long an encoder searches for motion.
pub(super) fn effort() -> impl TypedValueParser<Value = Effort> {
    let realtime =
        PossibleValue::new("realtime").help("Needs the least time; `send` uses it above 1280x720 at 30 frames/s");
    let fast = PossibleValue::new("fast")
        .help("Needs 6 % fewer bytes than realtime at equal quality; `send` uses it above 640x360 at 30 frames/s");
    let help = "Needs about 40 % more time, and about 5 % fewer bytes than fast at equal quality";
    let names = PossibleValuesParser::new([realtime, fast, PossibleValue::new("normal").help(help)]);
    names.map(|name| match name.as_str() {
        "realtime" => Effort::Realtime,
        "fast" => Effort::Fast,
        _ => Effort::Normal,
    })
}

/// Parses how many renditions a video has.
pub(super) fn renditions() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_RENDITIONS as u64)
}
