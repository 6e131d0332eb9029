//! Detects a policer: a token bucket that drops what exceeds a rate, without a queue (RFC 2697). Many networks have one
//! (Flach and others 2016).
//!
//! No delay reveals it. A window that grows until a queue shows would grow for ever, and most bytes would be lost. But
//! after a loss, when the bucket is empty, exactly the policer's rate arrives, however much is sent (as in BBR:
//! Cardwell and others 2016, "Token-bucket policers"). The sender believes one such interval for a short time. Then it
//! probes a little more, step by step, with parity of frames, which nobody misses. Each time that it finds the same
//! rate, it believes it for longer. So a mistake costs seconds, and a policer costs a few packets a minute.

use std::time::Duration;

use crate::path::round::{Round, seconds};

/// The least fraction of loss that reveals a policer: of all packets, and of those sent to probe a higher rate. Less
/// loss is that of a radio link, or of a queue.
const MIN_LOSS: f64 = 0.2;
const MIN_PROBE_LOSS: f64 = 0.05;
/// The least packets that arrive in an interval, and the least in a probe, whose rate is believed for longer. With this
/// many packets and too little loss an interval shows nothing, and another begins.
const MIN_PACKETS: u64 = 16;
const MIN_PROBE_PACKETS: u64 = 40;
const MAX_PACKETS: u64 = 80;
/// The largest relative difference between rates that count as the same.
const SAME_RATE_SHARE: f64 = 0.125;
/// The part of the rate that is sent: the bucket must fill, or every burst would lose packets.
const SENT_RATE_SHARE: f64 = 0.95;
/// How long a rate is believed before a probe; the time doubles each time that the same rate is found, up to the most.
const BELIEF_TIME: Duration = Duration::from_secs(3);
const MAX_BELIEF_TIME: Duration = Duration::from_secs(60);
/// The factor of each probe step, and how long it lasts in addition to round trips: it must empty the bucket. If this
/// many times the rate passes, there is no policer.
const PROBE_STEP: f64 = 1.25;
const PROBE_TIME: Duration = Duration::from_millis(600);
const PROBE_ROUNDS: u32 = 3;
const GONE_ABOVE: f64 = 2.0;

/// The bytes that a path delivered from one loss, when the bucket was empty, to another, and the bytes lost in between.
#[derive(Debug, Clone, Copy)]
struct Interval {
    since: Duration,
    until: Duration,
    /// All bytes delivered on the path before the interval.
    before: u64,
    delivered: u64,
    lost: u64,
}

/// A believed rate, in bytes a second.
#[derive(Debug, Clone, Copy)]
struct Belief {
    rate: f64,
    since: Duration,
    /// Whether the packets lost now were sent after the rate was found.
    settled: bool,
    /// How long the rate is believed, and when that time or the probe step ends.
    time: Duration,
    until: Duration,
    /// The factor of the rate that is sent: above 1 in a probe.
    tried: f64,
}

/// The detector of a policer and its rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Policer {
    interval: Option<Interval>,
    belief: Option<Belief>,
}

impl Policer {
    /// Notes that `bytes` were lost, when `delivered` bytes had arrived since the connection began.
    pub(crate) fn handle_loss(&mut self, now: Duration, delivered: u64, bytes: u64) {
        if bytes == 0 || self.belief.is_some_and(|belief| !belief.settled) {
            return;
        }
        match &mut self.interval {
            None => self.interval = Some(Interval { since: now, until: now, before: delivered, delivered: 0, lost: 0 }),
            Some(interval) => {
                interval.lost += bytes;
                interval.until = now;
                interval.delivered = delivered - interval.before;
            }
        }
    }

