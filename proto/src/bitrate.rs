//! Bits per second, and what they carry in a time.

use std::time::Duration;

/// A bitrate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bitrate(u64);

impl Bitrate {
    /// So many bits a second.
    #[must_use]
    pub const fn from_bits(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// `bytes` in `time`; none if no time passed.
    #[must_use]
    pub fn of(bytes: u64, time: Duration) -> Option<Self> {
        let bits = u128::from(bytes) * 8 * 1_000_000_000;
        let rate = bits.checked_div(time.as_nanos())?;
        Some(Self(u64::try_from(rate).unwrap_or(u64::MAX)))
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The whole bytes that go through in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> u64 {
        u64::try_from(u128::from(self.0).saturating_mul(time.as_nanos()) / 8_000_000_000).unwrap_or(u64::MAX)
    }

    /// How long `bytes` take; for ever at a rate of nothing.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Duration {
        let nanos = (u128::from(bytes) * 8_000_000_000).checked_div(u128::from(self.0));
        nanos.and_then(|nanos| u64::try_from(nanos).ok()).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// This times `permille` / 1000.
    #[must_use]
    pub(crate) fn scaled(self, permille: u64) -> Self {
        Self(u64::try_from(u128::from(self.0) * u128::from(permille) / 1000).unwrap_or(u64::MAX))
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
}
