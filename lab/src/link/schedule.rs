//! When a packet leaves a link whose rate changes, which packets are lost, and which are late.

use std::collections::BTreeMap;
use std::time::Duration;

use super::trace;

/// Bytes that UDP and IPv4 add to a packet.
const OVERHEAD_BYTES: u64 = 28;
/// Bits per second from clients to the server.
const BACK_BITS_PER_SECOND: u64 = 1_000_000_000;
/// The longest wait, even where a rate stays at zero.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// A token bucket (RFC 2697).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Bits a second, with the headers of UDP and IPv4.
    pub rate: u64,
    /// Bytes that may pass at once.
    pub burst: u64,
}

/// One direction of a link; the other direction has only its delay, loss and jitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The rates in bits per second, each with the moment from which it applies; the first applies from the start.
    pub rates: Vec<(Duration, u64)>,
    /// The delay one way: half of the round trip without queues.
    pub delay: Duration,
    /// A packet that would wait longer is dropped.
    pub queue: Duration,
    /// The number of packets lost on the air, after the queue, in each million.
    pub loss: u32,
    /// The most by which a packet is late; another packet may overtake it.
    pub jitter: Duration,
    /// Drops what exceeds it before the queue.
    pub policer: Option<Policer>,
    /// The moment from which each way is longer, and by how much: another route.
    pub longer_route: Option<(Duration, Duration)>,
    /// The seed of loss and jitter: the same seed gives the same losses.
    pub seed: u64,
}

impl Link {
    /// Creates a link of a constant rate, with 5 ms each way and a queue of 100 ms, without loss or jitter.
    #[must_use]
    pub fn constant(bits_per_second: u64) -> Self {
        Self::varying(vec![(Duration::ZERO, bits_per_second)])
    }

    /// Creates a link whose rate changes, with 5 ms each way and a queue of 100 ms, without loss or jitter.
    #[must_use]
    pub const fn varying(rates: Vec<(Duration, u64)>) -> Self {
        let delay = Duration::from_millis(5);
        let queue = Duration::from_millis(100);
        Self { rates, delay, queue, loss: 0, jitter: Duration::ZERO, policer: None, longer_route: None, seed: 1 }
    }

    /// Creates a link with the rates of a trace, 5 ms each way and a queue of 100 ms, without loss or jitter.
    ///
    /// # Errors
    /// Those of [`trace::parse`].
    pub fn recorded(text: &str) -> anyhow::Result<Self> {
        Ok(Self::varying(trace::parse(text)?))
    }

    /// Sets the round trip while the queue is empty.
    #[must_use]
    pub fn with_rtt(self, rtt: Duration) -> Self {
        Self { delay: rtt / 2, ..self }
    }

    /// Loses `loss` packets of a million in each direction.
    #[must_use]
    pub fn with_loss(self, loss: u32, seed: u64) -> Self {
        Self { loss, seed, ..self }
    }

    /// Adds a policer of `rate` bits a second that lets `burst` bytes through at once.
    #[must_use]
    pub fn with_policer(self, rate: u64, burst: u64) -> Self {
        Self { policer: Some(Policer { rate, burst }), ..self }
    }

    /// Lengthens the round trip by `rtt` from a moment on.
    #[must_use]
    pub fn with_longer_route(self, from: Duration, rtt: Duration) -> Self {
        Self { longer_route: Some((from, rtt / 2)), ..self }
    }

    /// Returns the other direction: fast enough not to matter, without a policer, with the same delay, loss and jitter.
    #[must_use]
    pub fn back(&self) -> Self {
        Self { rates: vec![(Duration::ZERO, BACK_BITS_PER_SECOND)], policer: None, seed: !self.seed, ..self.clone() }
    }

    /// Returns the bits per second at a moment.
    #[must_use]
    pub fn rate(&self, at: Duration) -> u64 {
        let current = self.rates.iter().rfind(|(from, _)| *from <= at);
        current.or(self.rates.first()).map_or(0, |(_, rate)| *rate)
    }

