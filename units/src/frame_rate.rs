//! Frames a second, as an exact fraction.

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::time::Duration;

/// See [`FrameRate::MAX_TERM`].
const MAX_TERM: u32 = 1_000_000;
/// See [`FrameRate::MAX_PER_SECOND`].
const MAX_PER_SECOND: u32 = 1000;

/// A number of frames in a number of seconds: each number is in 1..=1000000, and there are at most 1000 frames a
/// second.
///
/// Two rates are equal if they are the same speed: 50/2 equals 25. Text is a whole number or a fraction, such as `25`,
/// `30000/1001` or `30000:1001`.
#[derive(Debug, Clone, Copy)]
pub struct FrameRate {
    frames: u32,
    seconds: u32,
}

/// The reason why numbers or text are no frame rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameRateError {
    /// The frames or the seconds are 0, or more than 1000000.
    OutOfRange,
    /// There are more than 1000 frames a second.
    TooFast,
    /// The text is neither a whole number nor a fraction.
    NotAFraction,
}

impl fmt::Display for FrameRateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutOfRange => "a frame rate has 1 to 1000000 frames in 1 to 1000000 seconds",
            Self::TooFast => "a frame rate is at most 1000 frames a second",
            Self::NotAFraction => "a frame rate is a number or a fraction, such as 25 or 30000/1001",
        })
    }
}

impl Error for FrameRateError {}

impl FrameRate {
    /// The largest number of frames, and of seconds.
    pub const MAX_TERM: u32 = MAX_TERM;
    /// The most frames a second: no display shows more, and a player shows repeated frames at this rate.
    pub const MAX_PER_SECOND: u32 = MAX_PER_SECOND;

    /// Makes the rate of `frames` frames in `seconds` seconds.
    ///
    /// # Errors
    /// [`FrameRateError::OutOfRange`] for a number of 0 or above 1000000, [`FrameRateError::TooFast`] above 1000 frames
    /// a second.
    pub const fn new(frames: u32, seconds: u32) -> Result<Self, FrameRateError> {
        if frames == 0 || seconds == 0 || frames > Self::MAX_TERM || seconds > Self::MAX_TERM {
            return Err(FrameRateError::OutOfRange);
        }
        if frames > seconds.saturating_mul(Self::MAX_PER_SECOND) {
            return Err(FrameRateError::TooFast);
        }
        Ok(Self { frames, seconds })
    }

    /// Makes a rate of numbers of any size. Replaces numbers that are too large by the nearest fraction of smaller
    /// ones: ffmpeg's 10000000/333333 becomes 999991 frames in 33333 seconds.
    ///
    /// # Errors
    /// [`FrameRateError::OutOfRange`] for a number of 0, or fewer than one frame in 1000000 seconds;
    /// [`FrameRateError::TooFast`] above 1000 frames a second.
    pub fn nearest(frames: u64, seconds: u64) -> Result<Self, FrameRateError> {
        let fits = |term: u64| u32::try_from(term).ok().filter(|term| *term <= Self::MAX_TERM);
        if let (Some(frames), Some(seconds)) = (fits(frames), fits(seconds)) {
            return Self::new(frames, seconds);
        }
        if u128::from(frames) > u128::from(seconds) * u128::from(Self::MAX_PER_SECOND) {
            return Err(FrameRateError::TooFast);
        }
        // Convergents of the continued fraction: the last is the fraction itself, reduced.
        let [mut above, mut below] = [frames, seconds].map(u128::from);
        let [mut before, mut now] = [[0, 1], [1, 0_u128]];
        while below > 0 {
            let part = above / below;
            let next = [part * now[0] + before[0], part * now[1] + before[1]];
            if next.iter().any(|term| *term > u128::from(Self::MAX_TERM)) {
                break;
            }
            [before, now] = [now, next];
            [above, below] = [below, above % below];
        }
        let [frames, seconds] = now.map(|term| u32::try_from(term).unwrap_or(u32::MAX));
        Self::new(frames, seconds)
    }

    /// Returns the frames in [`FrameRate::seconds`].
    #[must_use]
    pub const fn frames(self) -> u32 {
        self.frames
    }

    /// Returns the seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.seconds
    }

    /// Returns the frames a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        f64::from(self.frames) / f64::from(self.seconds)
    }

    /// Returns the time from one frame to the next.
    #[must_use]
    pub fn interval(self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) / self.frames
    }

    /// Returns the frames and the seconds, without common factors.
    fn reduced(self) -> (u32, u32) {
        let [mut divisor, mut rest] = [self.frames, self.seconds];
        while rest > 0 {
            [divisor, rest] = [rest, divisor % rest];
        }
        (self.frames / divisor, self.seconds / divisor)
    }
}

