//! The words of video: bit rates and ranges of frames.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use nestcast_codec::{FrameRate, MAX_LOOPS, Population, Size, VideoSettings};

use super::positive;

/// How a video is coded.
#[derive(Debug, Args)]
pub(crate) struct VideoCoding {
    /// Of a video: what the slowest and the fastest receiver carry, in bits per second, or with k or M, as in 100k..1600k
    /// [default: by pixels and frame rate, a factor of 16 apart, as in 226k..3616k for 640x360 at 30 frames/s: by clip about
    /// 27 to 36 dB for the slowest and 40 to 48 dB for the fastest]
    #[arg(long, value_name = "LEAST..MOST")]
    bitrates: Option<Bitrates>,
    /// Of a video: how long to search for motion [default: normal]
    #[arg(long, value_enum)]
    effort: Option<Effort>,
    /// Of a video: code it N times side by side, each time for a part of the receivers, in one larger file; `cut` and
    /// `decode --bitrate` take one of them [default: 1]
    #[arg(long, value_name = "N", value_parser = loops)]
    loops: Option<usize>,
    /// Of a video: only frames A to B - 1, counted from 0; without A from the first, without B to the last
    #[arg(long, value_name = "A..B", default_value_t)]
    pub(crate) frames: Frames,
}

impl VideoCoding {
    /// Whether any of it was asked for.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.bitrates.is_some() || self.effort.is_some() || self.loops.is_some() || !self.frames.is_all()
    }

    /// The rates asked for, or the usual ones.
    pub(crate) fn bitrates(&self, size: Size, rate: FrameRate) -> Bitrates {
        let [least, most] = Population::usual_bitrates(size, rate);
        self.bitrates.unwrap_or(Bitrates { least, most })
    }

    /// What an encoder is told.
    pub(crate) fn settings(&self, size: Size, rate: FrameRate, threads: usize) -> VideoSettings {
        let Bitrates { least, most } = self.bitrates(size, rate);
        VideoSettings { size, rate, population: Population::log_uniform(least as f64, most as f64), threads }
    }

    pub(crate) fn effort(&self) -> nestcast_codec::Effort {
        self.effort.map_or_else(Default::default, Into::into)
    }

    pub(crate) fn loops(&self) -> usize {
        self.loops.unwrap_or(1)
    }
}

/// What the slowest and the fastest receiver carry, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bitrates {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl FromStr for Bitrates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").ok_or("give two rates, LEAST..MOST")?;
        let (least, most) = (bitrate(least)?, bitrate(most)?);
        if least <= most { Ok(Self { least, most }) } else { Err("the first rate is above the second".to_owned()) }
    }
}

/// How long an encoder searches for motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// The least time, as `send` takes it for large frames
    Fast,
    /// A tenth to a half more time, with some videos more; about 7 % less rate at equal quality
    Normal,
}

impl From<Effort> for nestcast_codec::Effort {
    fn from(effort: Effort) -> Self {
        match effort {
            Effort::Fast => Self::Fast,
            Effort::Normal => Self::Normal,
        }
    }
}

/// Frames of a video, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frames(pub(crate) Range<u64>);

impl Default for Frames {
    fn default() -> Self {
        Self(0..u64::MAX)
    }
}

impl Frames {
    /// Whether all frames are meant.
    pub(crate) fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start, self.0.end) {
            (0, u64::MAX) => f.write_str(".."),
            (start, u64::MAX) => write!(f, "{start}.."),
            (start, end) => write!(f, "{start}..{end}"),
        }
    }
}

impl FromStr for Frames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once("..").ok_or("give two numbers, A..B; either may be left out")?;
        let number = |text: &str, without| match text {
            "" => Ok(without),
            text => text.parse().map_err(|_| format!("`{text}` is no number of a frame")),
        };
        let (start, end) = (number(start, 0)?, number(end, u64::MAX)?);
        if start < end { Ok(Self(start..end)) } else { Err("these are no frames: B must be above A".to_owned()) }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
pub(super) fn bitrate(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 'k')) => (&text[..at], 1e3),
        Some((at, 'M')) => (&text[..at], 1e6),
        _ => (text, 1.0),
    };
    let wrong = || format!("`{text}` is no rate: give bits per second, 1000 or more, or with k or M, as in 300k");
    let bits = positive(number).map_err(|_| wrong())? * unit;
    if (1000.0..=1e12).contains(&bits) { Ok(bits as u64) } else { Err(wrong()) }
}

pub(super) fn loops(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MAX_LOOPS).contains(count));
    count.ok_or_else(|| format!("a video has 1 to {MAX_LOOPS} loops"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitrates_have_units() {
        assert_eq!([bitrate("300k"), bitrate("1.5M"), bitrate("64000")], [Ok(300_000), Ok(1_500_000), Ok(64_000)]);
        for wrong in ["", "k", "-1M", "5", "1G", "é"] {
            assert!(bitrate(wrong).is_err(), "{wrong}");
        }
        assert_eq!("100k..1.6M".parse(), Ok(Bitrates { least: 100_000, most: 1_600_000 }));
        for wrong in ["100k", "200k..100k", "..100k", "100k..", "1k..2k..3k"] {
            assert!(wrong.parse::<Bitrates>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn loops_are_few() {
        assert_eq!(["1", "3"].map(loops), [Ok(1), Ok(3)]);
        assert!(["0", "4", "-1", "two"].map(loops).iter().all(Result::is_err));
    }

    #[test]
    fn frames_may_be_open_at_either_end() {
        for (text, range) in [("3..7", 3..7), ("3..", 3..u64::MAX), ("..7", 0..7), ("..", 0..u64::MAX)] {
            assert_eq!(text.parse(), Ok(Frames(range)));
        }
        for wrong in ["", "3", "7..3", "3..3", "-1..3", "a..b"] {
            assert!(wrong.parse::<Frames>().is_err(), "{wrong}");
        }
        assert_eq!(
            ["..", "3..", "0..7"].map(|text| text.parse().map(|frames: Frames| frames.to_string())),
            [Ok("..".to_owned()), Ok("3..".to_owned()), Ok("0..7".to_owned())]
        );
    }
}
