//! How long packets should wait before a path's slowest link: short, and the same for all flows that share it.

use std::time::Duration;

use crate::path::limits::{QUEUE_LEAST, QUEUE_TARGET};
use crate::path::round::{Round, seconds};
use crate::path::shortest::Shortest;
use crate::path::stats::PathStats;

/// A fast link stays busy with less: as many packets as are acknowledged together, and what the ends' clocks and
/// schedulers need. When its rate falls, what stands in the queue is what all later frames wait for.
const QUEUE_PACKETS: f64 = 4.0;
/// The same of the round trip: a rate is known to a few percent, and what that is of a long round trip must be there.
const QUEUE_OF_RTT: f64 = 1.0 / 16.0;

/// A packet takes no longer to be sent, as far as is counted: 96 kbit/s.
const LONGEST_PACKET: Duration = Duration::from_millis(100);
/// For how long the highest rate of a path is believed. Of flows that share it some see no more than their share for long.
const RATE_LIFE: Duration = Duration::from_secs(60);
/// A flow that has the path alone sees its rate within this factor.
const ALONE: f64 = 1.5;
/// Power of the number of flows with which the queue grows that each aims at, and the most that are counted.
const SHARE_SCALING: f64 = 0.75;
const SHARES_MOST: f64 = 16.0;
/// As long as a peer may hold acknowledgements back (RFC 9000, section 18.2).
const LUMP_MOST: Duration = Duration::from_millis(25);
/// How often a queue is halved for a router that marks packets, at most, and for how long it stays so without a mark.
const HALVINGS_MOST: u8 = 3;
const HALVING_LIFE: Duration = Duration::from_secs(10);
/// What stays in each round of how much is acknowledged together.
const LUMP_KEPT: f64 = 0.9;

/// What the queue's length depends on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    /// How long the path takes for a whole packet. Beside others a flow's rate is a part of the path's: the highest of late is
    /// the closest.
    packet: Shortest,
    /// Bytes that the peer acknowledges together. An average over a round: less than in the last one only slowly, since
    /// windows that are too small for a peer's habit make it acknowledge fewer together, but late.
    lump: f64,
    /// How often the queue was halved because packets were marked, and since when no more.
    halvings: (u8, Duration),
}

impl Target {
    /// The path carries at least `rate` bytes a second; gives how long it takes for a packet of `mtu` bytes.
    pub(crate) fn handle_rate(&mut self, now: Duration, mtu: u64, rate: f64) -> Duration {
        self.packet.of(now, of_packet(mtu, rate), true, RATE_LIFE)
    }

    /// The path carries no more than `rate` any longer; gives how much longer it takes for a packet now.
    pub(crate) fn handle_fall(&mut self, now: Duration, mtu: u64, rate: f64) -> Duration {
        let longer = of_packet(mtu, rate).saturating_sub(self.handle_rate(now, mtu, rate));
        self.packet.lengthen(longer);
        longer
    }

    /// The highest rate of late, in bytes a second, for packets of `mtu` bytes.
    pub(crate) fn highest_rate(&self, mtu: u64) -> Option<f64> {
        self.packet.shortest().map(|packet| mtu as f64 / seconds(packet))
    }

    /// A round trip is over. If packets were marked in it, a router wants a shorter queue.
    pub(crate) fn handle_round(&mut self, now: Duration, round: &Round) {
        let (halvings, since) = &mut self.halvings;
        if round.marked {
            *halvings = (*halvings + 1).min(HALVINGS_MOST);
            *since = now;
        } else if now.saturating_sub(*since) > HALVING_LIFE {
            *halvings = halvings.saturating_sub(1);
            *since = now;
        }
        self.lump = round.lump().max(LUMP_KEPT * self.lump);
    }