    /// Processes the end of a round trip with packets of `mtu` bytes; `queue` says whether they met a queue. If this
    /// finds a rate that was far exceeded, returns since when packets were lost.
    pub(crate) fn handle_round(&mut self, now: Duration, round: &Round, queue: bool, mtu: u64) -> Option<Duration> {
        if let Some(belief) = &mut self.belief {
            belief.settled |= round.began >= belief.since;
        }
        if queue {
            self.interval = None;
            // The path has another limit, which shows by a queue.
            self.belief = self.belief.filter(|belief| !belief.is_trial());
            return None;
        }
        let Some(interval) = self.interval else {
            self.try_more(now, round);
            return None;
        };
        let trial = self.belief.is_some_and(|belief| belief.is_trial());
        let (packets, lost) = if trial { (MIN_PROBE_PACKETS, MIN_PROBE_LOSS) } else { (MIN_PACKETS, MIN_LOSS) };
        let found = interval.delivered >= packets * mtu && interval.loses(lost);
        if found {
            self.handle_rate(now, interval.rate());
        }
        if found || interval.delivered >= MAX_PACKETS * mtu || now > interval.until + PROBE_TIME {
            self.interval = None;
        }
        (found && interval.loses(MIN_LOSS)).then_some(interval.since)
    }

    /// Probes a higher rate if the rate was believed for long enough, or a probe step ended.
    fn try_more(&mut self, now: Duration, round: &Round) {
        let Some(belief) = self.belief.as_mut().filter(|belief| now >= belief.until) else { return };
        belief.tried *= PROBE_STEP;
        belief.until = now + PROBE_TIME + round.mean_rtt() * PROBE_ROUNDS;
        if belief.tried > GONE_ABOVE {
            self.belief = None;
        }
    }

    /// Processes an interval of this rate.
    fn handle_rate(&mut self, now: Duration, rate: f64) {
        let again = self.belief.filter(|belief| (rate - belief.rate).abs() <= SAME_RATE_SHARE * rate.max(belief.rate));
        let (rate, time) = again.map_or((rate, BELIEF_TIME), |belief| {
            let time = if belief.is_trial() { (2 * belief.time).min(MAX_BELIEF_TIME) } else { belief.time };
            ((rate + belief.rate) / 2.0, time)
        });
        self.belief = Some(Belief { rate, since: now, settled: false, time, until: now + time, tried: 1.0 });
    }

    /// Returns the sending rate in bytes a second while a policer's rate is believed, and the part of it that is a
    /// probe.
    pub(crate) fn rate(&self) -> Option<(f64, f64)> {
        self.belief
            .map(|Belief { rate, tried, .. }| (SENT_RATE_SHARE * rate * tried, SENT_RATE_SHARE * rate * (tried - 1.0)))
    }
}

impl Belief {
    const fn is_trial(&self) -> bool {
        self.tried > 1.0
    }
}

impl Interval {
    /// Returns the rate in bytes a second.
    fn rate(&self) -> f64 {
        self.delivered as f64 / seconds(self.until.saturating_sub(self.since))
    }

