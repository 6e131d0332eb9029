//! The time that receivers are told.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustls::pki_types::UnixTime;
use rustls::time_provider::TimeProvider;

/// A moment by a clock that goes on evenly, and since 1970 by the machine's, which may be set.
static BEGAN: LazyLock<(Instant, Duration)> =
    LazyLock::new(|| (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));

/// The moment that all of this program's times go by: it was so long after the beginning of 1970.
pub(crate) fn began() -> (Instant, Duration) {
    *BEGAN
}

/// Now, in microseconds since 1970: the clock by which frames say when they were captured. Receivers are told once what it says, so it goes on
/// evenly though the machine's clock is set meanwhile. A source with capture times of its own gives them by this clock.
#[must_use]
pub fn microseconds() -> u64 {
    let (instant, since) = began();
    u64::try_from((since + instant.elapsed()).as_micros()).unwrap_or(u64::MAX)
}

/// The machine's clock for TLS. One that is before 1970, as without a battery, counts as 1970: that of `rustls` panics.
#[derive(Debug)]
pub(crate) struct WallClock;

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }
}
