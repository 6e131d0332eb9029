//! How long frames are delayed so that they are shown evenly.

use std::str::FromStr;
use std::time::Duration;

/// The longest fixed delay: what a player holds of a broadcast in pictures has a limit.
const MAX_FIXED: Duration = Duration::from_millis(400);

/// How long frames are delayed so that they are shown evenly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Latency {
    /// Shows each frame at once.
    Min,
    /// Delays frames by as little as keeps fewer than one frame in a hundred from being late.
    #[default]
    Smooth,
    /// Shows each frame this long after the earliest moment at which it could be ready, at most 400 ms.
    Fixed(Duration),
}

/// The text is neither `min`, `smooth` nor a number of milliseconds from 0 to 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("give min, smooth, or milliseconds from 0 to {}", MAX_FIXED.subsec_millis())]
pub struct LatencyError;

impl FromStr for Latency {
    type Err = LatencyError;

    fn from_str(text: &str) -> Result<Self, LatencyError> {
        match text {
            "min" => Ok(Self::Min),
            "smooth" => Ok(Self::Smooth),
            _ => {
                let delay = Duration::from_millis(text.parse().map_err(|_| LatencyError)?);
                if delay <= MAX_FIXED { Ok(Self::Fixed(delay)) } else { Err(LatencyError) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_a_word_or_a_number_of_milliseconds() {
        assert_eq!("min".parse(), Ok(Latency::Min));
        assert_eq!("smooth".parse(), Ok(Latency::Smooth));
        assert_eq!("120".parse(), Ok(Latency::Fixed(Duration::from_millis(120))));
        for wrong in ["", "401", "-1", "1.5", "Min", "99999999999999999999"] {
            assert_eq!(wrong.parse::<Latency>(), Err(LatencyError), "{wrong}");
        }
    }
}
