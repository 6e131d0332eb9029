//! How long the path's slowest link is busy with what was sent: a model of its queue, corrected by acknowledgements.
//!
//! A queue that a round trip showed is as old as that round trip. On a link that transmits one packet in a frame
//! interval that is too late: three frames would have too many bytes before the first of them is seen to wait. The
//! model knows a packet's wait when it is sent (as the leaky bucket of a pacer does, and as TCP Vegas computes it from
//! bytes in flight: Brakmo, Peterson 1995).

use std::time::Duration;

/// The growth of the assumed rate in a round trip, while the path may have become faster.
const RATE_GROWTH: f64 = 1.25;

/// The link's queue.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    /// The link's rate in bytes a second, if it ever was known, and the rate that is assumed now.
    known: Option<f64>,
    rate: Option<f64>,
    /// When the link has transmitted everything.
    until: Duration,
    /// When it will have transmitted the last packet at the earliest.
    least: Duration,
}

impl Backlog {
    /// Returns when the link has transmitted everything that was sent; the past if it is idle.
    pub(crate) const fn until(&self) -> Duration {
        self.until
    }

    /// Returns the rate that is assumed: the last known one, or more after a time in which it was unknown.
    pub(crate) const fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Notes the end of a round trip, after which the link's rate is this one, or unknown. A link that shows a queue is
    /// no faster than it was.
    pub(crate) fn handle_round(&mut self, rate: Option<f64>, shows_queue: bool) {
        self.known = rate.or(self.known);
        self.rate = if shows_queue { self.known } else { self.rate.or(self.known).map(|rate| rate * RATE_GROWTH) };
    }

    /// Notes that `bytes` were sent.
    pub(crate) fn handle_sent(&mut self, now: Duration, bytes: u64) {
        let Some(rate) = self.rate else { return };
        let takes = time(bytes, rate);
        self.until = self.until.max(now).saturating_add(takes);
        self.least = now.saturating_add(takes);
    }

    /// Notes that the link had transmitted a packet at `moment`, after which `in_flight` bytes were sent.
    pub(crate) fn handle_arrived(&mut self, moment: Duration, in_flight: u64) {
        let Some(rate) = self.rate else { return };
        let shown = moment.saturating_add(time(in_flight, rate));
        self.until = if in_flight == 0 { shown } else { shown.max(self.least) };
    }
}

/// Returns how long a link of `rate` bytes a second transmits `bytes`, at most a minute.
fn time(bytes: u64, rate: f64) -> Duration {
    const MAX_SECONDS: f64 = 60.0;
    Duration::from_secs_f64((bytes as f64 / rate.max(1.0)).min(MAX_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn packets_wait_for_each_other_and_acknowledgements_correct_the_rate() {
        let mut backlog = Backlog::default();
        backlog.handle_sent(ms(100), 1000);
        assert_eq!(backlog.until(), ms(0), "no rate is known");
        backlog.handle_round(Some(40_000.0), true);
        for _ in 0..2 {
            backlog.handle_sent(ms(100), 1200);
        }
        assert_eq!(backlog.until(), ms(160));
        backlog.handle_arrived(ms(130), 1200);
        assert_eq!(backlog.until(), ms(160), "as predicted");
        backlog.handle_arrived(ms(150), 1200);
        assert_eq!(backlog.until(), ms(180), "the link is slower, or another flow uses it");
        backlog.handle_sent(ms(300), 1200);
        assert_eq!(backlog.until(), ms(330), "it was idle in between");
        backlog.handle_arrived(ms(180), 1200);
        assert_eq!(backlog.until(), ms(330), "nothing is transmitted before it is sent");
        backlog.handle_round(None, false);
        backlog.handle_sent(ms(400), 1000);
        assert_eq!(backlog.until(), ms(420), "an unknown rate grows");
        backlog.handle_round(None, true);
        backlog.handle_sent(ms(500), 1000);
        assert_eq!(backlog.until(), ms(525), "until a queue shows");
    }
}
