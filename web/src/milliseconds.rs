//! Converts times and durations to and from JavaScript's: numbers of milliseconds.

use std::time::Duration;

/// Converts a number of milliseconds to a duration; an invalid one becomes zero.
pub(crate) fn duration(milliseconds: f64) -> Duration {
    Duration::try_from_secs_f64(milliseconds / 1e3).unwrap_or_default()
}

/// Converts a duration to milliseconds.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_microseconds_and_nonsense_is_none() {
        let now = 1_795_000_000_123.456;
        assert!((milliseconds(duration(now)) - now).abs() < 0.001);
        for nonsense in [f64::NAN, -1.0, f64::NEG_INFINITY, f64::INFINITY] {
            assert_eq!(duration(nonsense), Duration::ZERO);
        }
    }
}
