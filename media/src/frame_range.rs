//! A range of a video's frames, as people write it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The frames of a video from `start` up to, but without, `end`, counted from 0. As text it is `A..B`; you may leave
/// out either number.
///
/// ```
/// use nestcast_media::FrameRange;
///
/// let range: FrameRange = "3..".parse()?;
/// assert_eq!((range.start, range.end, range.to_string()), (3, u64::MAX, "3..".to_owned()));
/// assert!(FrameRange::default().is_all() && "7..3".parse::<FrameRange>().is_err());
/// # Ok::<(), nestcast_media::FrameRangeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRange {
    /// The first frame.
    pub start: u64,
    /// The frame after the last; `u64::MAX` to end with the video.
    pub end: u64,
}

/// Why a text is no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameRangeError {
    /// The text has no two dots.
    #[error("give two frame numbers, A..B; you may leave either out")]
    Dots,
    /// The text before or after the dots is no number.
    #[error("`{0}` is not a frame number")]
    Number(String),
    /// The range contains no frame.
    #[error("this range has no frames: make B larger than A")]
    Empty,
}

impl FrameRange {
    /// Returns whether the range contains all frames.
    #[must_use]
    pub fn is_all(self) -> bool {
        self == Self::default()
    }
}

impl Default for FrameRange {
    fn default() -> Self {
        Self { start: 0, end: u64::MAX }
    }
}

impl From<FrameRange> for Range<u64> {
    fn from(FrameRange { start, end }: FrameRange) -> Self {
        start..end
    }
}

impl fmt::Display for FrameRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.start, self.end) {
            (0, u64::MAX) => f.write_str(".."),
            (start, u64::MAX) => write!(f, "{start}.."),
            (start, end) => write!(f, "{start}..{end}"),
        }
    }
}

impl FromStr for FrameRange {
    type Err = FrameRangeError;

    fn from_str(text: &str) -> Result<Self, FrameRangeError> {
        let (start, end) = text.split_once("..").ok_or(FrameRangeError::Dots)?;
        let number = |text: &str, without| match text {
            "" => Ok(without),
            text => text.parse().map_err(|_| FrameRangeError::Number(text.to_owned())),
        };
        let start = number(start, 0)?;
        let end = number(end, u64::MAX)?;
        if start < end { Ok(Self { start, end }) } else { Err(FrameRangeError::Empty) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_end_may_be_open() {
        for (text, range) in [("3..7", 3..7), ("3..", 3..u64::MAX), ("..7", 0..7), ("..", 0..u64::MAX)] {
            assert_eq!(text.parse::<FrameRange>().map(Range::from), Ok(range));
        }
        for wrong in ["", "3", "7..3", "3..3", "-1..3", "a..b"] {
            assert!(wrong.parse::<FrameRange>().is_err(), "{wrong}");
        }
        let again = ["..", "3..", "0..7"].map(|text| text.parse::<FrameRange>().map(|range| range.to_string()));
        assert_eq!(again, ["..", "3..", "0..7"].map(|text| Ok(text.to_owned())));
    }
}
