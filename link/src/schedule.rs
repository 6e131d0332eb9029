//! When a packet leaves a link whose rate changes.

use std::collections::VecDeque;
use std::time::Duration;

/// What UDP and IPv4 add to a packet.
const OVERHEAD: u64 = 28;
/// Nothing waits for longer than this, even where a rate stays at zero.
const FOREVER: Duration = Duration::from_secs(3600);

/// One direction of a link; the other has its delay alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// From each moment on so many bits per second, by time; before the first, the first.
    pub rates: Vec<(Duration, u64)>,
    /// One way.
    pub delay: Duration,
    /// What would wait longer is dropped.
    pub queue: Duration,
}

impl Link {
    /// A constant rate; 5 ms each way and a queue of 100 ms.
    #[must_use]
    pub fn constant(bits_per_second: u64) -> Self {
        Self::varying(vec![(Duration::ZERO, bits_per_second)])
    }

    /// A rate that changes at moments after the start; 5 ms each way and a queue of 100 ms.
    #[must_use]
    pub const fn varying(rates: Vec<(Duration, u64)>) -> Self {
        Self { rates, delay: Duration::from_millis(5), queue: Duration::from_millis(100) }
    }

    /// Bits per second at a moment.
    #[must_use]
    pub fn rate(&self, at: Duration) -> u64 {
        let current = self.rates.iter().rfind(|(from, _)| *from <= at);
        current.or(self.rates.first()).map_or(0, |(_, rate)| *rate)
    }

    /// The bits that go through between two moments.
    #[must_use]
    pub fn capacity(&self, from: Duration, to: Duration) -> f64 {
        let mut bits = 0.0;
        let mut at = from;
        while at < to {
            let until = self.next_change(at).min(to);
            bits += self.rate(at) as f64 * (until - at).as_secs_f64();
            at = until;
        }
        bits
    }

    /// When `bits` are through that begin at `at`.
    fn through(&self, mut at: Duration, bits: u64) -> Duration {
        let end = at + FOREVER;
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

/// The packets on a link, first in, first out.
#[derive(Debug)]
pub(crate) struct Schedule {
    link: Link,
    /// When the last packet has left.
    busy: Duration,
    packets: VecDeque<(Duration, Vec<u8>)>,
}

impl Schedule {
    pub(crate) const fn new(link: Link) -> Self {
        Self { link, busy: Duration::ZERO, packets: VecDeque::new() }
    }

    /// A packet comes; gives how long it waits for those before it, or nothing if it is dropped.
    pub(crate) fn push(&mut self, now: Duration, packet: Vec<u8>) -> Option<Duration> {
        let wait = self.busy.saturating_sub(now);
        if wait > self.link.queue {
            return None;
        }
        self.busy = self.link.through(self.busy.max(now), (packet.len() as u64 + OVERHEAD) * 8);
        self.packets.push_back((self.busy + self.link.delay, packet));
        Some(wait)
    }

    /// When the next packet arrives.
    pub(crate) fn due(&self) -> Option<Duration> {
        self.packets.front().map(|(at, _)| *at)
    }

    /// A packet that has arrived.
    pub(crate) fn pop(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.due().filter(|due| *due <= now)?;
        self.packets.pop_front().map(|(_, packet)| packet)
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
        let packet = || vec![7; 972];
        assert_eq!(schedule.push(Duration::ZERO, packet()), Some(Duration::ZERO));
        assert_eq!(schedule.push(Duration::ZERO, packet()), Some(milliseconds(8)));
        assert_eq!(schedule.due(), Some(milliseconds(8 + 5)));
        assert_eq!(schedule.pop(milliseconds(12)), None);
        assert_eq!(schedule.pop(milliseconds(13)), Some(packet()));
        // The second goes halfway at the first rate, the rest at the second.
        assert_eq!(schedule.due(), Some(milliseconds(12 + 40 + 5)));
    }

    #[test]
    fn what_would_wait_too_long_is_dropped_and_the_queue_drains() {
        let mut schedule = Schedule::new(Link::constant(1_000_000));
        let taken = (0..100).filter(|_| schedule.push(Duration::ZERO, vec![0; 972]).is_some()).count();
        assert_eq!(taken, 13, "those that wait 0, 8, ... 96 ms");
        assert_eq!(schedule.push(SECOND, vec![0; 972]), Some(Duration::ZERO));
    }

    #[test]
    fn a_link_that_stands_still_drops_all_but_the_first() {
        let mut schedule = Schedule::new(Link::constant(0));
        assert!(schedule.push(SECOND, vec![0; 10]).is_some());
        assert!(schedule.push(SECOND, vec![0; 10]).is_none());
        assert_eq!(schedule.pop(2 * SECOND), None);
    }

    #[test]
    fn capacity_is_the_area_under_the_rate() {
        let link = Link::varying(vec![(Duration::ZERO, 4_000), (SECOND, 1_000), (3 * SECOND, 10_000)]);
        let capacity = link.capacity(milliseconds(500), 4 * SECOND);
        assert!((capacity - (2_000.0 + 2_000.0 + 10_000.0)).abs() < 1e-6, "{capacity}");
    }
}
