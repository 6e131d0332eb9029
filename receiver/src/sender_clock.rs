//! Converts times of the sender's clock to this machine's clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// Returns how long ago `captured` was, in microseconds since 1970 by a clock that is `ahead` microseconds ahead of
/// ours.
pub(crate) fn since(captured: u64, ahead: i64) -> Duration {
    let ago = micros(wall_clock()).saturating_add(ahead).saturating_sub_unsigned(captured);
    Duration::from_micros(u64::try_from(ago).unwrap_or_default())
}

/// Returns by how many microseconds a clock that says `now`, since 1970, is ahead of ours.
pub(crate) fn ahead(now: Duration) -> i64 {
    micros(now).saturating_sub(micros(wall_clock()))
}

/// Returns our clock, since 1970. It runs evenly even if the machine's clock is set meanwhile.
fn wall_clock() -> Duration {
    static CLOCK_START: LazyLock<(Instant, Duration)> =
        LazyLock::new(|| (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
    CLOCK_START.1 + CLOCK_START.0.elapsed()
}

/// The machine's clock for TLS. A clock before 1970, as on a machine without a battery, counts as 1970, because the
/// clock of `rustls` panics then.
#[derive(Debug)]
pub(crate) struct WallClock;

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_goes_by_the_senders_clock() {
        let hour = 3_600_000_000;
        let now = u64::try_from(wall_clock().as_micros()).expect("a date of ours");
        let ahead = since(now + hour - 80_000, hour.cast_signed());
        let late = since(now - hour - 80_000, -hour.cast_signed());
        assert!(ahead >= Duration::from_millis(80) && late >= Duration::from_millis(80), "{ahead:?} {late:?}");
        assert!(ahead < Duration::from_secs(1800) && late < Duration::from_secs(1800), "{ahead:?} {late:?}");
        assert_eq!(since(u64::MAX, i64::MAX), Duration::ZERO);
        assert_eq!(since(now + hour, 0), Duration::ZERO, "a frame of the future");
    }
}
