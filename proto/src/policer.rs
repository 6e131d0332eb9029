//! Finds that a path drops whatever exceeds a rate, without a queue: a policer with a token bucket (RFC 2697), as many
//! networks have one (Flach and others 2016).
//!
//! No delay tells of it. A window that grows until a queue shows grows for ever, and most of what is sent is lost. From one
//! loss to another, between which the bucket is empty, exactly the policer's rate arrives, however much was sent: two such
//! intervals of the same rate in a row, of which much was lost, are a policer's (as in BBR: Cardwell and others 2016,
//! "Token-bucket policers").

use std::time::Duration;

use crate::round::{Round, seconds};

/// How much is lost of what is sent at least: less is the air's, or a queue's.
const LOST: f64 = 0.2;
/// Round trips and packets of an interval, at least.
const ROUNDS: u32 = 4;
const PACKETS: u64 = 40;
/// Round trips after which an interval in which less was lost shows nothing, and another begins.
const MOST_ROUNDS: u32 = 16;
/// Two rates are the same within this part of one.
const SAME: f64 = 0.125;
/// What of the rate is sent: the bucket must fill, or every burst would lose packets.
const KEPT: f64 = 0.95;
/// For how long a rate is believed, before more is tried: twice as long each time that the same is found, up to the most.
const BELIEVED: Duration = Duration::from_secs(10);
const BELIEVED_MOST: Duration = Duration::from_secs(60);

/// An interval that begins with a loss, and what was delivered and lost in it, in bytes.
#[derive(Debug, Clone, Copy)]
struct Interval {
    since: Duration,
    rounds: u32,
    delivered: u64,
    lost: u64,
}

/// A rate that is believed, in bytes a second.
#[derive(Debug, Clone, Copy)]
struct Belief {
    rate: f64,
    until: Duration,
    time: Duration,
}

/// Whether a path has a policer, and of which rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Policer {
    interval: Option<Interval>,
    /// That of the interval before, in bytes a second.
    seen: Option<f64>,
    belief: Option<Belief>,
}

impl Policer {
    /// A round trip is over; its packets met a `queue` or none, and have `mtu` bytes.
    pub(crate) fn handle_round(&mut self, now: Duration, round: &Round, queue: bool, mtu: u64) {
        if queue {
            (self.interval, self.seen) = (None, None);
            return;
        }
        let begun = (round.lost > 0).then_some(Interval { since: now, rounds: 0, delivered: 0, lost: 0 });
        let Some(interval) = &mut self.interval else {
            self.interval = begun;
            return;
        };
        interval.rounds += 1;
        interval.delivered += round.delivered;
        interval.lost += round.lost;
        let ended = *interval;
        if round.lost > 0 && ended.is_enough(mtu) && ended.is_policed() {
            self.interval = begun;
            self.handle_rate(now, ended.delivered as f64 / seconds(now.saturating_sub(ended.since)));
        } else if ended.rounds >= MOST_ROUNDS {
            (self.interval, self.seen) = (None, None);
        }
    }

    /// An interval was of this rate.
    fn handle_rate(&mut self, now: Duration, rate: f64) {
        let same = |other: f64| (rate - other).abs() <= SAME * rate.max(other);
        let Some(before) = self.seen.filter(|before| same(*before)) else {
            self.seen = Some(rate);
            return;
        };
        let rate = (rate + before) / 2.0;
        let again = self.belief.filter(|belief| same(belief.rate));
        let time = again.map_or(BELIEVED, |belief| (2 * belief.time).min(BELIEVED_MOST));
        self.belief = Some(Belief { rate, until: now + time, time });
        self.seen = None;
    }

    /// What may be sent, in bytes a second, while a policer's rate is believed.
    pub(crate) fn rate(&self, now: Duration) -> Option<f64> {
        self.belief.filter(|belief| now < belief.until).map(|belief| KEPT * belief.rate)
    }
}

impl Interval {
    const fn is_enough(&self, mtu: u64) -> bool {
        self.rounds >= ROUNDS && self.delivered + self.lost >= PACKETS * mtu
    }

    fn is_policed(&self) -> bool {
        self.lost as f64 >= LOST * (self.delivered + self.lost) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_millis(50);
    const MTU: u64 = 1200;

    /// Rounds in which so many bytes arrive and are lost, from a moment on.
    fn rounds(policer: &mut Policer, now: &mut Duration, rounds: u32, (delivered, lost): (u64, u64), queue: bool) {
        for _ in 0..rounds {
            *now += ROUND;
            let mut round = Round::new(*now, 0);
            (round.delivered, round.lost) = (delivered, lost);
            policer.handle_round(*now, &round, queue, MTU);
        }
    }

    #[test]
    fn two_intervals_of_one_rate_that_lose_much_are_a_policers() {
        let (mut policer, mut now) = (Policer::default(), Duration::ZERO);
        rounds(&mut policer, &mut now, 6, (12_000, 12_000), false);
        assert_eq!(policer.rate(now), None, "one interval");
        rounds(&mut policer, &mut now, 4, (12_000, 30_000), false);
        let rate = policer.rate(now).unwrap_or_default();
        assert!((rate / KEPT - 240_000.0).abs() < 1.0, "{rate}");
        assert_eq!(policer.rate(now + BELIEVED), None);
    }

    #[test]
    fn the_same_rate_again_is_believed_for_longer() {
        let (mut policer, mut now) = (Policer::default(), Duration::ZERO);
        rounds(&mut policer, &mut now, 9, (12_000, 12_000), false);
        now += 2 * BELIEVED;
        assert_eq!(policer.rate(now), None);
        rounds(&mut policer, &mut now, 24, (12_000, 0), false);
        rounds(&mut policer, &mut now, 9, (12_000, 12_000), false);
        assert!(policer.rate(now + BELIEVED * 3 / 2).is_some());
    }

    #[test]
    fn little_loss_other_rates_and_a_queue_are_no_policers() {
        for (first, then, queue) in [
            ((12_000, 1_000), (12_000, 1_000), false),
            ((12_000, 12_000), (18_000, 12_000), false),
            ((12_000, 12_000), (12_000, 12_000), true),
        ] {
            let (mut policer, mut now) = (Policer::default(), Duration::ZERO);
            rounds(&mut policer, &mut now, 5, first, queue);
            rounds(&mut policer, &mut now, 4, then, queue);
            assert_eq!(policer.rate(now), None, "{first:?}, {then:?}, {queue}");
        }
    }
}