    /// How long packets should wait before a path that carries `rate` bytes a second, and be sent.
    pub(crate) fn of_path(&self, path: &PathStats, rate: f64) -> Duration {
        let most = QUEUE_TARGET.as_secs_f64();
        let least = QUEUE_LEAST.max(path.min_rtt.mul_f64(QUEUE_OF_RTT)).as_secs_f64().min(most);
        let packet = path.mtu as f64 / rate.max(1.0);
        // What is acknowledged together is sent together, and waits for itself.
        let lump = (self.lump / rate.max(1.0) - QUEUE_PACKETS * packet).clamp(0.0, LUMP_MOST.as_secs_f64());
        // Whole packets alone are sent: the window has room for one that the path has no room for yet.
        let waits = (QUEUE_PACKETS * packet).clamp(least, most) / f64::from(1_u8 << self.halvings.0);
        Duration::from_secs_f64(waits + packet.min(1.3 * most) + lump)
    }

    /// The same for a flow that has `rate` of a path: the smaller its part, the longer, so that flows behind one queue come to have
    /// the same (flow-based scaling of Swift: Kumar and others 2020, section 3.1). Beside others it is no less than a packet of its
    /// own takes at `rate`: flows that keep as many bytes in a queue as each other come to have the same of the path (FAST TCP:
    /// Wei, Jin, Low, Hegde 2006), those that keep theirs for the same time stay as they are.
    pub(crate) fn of_share(&self, path: &PathStats, rate: f64) -> Duration {
        let whole = self.highest_rate(path.mtu).unwrap_or_default();
        let parts = whole / rate.max(1.0) / ALONE;
        let scaled = self.of_path(path, whole.max(rate)).mul_f64(parts.clamp(1.0, SHARES_MOST).powf(SHARE_SCALING));
        scaled.max(of_packet(path.mtu, rate).mul_f64(parts.min(1.0)))
    }
}

/// How long a packet of `mtu` bytes takes at `rate` bytes a second.
fn of_packet(mtu: u64, rate: f64) -> Duration {
    Duration::from_secs_f64(mtu as f64 / rate.max(1.0)).min(LONGEST_PACKET)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_flow_with_a_small_part_of_a_path_aims_at_a_longer_queue_until_the_path_fell() {
        let path = PathStats { min_rtt: SECOND / 20, ..PathStats::default() };
        let mut target = Target::default();
        let packet = target.handle_rate(SECOND, path.mtu, 400_000.0);
        assert_eq!(packet, SECOND * 3 / 1000);
        let alone = target.of_path(&path, 400_000.0);
        assert_eq!(alone, SECOND * 15 / 1000, "four packets, and the one that is being sent");
        assert_eq!(target.of_share(&path, 400_000.0), alone);
        let quarter = target.of_share(&path, 100_000.0);
        assert!(quarter > 2 * alone && quarter < 4 * alone, "{quarter:?}");
        assert_eq!(target.handle_fall(SECOND, path.mtu, 100_000.0), SECOND * 9 / 1000);
        assert_eq!(target.of_share(&path, 100_000.0), target.of_path(&path, 100_000.0));
    }

    #[test]
    fn the_path_is_known_for_a_minute_though_a_flow_sees_its_share_alone() {
        let path = PathStats::default();
        let mut target = Target::default();
        let is = |target: &Target, rate: f64| {
            target.highest_rate(path.mtu).is_some_and(|highest| (highest - rate).abs() < 1.0)
        };
        target.handle_rate(SECOND, path.mtu, 125_000.0);
        for second in 2..=31 {
            target.handle_rate(second * SECOND, path.mtu, 31_250.0);
        }
        assert!(is(&target, 125_000.0));
        assert!(target.of_share(&path, 31_250.0) > 2 * target.of_share(&path, 125_000.0));
        for second in 32..=92 {
            target.handle_rate(second * SECOND, path.mtu, 31_250.0);
        }
        assert!(is(&target, 31_250.0));
    }

    #[test]
    fn beside_others_a_flow_aims_at_no_less_than_a_packet_of_its_own() {
        let path = PathStats { min_rtt: SECOND / 5, ..PathStats::default() };
        let mut target = Target::default();
        target.handle_rate(SECOND, path.mtu, 24_000.0);
        assert!(target.of_share(&path, 24_000.0) < SECOND / 20, "alone, where a packet takes 50 ms");
        let aims = [12_500.0, 14_000.0, 16_000.0].map(|rate| rate * target.of_share(&path, rate).as_secs_f64());
        assert!(aims.iter().all(|&bytes| bytes > 1199.0), "{aims:?}");
    }
}