    /// Returns whether at least the fraction `share` was lost.
    fn loses(&self, share: f64) -> bool {
        self.lost as f64 >= share * (self.delivered + self.lost) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TIME: Duration = Duration::from_millis(50);
    const MTU: u64 = 1200;
    const BYTES_PER_SECOND: f64 = 240_000.0;

    /// A path's policer, if any, and the detector's results.
    #[derive(Default)]
    struct Path {
        policer: Policer,
        now: Duration,
        delivered: u64,
        rate_drops: u32,
    }

    impl Path {
        /// Runs rounds in each of which `delivered` bytes arrive and `lost` bytes are lost.
        fn rounds(&mut self, rounds: u32, (delivered, lost): (u64, u64), queue: bool) {
            for _ in 0..rounds {
                self.now += ROUND_TIME;
                let round = Round::new(self.now - ROUND_TIME, 0);
                self.delivered += delivered;
                if lost > 0 {
                    self.policer.handle_loss(self.now, self.delivered, lost);
                }
                self.rate_drops += u32::from(self.policer.handle_round(self.now, &round, queue, MTU).is_some());
            }
        }

        /// Sends what the detector allows for a time; if the policer is `there`, what exceeds [`BYTES_PER_SECOND`] is lost.
        fn send(&mut self, time: Duration, there: bool) {
            let end = self.now + time;
            while self.now < end {
                let sent = crate::path::round::whole(
                    self.policer.rate().map_or(2.0 * BYTES_PER_SECOND, |(rate, _)| rate) * seconds(ROUND_TIME),
                );
                let lost = if there {
                    sent.saturating_sub(crate::path::round::whole(BYTES_PER_SECOND * seconds(ROUND_TIME)))
                } else {
                    0
                };
                self.rounds(1, (sent - lost, lost), false);
            }
        }

        /// Returns the sending rate as a part of [`BYTES_PER_SECOND`].
        fn share(&self) -> Option<f64> {
            self.policer.rate().map(|(rate, _)| rate / BYTES_PER_SECOND)
        }
    }

    fn is(share: Option<f64>, wanted: f64) -> bool {
        share.is_some_and(|share| (share - wanted).abs() < 1e-3)
    }

    #[test]
    fn what_exceeds_a_rate_is_tried_a_little_and_ever_less_often() {
        let mut path = Path::default();
        path.rounds(1, (12_000, 12_000), false);
        assert_eq!(path.share(), None, "the bucket was full");
        path.rounds(2, (12_000, 12_000), false);
        assert!(is(path.share(), SENT_RATE_SHARE) && path.rate_drops == 1, "{:?}", path.share());
        let mut tried = Vec::new();
        let mut before = SENT_RATE_SHARE;
        while path.now < Duration::from_secs(60) {
            path.send(ROUND_TIME, true);
            let share = path.share().expect("it is there");
            assert!(share < PROBE_STEP, "{share} at {:?}", path.now);
            if share > 1.0 && before < 1.0 {
                tried.push(path.now);
            }
            before = share;
        }
        assert!((3..=5).contains(&tried.len()) && path.rate_drops == 1, "{tried:?}");
    }

    #[test]
    fn a_policer_that_is_gone_is_forgotten_within_seconds() {
        let mut path = Path::default();
        path.rounds(3, (12_000, 12_000), false);
        path.send(BELIEF_TIME + PROBE_TIME / 2, false);
        assert!(path.policer.rate().is_some_and(|(rate, tried)| is(Some(tried / rate), 1.0 - 1.0 / PROBE_STEP)));
        path.send(4 * PROBE_TIME, false);
        assert_eq!(path.share(), None);
    }

    #[test]
    fn a_rate_that_was_thought_too_high_is_found_while_it_is_believed() {
        let mut path = Path::default();
        path.rounds(3, (24_000, 24_000), false);
        assert!(is(path.share(), 2.0 * SENT_RATE_SHARE));
        path.rounds(1, (12_000, 24_000), false);
        assert!(is(path.share(), 2.0 * SENT_RATE_SHARE), "of what was sent before");
        path.rounds(4, (12_000, 12_000), false);
        assert!(is(path.share(), SENT_RATE_SHARE));
    }

    #[test]
    fn little_loss_and_a_queue_are_no_policers() {
        for (round, queue) in [((24_000, 3_000), false), ((12_000, 12_000), true)] {
            let mut path = Path::default();
            path.rounds(60, round, queue);
            assert_eq!((path.share(), path.rate_drops), (None, 0), "{round:?}, {queue}");
        }
    }

    #[test]
    fn a_queue_shows_that_another_limit_was_reached() {
        let mut path = Path::default();
        path.rounds(3, (12_000, 12_000), false);
        path.rounds(4, (12_000, 0), true);
        assert!(is(path.share(), SENT_RATE_SHARE), "another's");
        path.send(BELIEF_TIME, false);
        path.rounds(1, (12_000, 0), true);
        assert_eq!(path.share(), None);
    }
}
