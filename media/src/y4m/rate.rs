//! Frames per second, as an exact ratio.

use std::time::Duration;

use super::Error;

/// The largest number of frames, and of seconds.
const MAX_TERM: u32 = 1_000_000;

/// A number of frames in a number of seconds, each in 1..=1000000; between 1/1000 and 1000 frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    frames: u32,
    seconds: u32,
}

impl Rate {
    /// Checks both numbers.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a number or the rate is out of range.
    pub fn new(frames: u32, seconds: u32) -> Result<Self, Error> {
        let sound = |number| (1..=MAX_TERM).contains(&number);
        let plausible =
            u64::from(frames) <= 1000 * u64::from(seconds) && u64::from(seconds) <= 1000 * u64::from(frames);
        if sound(frames) && sound(seconds) && plausible {
            Ok(Self { frames, seconds })
        } else {
            Err(Error::Corrupt("its frame rate is out of range"))
        }
    }

    /// Makes a rate of terms of any size. Replaces terms that are too large by the nearest fraction with smaller ones:
    /// ffmpeg's `10000000:333333` becomes 999991 frames in 33333 seconds.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if there are fewer than 1/1000 or more than 1000 frames a second.
    pub fn nearest(frames: u64, seconds: u64) -> Result<Self, Error> {
        let fits = |term: u64| u32::try_from(term).ok().filter(|term| *term <= MAX_TERM);
        if let (Some(frames), Some(seconds)) = (fits(frames), fits(seconds)) {
            return Self::new(frames, seconds);
        }
        // Convergents of the continued fraction: the last is the fraction itself, reduced.
        let [mut above, mut below] = [frames, seconds].map(u128::from);
        let [mut before, mut now] = [[0, 1], [1, 0_u128]];
        while below > 0 {
            let part = above / below;
            let next = [part * now[0] + before[0], part * now[1] + before[1]];
            if next.iter().any(|term| *term > u128::from(MAX_TERM)) {
                break;
            }
            [before, now] = [now, next];
            [above, below] = [below, above % below];
        }
        let [frames, seconds] = now.map(|term| u32::try_from(term).unwrap_or(u32::MAX));
        Self::new(frames, seconds)
    }

    /// Returns the frames in [`Rate::seconds`].
    #[must_use]
    pub const fn frames(self) -> u32 {
        self.frames
    }

    /// Returns the seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.seconds
    }

    /// Returns whether two ratios are the same rate.
    #[must_use]
    pub fn is_equal(self, other: Self) -> bool {
        u64::from(self.frames) * u64::from(other.seconds) == u64::from(other.frames) * u64::from(self.seconds)
    }

    /// Returns the time from one frame to the next.
    #[must_use]
    pub fn interval(self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) / self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_fraction_becomes_the_nearest_with_small_terms() {
        let near = |frames, seconds| Rate::nearest(frames, seconds).map(|rate| (rate.frames, rate.seconds)).ok();
        assert_eq!(near(10_000_000, 333_333), Some((999_991, 33_333)));
        assert_eq!(near(30_000_000, 1_001_000), Some((30_000, 1001)));
        assert_eq!(near(50, 2), Some((50, 2)), "terms that fit stay");
        assert_eq!(near(1 << 40, 1 << 35), Some((32, 1)));
        assert_eq!(near(u64::MAX, u64::MAX - 1), Some((1, 1)));
        for wrong in [(1, 0), (0, 1), (u64::MAX, 1), (1, u64::MAX), (2_000_000, 1999)] {
            assert_eq!(near(wrong.0, wrong.1), None, "{wrong:?}");
        }
    }
}