    /// Returns the bits that pass between two moments; a policer's burst does not count.
    #[must_use]
    pub fn capacity(&self, from: Duration, to: Duration) -> f64 {
        let mut bits = 0.0;
        let mut at = from;
        while at < to {
            let until = self.next_change(at).min(to);
            let rate = self.policer.map_or(self.rate(at), |policer| self.rate(at).min(policer.rate));
            bits += rate as f64 * (until - at).as_secs_f64();
            at = until;
        }
        bits
    }

    /// Returns when `bits` that begin at `at` have passed.
    fn through(&self, mut at: Duration, bits: u64) -> Duration {
        let end = at + MAX_WAIT;
        let mut left = bits as f64;
        while at < end {
            let rate = self.rate(at) as f64;
            let until = self.next_change(at).min(end);
            let part = rate * (until - at).as_secs_f64();
            if part >= left {
                return at + Duration::from_secs_f64(left / rate);
            }
            left -= part;
            at = until;
        }
        end
    }

    fn next_change(&self, at: Duration) -> Duration {
        self.rates.iter().map(|(from, _)| *from).find(|from| *from > at).unwrap_or(Duration::MAX)
    }
}

/// The packets on a link: first in, first out, except for jitter.
#[derive(Debug)]
pub struct Schedule<T> {
    link: Link,
    /// When the last packet leaves the queue.
    busy: Duration,
    /// The bits that the policer's bucket lacked, and when.
    lacking: (f64, Duration),
    /// The packets by arrival, then by number.
    packets: BTreeMap<(Duration, u64), T>,
    count: u64,
    random: u64,
}

impl<T> Schedule<T> {
    /// Creates an empty link.
    #[must_use]
    pub const fn new(link: Link) -> Self {
        let random = link.seed;
        Self { link, busy: Duration::ZERO, lacking: (0.0, Duration::ZERO), packets: BTreeMap::new(), count: 0, random }
    }

    /// Adds a packet of `bytes`. Returns how long it waits for earlier ones, or `None` if the queue has no room for it.
    pub fn push(&mut self, now: Duration, bytes: usize, packet: T) -> Option<Duration> {
        let wait = self.busy.saturating_sub(now);
        if !self.passes_policer(now, bytes) || wait > self.link.queue {
            return None;
        }
        self.busy = self.link.through(self.busy.max(now), (bytes as u64 + OVERHEAD_BYTES) * 8);
        let lost = self.random(1_000_000) < u64::from(self.link.loss);
        let late = self.random(u64::try_from(self.link.jitter.as_nanos()).unwrap_or(u64::MAX));
        if !lost {
            self.count += 1;
            let longer = self.link.longer_route.filter(|(from, _)| now >= *from).map_or(Duration::ZERO, |(_, by)| by);
            let arrives = self.busy + self.link.delay + longer + Duration::from_nanos(late);
            self.packets.insert((arrives, self.count), packet);
        }
        Some(wait)
    }

    /// Returns whether the policer lets a packet of `bytes` through.
    fn passes_policer(&mut self, now: Duration, bytes: usize) -> bool {
        let Some(Policer { rate, burst }) = self.link.policer else { return true };
        let (lacking, at) = &mut self.lacking;
        let filled = rate as f64 * now.saturating_sub(std::mem::replace(at, now)).as_secs_f64();
        let taken = (*lacking - filled).max(0.0);
        let wanted = taken + ((bytes as u64 + OVERHEAD_BYTES) * 8) as f64;
        let passes = wanted <= (burst * 8) as f64;
        *lacking = if passes { wanted } else { taken };
        passes
    }

