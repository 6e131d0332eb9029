//! The ack delay: how long a peer delays acknowledgements, which is part of a round trip but not a queue.

use std::time::Duration;

/// The longest ack delay of a peer (RFC 9000, section 18.2), plus the error of clocks.
const MAX_ACK_DELAY: Duration = Duration::from_millis(30);
/// The weight of the old mean with each acknowledgement, as in a smoothed round trip (RFC 9002, section 5.3).
const KEPT_EIGHTHS: u32 = 7;
/// The part of the longest delay that remains with each acknowledgement.
const LONGEST_KEPT: f64 = 0.9;

/// The ack delays of a peer. A transport learns them from the peer (the field ACK Delay, RFC 9000, section 19.3), and
/// shows them only through its smoothed round trip, `(7 * smoothed + round trip less delay) / 8` (RFC 9002, section
/// 5.3). From its values before and after an acknowledgement follows the delay of that one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckDelay {
    /// The transport's smoothed round trip.
    smoothed: Option<Duration>,
    mean: Duration,
    longest: Duration,
}

impl AckDelay {
    /// Takes the transport's round trips, `smoothed` and the `shortest`, and its last measurement `rtt`, if it made one
    /// since the last call. Returns the ack delay of that measurement.
    pub(crate) fn handle_transport(
        &mut self,
        smoothed: Duration,
        shortest: Duration,
        rtt: Option<Duration>,
    ) -> Duration {
        let before = self.smoothed.replace(smoothed);
        let Some((before, rtt)) = before.zip(rtt) else { return Duration::ZERO };
        let without = (8 * smoothed).saturating_sub(KEPT_EIGHTHS * before).max(shortest);
        let ack_delay = rtt.saturating_sub(without);
        if ack_delay > MAX_ACK_DELAY {
            // The transport made more measurements than this one since the last call.
            return self.mean;
        }
        self.mean = (KEPT_EIGHTHS * self.mean + ack_delay) / (KEPT_EIGHTHS + 1);
        self.longest = ack_delay.max(self.longest.mul_f64(LONGEST_KEPT));
        ack_delay
    }

    /// Returns the recent mean.
    pub(crate) const fn mean(&self) -> Duration {
        self.mean
    }

    /// Returns the longest recent delay.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn the_time_is_found_to_the_microsecond() {
        let mut ack_delay = AckDelay::default();
        let mut smoothed = ms(100);
        assert_eq!(ack_delay.handle_transport(smoothed, ms(100), None), Duration::ZERO);
        for (rtt, delay) in [(60, 4), (54, 0), (75, 25), (52, 2)] {
            smoothed = (7 * smoothed + ms(rtt - delay)) / 8;
            let found = ack_delay.handle_transport(smoothed, ms(50), Some(ms(rtt)));
            assert!(found.abs_diff(ms(delay)) < Duration::from_micros(1), "{found:?}, not {delay} ms");
        }
        assert!(ack_delay.mean() > ms(2) && ack_delay.mean() < ms(5), "{:?}", ack_delay.mean());
    }

    #[test]
    fn a_transport_that_begins_anew_makes_no_round_trip_shorter_than_its_shortest() {
        let mut ack_delay = AckDelay::default();
        ack_delay.handle_transport(ms(100), ms(100), None);
        assert_eq!(ack_delay.handle_transport(ms(50), ms(50), Some(ms(60))), ms(10));
    }
}
