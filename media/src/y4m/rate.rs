//! Frames per second, as an exact ratio.

use std::time::Duration;

use super::Error;

/// So many frames in so many seconds, each in 1..=1000000; between 1/1000 and 1000 frames a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    frames: u32,
    seconds: u32,
}

impl Rate {
    /// Checks both.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if one is out of range.
    pub fn new(frames: u32, seconds: u32) -> Result<Self, Error> {
        let sound = |number| (1..=1_000_000).contains(&number);
        let plausible =
            u64::from(frames) <= 1000 * u64::from(seconds) && u64::from(seconds) <= 1000 * u64::from(frames);
        if sound(frames) && sound(seconds) && plausible {
            Ok(Self { frames, seconds })
        } else {
            Err(Error::Corrupt("its frame rate is out of range"))
        }
    }

    /// Frames in [`Rate::seconds`].
    #[must_use]
    pub const fn frames(self) -> u32 {
        self.frames
    }

    /// The seconds that those take.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        self.seconds
    }

    /// Whether as many frames come in the same time, however the ratio is written.
    #[must_use]
    pub fn is_equal(self, other: Self) -> bool {
        u64::from(self.frames) * u64::from(other.seconds) == u64::from(other.frames) * u64::from(self.seconds)
    }

    /// From one frame to the next.
    #[must_use]
    pub fn interval(self) -> Duration {
        Duration::from_secs(u64::from(self.seconds)) / self.frames
    }
}
