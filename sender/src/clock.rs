//! The sender's clock.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// A moment by a clock that goes on evenly, and since 1970 by the machine's, which may be set.
static CLOCK_START: LazyLock<(Instant, Duration)> =
    LazyLock::new(|| (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));

/// Returns the origin of all of this program's times, and how long after the beginning of 1970 it is.
pub(crate) fn began() -> (Instant, Duration) {
    *CLOCK_START
}

/// Returns the current time in microseconds since 1970, by the clock of frames' capture times. Receivers learn this
/// clock once, so it runs evenly even if the machine's clock is set. A source with its own capture times converts them
/// to this clock.
#[must_use]
pub fn microseconds() -> u64 {
    let (_, since) = began();
    u64::try_from((since + since_start()).as_micros()).unwrap_or(u64::MAX)
}

/// Returns the time since the origin of this program's times.
pub(crate) fn since_start() -> Duration {
    began().0.elapsed()
}

/// The machine's clock for TLS. One that is before 1970, as without a battery, counts as 1970: that of `rustls` panics.
#[derive(Debug)]
pub(crate) struct WallClock;

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }
}