impl PartialEq for FrameRate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for FrameRate {}

impl PartialOrd for FrameRate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for FrameRate {
    fn cmp(&self, other: &Self) -> Ordering {
        let product = |frames: u32, seconds: u32| u64::from(frames) * u64::from(seconds);
        product(self.frames, other.seconds).cmp(&product(other.frames, self.seconds))
    }
}

impl Hash for FrameRate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.reduced().hash(state);
    }
}

impl fmt::Display for FrameRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            1 => write!(f, "{}", self.frames),
            seconds => write!(f, "{}/{seconds}", self.frames),
        }
    }
}

impl FromStr for FrameRate {
    type Err = FrameRateError;

    fn from_str(text: &str) -> Result<Self, FrameRateError> {
        let (frames, seconds) = text.split_once(['/', ':']).unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<u64>().map_err(|_| FrameRateError::NotAFraction);
        Self::nearest(number(frames)?, number(seconds)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn terms(rate: Result<FrameRate, FrameRateError>) -> Result<(u32, u32), FrameRateError> {
        rate.map(|rate| (rate.frames(), rate.seconds()))
    }

    #[test]
    fn any_fraction_becomes_the_nearest_with_small_terms() {
        let near = |frames, seconds| terms(FrameRate::nearest(frames, seconds)).ok();
        assert_eq!(near(10_000_000, 333_333), Some((999_991, 33_333)));
        assert_eq!(near(30_000_000, 1_001_000), Some((30_000, 1001)));
        assert_eq!(near(50, 2), Some((50, 2)), "terms that fit stay");
        assert_eq!(near(1 << 40, 1 << 35), Some((32, 1)));
        assert_eq!(near(u64::MAX, u64::MAX - 1), Some((1, 1)));
        for wrong in [(1, 0), (0, 1), (u64::MAX, 1), (1, u64::MAX), (2_000_000, 1999)] {
            assert_eq!(near(wrong.0, wrong.1), None, "{wrong:?}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_their_reason() {
        for wrong in [(0, 1), (1, 0), (1_000_001, 1_000_000), (1, 1_000_001), (u32::MAX, u32::MAX)] {
            assert_eq!(FrameRate::new(wrong.0, wrong.1), Err(FrameRateError::OutOfRange), "{wrong:?}");
        }
        for fast in [(1001, 1), (1_000_000, 999)] {
            assert_eq!(FrameRate::new(fast.0, fast.1), Err(FrameRateError::TooFast), "{fast:?}");
        }
        for sound in [(1000, 1), (1_000_000, 1000), (1, 1_000_000), (30_000, 1001)] {
            assert_eq!(terms(FrameRate::new(sound.0, sound.1)), Ok(sound));
        }
    }

    #[test]
    fn an_interval_is_the_time_of_one_frame() {
        let interval = |frames, seconds| FrameRate::new(frames, seconds).map(FrameRate::interval);
        assert_eq!(interval(25, 1), Ok(Duration::from_millis(40)));
        assert_eq!(interval(30_000, 1001), Ok(Duration::from_nanos(33_366_666)));
        assert_eq!(interval(1, 1_000_000), Ok(Duration::from_secs(1_000_000)));
    }

    #[test]
    fn rates_compare_by_speed() {
        let rate = |frames, seconds| FrameRate::new(frames, seconds).expect("a rate");
        assert_eq!(rate(50, 2), rate(25, 1));
        assert!(rate(30_000, 1001) < rate(30, 1) && rate(1, 2) < rate(1, 1));
        assert_eq!(HashSet::from([rate(50, 2), rate(25, 1), rate(25, 2)]).len(), 2);
    }

    #[test]
    fn text_is_a_number_or_a_fraction() {
        let parse = |text: &str| terms(text.parse());
        assert_eq!([parse("25"), parse("30000/1001"), parse("1:5")], [Ok((25, 1)), Ok((30_000, 1001)), Ok((1, 5))]);
        for rate in ["25", "30000/1001", "1/5"] {
            assert_eq!(rate.parse::<FrameRate>().map(|rate| rate.to_string()).as_deref(), Ok(rate));
        }
        for wrong in ["", "/", "25/", "/1", "-25", "29.97", "25 ", "1/2/3", "99999999999999999999"] {
            assert_eq!(parse(wrong), Err(FrameRateError::NotAFraction), "{wrong}");
        }
        assert_eq!([parse("0"), parse("1001")], [Err(FrameRateError::OutOfRange), Err(FrameRateError::TooFast)]);
    }
}