    /// Returns when the next packet arrives.
    #[must_use]
    pub fn due(&self) -> Option<Duration> {
        self.packets.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns a packet that has arrived.
    pub fn pop(&mut self, now: Duration) -> Option<T> {
        self.due().filter(|due| *due <= now)?;
        self.packets.pop_first().map(|(_, packet)| packet)
    }

    /// Returns a number below `below`, or zero: SplitMix64 (Steele, Lea, Flood 2014).
    const fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = z ^ (z >> 31);
        if below == 0 { 0 } else { z % below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn milliseconds(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn packets_leave_one_after_the_other_at_the_rate_of_their_time() {
        // 1000 bytes with their overhead take 8 ms at 1 Mbit/s, and 80 at 0.1.
        let link = Link::varying(vec![(Duration::ZERO, 1_000_000), (milliseconds(12), 100_000)]);
        let mut schedule = Schedule::new(link);
        assert_eq!(schedule.push(Duration::ZERO, 972, 'a'), Some(Duration::ZERO));
        assert_eq!(schedule.push(Duration::ZERO, 972, 'b'), Some(milliseconds(8)));
        assert_eq!(schedule.due(), Some(milliseconds(8 + 5)));
        assert_eq!(schedule.pop(milliseconds(12)), None);
        assert_eq!(schedule.pop(milliseconds(13)), Some('a'));
        // Half of the second packet goes at the first rate, the rest at the second.
        assert_eq!(schedule.due(), Some(milliseconds(12 + 40 + 5)));
    }

    #[test]
    fn what_would_wait_too_long_is_dropped_and_the_queue_drains() {
        let mut schedule = Schedule::new(Link::constant(1_000_000));
        let taken = (0..100).filter(|_| schedule.push(Duration::ZERO, 972, ()).is_some()).count();
        assert_eq!(taken, 13, "those that wait 0, 8, ... 96 ms");
        assert_eq!(schedule.push(SECOND, 972, ()), Some(Duration::ZERO));
    }

    #[test]
    fn a_link_that_stands_still_drops_all_but_the_first() {
        let mut schedule = Schedule::new(Link::constant(0));
        assert!(schedule.push(SECOND, 10, ()).is_some());
        assert!(schedule.push(SECOND, 10, ()).is_none());
        assert_eq!(schedule.pop(2 * SECOND), None);
    }

    #[test]
    fn a_policer_lets_a_burst_through_and_then_its_rate() {
        let mut schedule = Schedule::new(Link::constant(1_000_000_000).with_policer(1_000_000, 10_000));
        let at_once = (0..100).filter(|_| schedule.push(Duration::ZERO, 972, ()).is_some()).count();
        assert_eq!(at_once, 10);
        let then = (1..=1000).filter(|number| schedule.push(*number * milliseconds(1), 972, ()).is_some()).count();
        assert_eq!(then, 125, "one each 8 ms");
    }

    #[test]
    fn a_longer_route_takes_longer_from_its_moment_on() {
        let mut schedule = Schedule::new(Link::constant(1_000_000_000).with_longer_route(SECOND, milliseconds(60)));
        schedule.push(SECOND - milliseconds(1), 97, 'a');
        schedule.push(SECOND, 97, 'b');
        assert_eq!(schedule.pop(SECOND + milliseconds(10)), Some('a'));
        assert_eq!(schedule.pop(SECOND + milliseconds(35)), None);
        assert_eq!(schedule.pop(SECOND + milliseconds(36)), Some('b'));
    }

    #[test]
    fn capacity_is_the_area_under_the_rate() {
        let link = Link::varying(vec![(Duration::ZERO, 4_000), (SECOND, 1_000), (3 * SECOND, 10_000)]);
        let capacity = link.capacity(milliseconds(500), 4 * SECOND);
        assert!((capacity - (2_000.0 + 2_000.0 + 10_000.0)).abs() < 1e-6, "{capacity}");
    }

    #[test]
    fn of_many_packets_the_given_share_is_lost_and_the_same_seed_loses_the_same() {
        let arrived = |seed| {
            let mut schedule = Schedule::new(Link::constant(1_000_000_000).with_loss(30_000, seed));
            for number in 0..10_000 {
                schedule.push(number * milliseconds(1), 972, number);
            }
            std::iter::from_fn(|| schedule.pop(Duration::MAX)).collect::<Vec<_>>()
        };
        let count = arrived(1).len();
        assert!((9600..9800).contains(&count), "{count}");
        assert_eq!(arrived(1), arrived(1));
        assert_ne!(arrived(1), arrived(2));
    }

    #[test]
    fn jitter_delays_packets_and_lets_them_overtake() {
        let link = Link { jitter: milliseconds(3), ..Link::constant(100_000_000) };
        let mut schedule = Schedule::new(link);
        for number in 0..100 {
            schedule.push(Duration::ZERO, 972, number);
        }
        let order: Vec<u32> = std::iter::from_fn(|| schedule.pop(milliseconds(5 + 8 + 3))).collect();
        assert_eq!(order.len(), 100, "none is later than the jitter");
        assert!(!order.is_sorted());
    }
}
