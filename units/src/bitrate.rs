//! Bits per second, and how many bytes they carry in a given time.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::frame_rate::FrameRate;

/// The rates that text may name.
const IN_TEXT: std::ops::RangeInclusive<f64> = 1e3..=1e12;

/// A bitrate in whole bits per second.
///
/// Text is a number from 1000 to 10^12, or one with `k`, `K` or `M`, such as `300k`. Smaller numbers are refused in
/// text because their unit was probably forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// Makes a rate of `bits_per_second`.
    #[must_use]
    pub const fn from_bits(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// Rounds a computed rate to whole bits per second: 0 for negative numbers and NaN, the largest rate for infinity.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
    pub const fn rounded(bits_per_second: f64) -> Self {
        Self(bits_per_second.round() as u64)
    }

    /// Returns the rate of `bytes` in `time`; `None` if no time passed.
    #[must_use]
    pub fn of(bytes: u64, time: Duration) -> Option<Self> {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let rate = bits.checked_div(time.as_nanos())?;
        Some(Self(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// Returns the rate in bits per second.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the number of whole bytes that pass in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> u64 {
        u64::try_from(u128::from(self.0).saturating_mul(time.as_nanos()) / 8_000_000_000).unwrap_or(u64::MAX)
    }

    /// Returns the number of whole bytes that each frame may have.
    #[must_use]
    pub fn bytes_per_frame(self, rate: FrameRate) -> usize {
        let bytes = u128::from(self.0) * u128::from(rate.seconds()) / (8 * u128::from(rate.frames()));
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Returns how long `bytes` take; [`Duration::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Duration {
        let nanos = (u128::from(bytes) * 8_000_000_000).checked_div(u128::from(self.0));
        nanos.and_then(|nanos| u64::try_from(nanos).ok()).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// Returns `permille` / 1000 of this rate.
    #[must_use]
    pub fn scaled(self, permille: u64) -> Self {
        Self(u64::try_from(u128::from(self.0) * u128::from(permille) / 1000).unwrap_or(u64::MAX))
    }
}

/// The error for text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitrateError(String);

impl fmt::Display for BitrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no rate: give bits per second, 1000 to 10^12, or with k or M, as in 300k", self.0)
    }
}

impl Error for BitrateError {}

impl fmt::Display for Bitrate {
    /// Writes the text that [`FromStr`] reads: `300k`, `2M`, `1234`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0"),
            bits if bits % 1_000_000 == 0 => write!(f, "{}M", bits / 1_000_000),
            bits if bits % 1000 == 0 => write!(f, "{}k", bits / 1000),
            bits => write!(f, "{bits}"),
        }
    }
}

impl FromStr for Bitrate {
    type Err = BitrateError;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
    fn from_str(text: &str) -> Result<Self, BitrateError> {
        let (number, unit) = match text.char_indices().last() {
            Some((at, 'k' | 'K')) => (&text[..at], 1e3),
            Some((at, 'M')) => (&text[..at], 1e6),
            _ => (text, 1.0),
        };
        let bits = number.trim().parse().map(|number: f64| number * unit).ok().filter(|bits| IN_TEXT.contains(bits));
        bits.map(|bits| Self(bits as u64)).ok_or_else(|| BitrateError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_times_a_time_is_a_size() {
        let second = Duration::from_secs(1);
        assert_eq!(Bitrate::from_bits(8_000).bytes_in(second), 1000);
        assert_eq!(Bitrate::of(1000, second), Some(Bitrate::from_bits(8_000)));
        assert_eq!(Bitrate::of(1000, Duration::ZERO), None);
        assert_eq!(Bitrate::from_bits(u64::MAX).bytes_in(Duration::MAX), u64::MAX);
    }

    #[test]
    fn a_frame_has_its_part_of_a_second() {
        let rate = FrameRate::new(30_000, 1001).expect("a rate");
        assert_eq!(Bitrate::from_bits(240_000).bytes_per_frame(rate), 1001);
        let slow = FrameRate::new(1, 1_000_000).expect("a rate");
        assert_eq!(Bitrate::from_bits(u64::MAX).bytes_per_frame(slow), usize::MAX);
    }

    #[test]
    fn computed_rates_are_rounded() {
        let bits = |rate| Bitrate::rounded(rate).bits();
        assert_eq!([bits(1.5), bits(1.4), bits(-1.0), bits(f64::NAN)], [2, 1, 0, 0]);
        assert_eq!(bits(f64::INFINITY), u64::MAX);
    }

    #[test]
    fn what_is_written_can_be_read() {
        for text in ["300k", "2M", "1234", "1500k", "1000000M"] {
            assert_eq!(text.parse::<Bitrate>().map(|rate| rate.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(Bitrate::default().to_string(), "0");
    }

    #[test]
    fn text_has_units() {
        let bits = |text: &str| text.parse().map(Bitrate::bits);
        assert_eq!([bits("300k"), bits("300K"), bits("1.5M")], [Ok(300_000), Ok(300_000), Ok(1_500_000)]);
        assert_eq!([bits("1000"), bits("1000000M")], [Ok(1_000), Ok(1_000_000_000_000)]);
        let refused = bits("5").expect_err("too few").to_string();
        assert_eq!(refused, "`5` is no rate: give bits per second, 1000 to 10^12, or with k or M, as in 300k");
        for wrong in ["", "k", "-1M", "5m", "1G", "é", "inf", "nan", "1e13"] {
            assert!(bits(wrong).is_err(), "{wrong}");
        }
    }
}
