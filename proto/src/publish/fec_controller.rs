//! The FEC controller: chooses how much parity pays on a path, from how often it loses packets.

use crate::wire::limits::MAX_PIECES;

/// The frame intervals counted: four seconds at 30 frames a second. A full queue loses many packets in a few of them;
/// radio loses a few packets in many.
const WINDOW_INTERVALS: u32 = u128::BITS;
/// The least number of loss events from which more loss is expected, and the least number of intervals that they span.
/// A queue that is full once loses many packets within a few round trips.
const MIN_LOSSES: u32 = 3;
const LEAST_SPAN: u32 = 32;

/// The recent frame intervals in which packets were lost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LossyIntervals {
    /// One bit for each interval; the newest is the lowest bit.
    fec_controller: u128,
    seen: u32,
    /// Bytes lost when the last frame was due.
    lost: u64,
}

impl LossyIntervals {
    /// Records a frame that is due; `lost` bytes were lost since the connection began.
    pub(crate) fn handle_frame(&mut self, lost: u64) {
        self.fec_controller = self.fec_controller << 1 | u128::from(lost > self.lost);
        self.lost = lost;
        self.seen = WINDOW_INTERVALS.min(self.seen + 1);
    }

    /// Returns whether packets were lost again and again.
    pub(crate) const fn is_lossy(&self) -> bool {
        let span =
            WINDOW_INTERVALS.saturating_sub(self.fec_controller.leading_zeros() + self.fec_controller.trailing_zeros());
        (self.fec_controller & !(self.fec_controller << 1)).count_ones() >= MIN_LOSSES && span >= LEAST_SPAN
    }

    /// Returns the number of FEC groups into which a frame of `packets` packets is cut, each with one packet of parity;
    /// 0 if parity would cost more than it saves.
    ///
    /// Losses are taken as independent: if a fraction `q` of the intervals loses packets, an interval loses `-ln(1-q)`
    /// on average. Take `n` packets, each lost with probability `p`. The longest prefix without a gap that parity
    /// cannot fill arrives with about `n sqrt(p) / 2` pieces, found by enumeration for `n` up to 130 and `p` from 0.003
    /// to 0.05.
    pub(crate) fn pieces(&self, packets: u64) -> u64 {
        if !self.is_lossy() {
            return 0;
        }
        // If every interval loses packets, the loss rate is unknown above this.
        let share = (f64::from(self.fec_controller.count_ones()) / f64::from(self.seen)).min(0.99);
        let lost = -(1.0 - share).ln();
        let pays = |pieces: &u64| {
            let least = 2.0 * (*pieces as f64 - 0.3);
            least * least <= packets as f64 * lost
        };
        (1..=MAX_PIECES.min(packets / 2)).take_while(pays).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state after `intervals` intervals of which every `nth` lost a packet.
    fn after(intervals: u64, nth: u64) -> LossyIntervals {
        let mut fec_controller = LossyIntervals::default();
        (1..=intervals).for_each(|interval| fec_controller.handle_frame(interval / nth * 1200));
        fec_controller
    }

    #[test]
    fn pieces_follow_from_how_often_packets_are_lost() {
        assert_eq!(after(1000, 2000).pieces(1000), 0, "nothing is lost");
        // One packet in a hundred: 34 a frame lose some in three of ten intervals, 3 in three of a hundred.
        assert_eq!(after(1000, 3).pieces(34), 2);
        assert_eq!(after(1000, 7).pieces(14), 1);
        assert_eq!(after(1000, 33).pieces(3), 0, "they would cost a third");
        assert_eq!(after(1000, 2).pieces(5000), MAX_PIECES);
        assert_eq!(after(1000, 2).pieces(3), 1, "no more than every second packet");
    }

    #[test]
    fn a_queue_that_is_full_for_once_is_not_taken_for_a_lossy_path() {
        let mut fec_controller = LossyIntervals::default();
        (1..=8).for_each(|interval| fec_controller.handle_frame(interval * 100_000));
        assert_eq!(fec_controller.pieces(5000), 0, "eight intervals in a row");
        (1..=8).for_each(|interval| fec_controller.handle_frame(800_000 + interval / 2 * 1200));
        assert_eq!(fec_controller.pieces(5000), 0, "every second one, soon after");
        let once = |fec_controller: &mut LossyIntervals, lost| (0..16).for_each(|_| fec_controller.handle_frame(lost));
        once(&mut fec_controller, 900_000);
        assert!(!fec_controller.is_lossy());
        once(&mut fec_controller, 1_000_000);
        assert!(fec_controller.is_lossy());
        (0..128).for_each(|_| fec_controller.handle_frame(1_000_000));
        assert!(!fec_controller.is_lossy(), "it is forgotten");
    }
}
