//! The queue target: how long packets should wait before a path's slowest link. It is short, and fair to all flows.

use std::time::Duration;

use crate::path::limits::{QUEUE_LEAST, QUEUE_TARGET};
use crate::path::round::{Round, seconds};
use crate::path::shortest::Shortest;
use crate::path::stats::PathStats;

/// The target in packets. A fast link stays busy with less: as many packets as are acknowledged together, and what the
/// clocks and schedulers of both ends need. If its rate falls, all later frames wait for the queue.
const QUEUE_PACKETS: f64 = 4.0;
/// The target as a part of the round trip: rates are known to a few percent, and the queue must cover that error.
const QUEUE_OF_RTT: f64 = 1.0 / 16.0;

/// The longest counted transmission time of a packet: 96 kbit/s.
const LONGEST_PACKET: Duration = Duration::from_millis(100);
/// How long the highest rate of a path is remembered. A flow that shares the path may see only its own part for long.
const RATE_LIFE: Duration = Duration::from_secs(60);
/// The factor within which a flow that has the path alone measures its rate.
const ALONE_RATE_FACTOR: f64 = 1.5;
/// The power of the number of flows with which each flow's target grows, and the most flows counted.
const SHARE_SCALING: f64 = 0.75;
const SHARES_MOST: f64 = 16.0;
/// The longest ack delay of a peer (RFC 9000, section 18.2).
const LUMP_MOST: Duration = Duration::from_millis(25);
/// The most halvings of the target for a router that marks packets, and how long one lasts without a mark.
const HALVINGS_MOST: u8 = 3;
const HALVING_LIFE: Duration = Duration::from_secs(10);
/// The part of the ack batch size that remains after each round.
const LUMP_KEPT: f64 = 0.9;

/// The state on which the queue target depends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    /// The transmission time of a whole packet. A flow that shares the path measures only its part of the rate, so the
    /// highest recent rate is the closest.
    packet: Shortest,
    /// Bytes that the peer acknowledges together, averaged over a round. It falls only slowly: windows that are too
    /// small for the peer's habit make it acknowledge fewer bytes together, but late.
    lump: f64,
    /// The number of halvings because of marked packets, and since when it has not risen.
    halvings: (u8, Duration),
}

impl Target {
    /// Notes that the path carries at least `rate` bytes a second; returns the transmission time of a packet of `mtu`
    /// bytes.
    pub(crate) fn handle_rate(&mut self, now: Duration, mtu: u64, rate: f64) -> Duration {
        self.packet.of(now, of_packet(mtu, rate), true, RATE_LIFE)
    }

    /// Notes that the rate fell to `rate`; returns by how much the transmission time of a packet rose.
    pub(crate) fn handle_fall(&mut self, now: Duration, mtu: u64, rate: f64) -> Duration {
        let longer = of_packet(mtu, rate).saturating_sub(self.handle_rate(now, mtu, rate));
        self.packet.lengthen(longer);
        longer
    }

    /// Returns the highest recent rate, in bytes a second, for packets of `mtu` bytes.
    pub(crate) fn highest_rate(&self, mtu: u64) -> Option<f64> {
        self.packet.shortest().map(|packet| mtu as f64 / seconds(packet))
    }

    /// Processes the end of a round trip. If packets were marked in it, a router wants a shorter queue.
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

    /// Returns how long packets should wait and be transmitted on a path of `rate` bytes a second.
    pub(crate) fn of_path(&self, path: &PathStats, rate: f64) -> Duration {
        let most = QUEUE_TARGET.as_secs_f64();
        let least = QUEUE_LEAST.max(path.min_rtt.mul_f64(QUEUE_OF_RTT)).as_secs_f64().min(most);
        let packet = path.mtu as f64 / rate.max(1.0);
        // Bytes acknowledged together are sent together, and wait for each other.
        let lump = (self.lump / rate.max(1.0) - QUEUE_PACKETS * packet).clamp(0.0, LUMP_MOST.as_secs_f64());
        // Only whole packets are sent: the window has room for a packet for which the path has no room yet.
        let waits = (QUEUE_PACKETS * packet).clamp(least, most) / f64::from(1_u8 << self.halvings.0);
        Duration::from_secs_f64(waits + packet.min(1.3 * most) + lump)
    }

    /// Returns the same for a flow that has `rate` of a path. The smaller its part, the longer the queue, so that flows
    /// in one queue converge to equal rates (flow-based scaling of Swift: Kumar and others 2020, section 3.1). If the
    /// flow shares the path, the queue is at least the transmission time of a packet at `rate`. Flows that keep equal
    /// bytes in a queue converge to equal rates (FAST TCP: Wei, Jin, Low, Hegde 2006); flows that keep equal times do
    /// not change.
    pub(crate) fn of_share(&self, path: &PathStats, rate: f64) -> Duration {
        let whole = self.highest_rate(path.mtu).unwrap_or_default();
        let parts = whole / rate.max(1.0) / ALONE_RATE_FACTOR;
        let scaled = self.of_path(path, whole.max(rate)).mul_f64(parts.clamp(1.0, SHARES_MOST).powf(SHARE_SCALING));
        scaled.max(of_packet(path.mtu, rate).mul_f64(parts.min(1.0)))
    }
}

/// Returns the transmission time of a packet of `mtu` bytes at `rate` bytes a second.
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
