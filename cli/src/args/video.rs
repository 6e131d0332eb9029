//! The words of video: bit rates and ranges of frames.

use std::str::FromStr;

use anyhow::{Context as _, Error, Result, ensure};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use nestcast_codec::{Effort, FrameRate, MAX_LOOPS, Population, Size, VideoSettings};
use nestcast_media::FrameRange;
use nestcast_proto::Bitrate;

/// How a video is coded.
#[derive(Debug, Args)]
pub(crate) struct VideoCoding {
    /// Of a video: what the slowest and the fastest receiver carry, in bits per second, or with k or M, as in 100k..1600k
    /// [default: by pixels and frame rate, a factor of 16 apart, as in 226k..3616k for 640x360 at 30 frames/s: by clip about
    /// 27 to 36 dB for the slowest and 40 to 48 dB for the fastest]
    #[arg(long, value_name = "LEAST..MOST")]
    bitrates: Option<Bitrates>,
    /// Of a video: how long to search for motion [default: normal]
    #[arg(long, value_parser = effort())]
    pub(crate) effort: Option<Effort>,
    /// Encode N renditions of a video into one larger file, each for receivers of similar bandwidth; `cut` and `decode --bitrate`
    /// choose the one that serves the rate [default: 1]
    #[arg(long, value_name = "N", value_parser = renditions())]
    pub(crate) renditions: Option<usize>,
    /// Of a video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: FrameRange,
}

impl VideoCoding {
    /// Whether any of it was asked for.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.bitrates.is_some() || self.effort.is_some() || self.renditions.is_some() || !self.frames.is_all()
    }

    /// The rates asked for, or the usual ones, in bits a second.
    pub(crate) fn bitrates(&self, size: Size, rate: FrameRate) -> [u64; 2] {
        self.bitrates.map_or_else(|| Population::usual_bitrates(size, rate), |Bitrates(both)| both.map(Bitrate::bits))
    }

    /// What an encoder is told.
    pub(crate) fn settings(&self, size: Size, rate: FrameRate, threads: usize) -> VideoSettings {
        let [least, most] = self.bitrates(size, rate).map(|bits| bits as f64);
        VideoSettings { size, rate, population: Population::log_uniform(least..=most), threads }
    }
}

/// What the slowest and the fastest receiver carry.
#[derive(Debug, Clone, Copy)]
struct Bitrates([Bitrate; 2]);

impl FromStr for Bitrates {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (least, most) = text.split_once("..").context("give two rates, LEAST..MOST")?;
        let (least, most) = (least.parse()?, most.parse()?);
        ensure!(least <= most, "the first rate is above the second");
        Ok(Self([least, most]))
    }
}

/// How long an encoder searches for motion.
pub(super) fn effort() -> impl TypedValueParser<Value = Effort> {
    let fast = PossibleValue::new("fast").help("The least time, as `send` takes it for large frames");
    let help = "A quarter to a half more time; about 7 % less rate at equal quality";
    let names = PossibleValuesParser::new([fast, PossibleValue::new("normal").help(help)]);
    names.map(|name| if name == "fast" { Effort::Fast } else { Effort::Normal })
}

/// Parses how many renditions a video has.
pub(super) fn renditions() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_LOOPS as u64)
}
