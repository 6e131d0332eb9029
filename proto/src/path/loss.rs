//! Distinguishes loss by a full queue from loss by radio, by its amount.

use crate::path::round::Round;

/// Loss above this, over at least this many packets, counts as a full queue; less is radio loss.
const LOSS_IS_CONGESTION: f64 = 0.08;
const LOSS_COUNTED: u64 = 100;

/// Loss over enough packets to tell a full queue from radio.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Loss {
    lost: u64,
    delivered: u64,
}

impl Loss {
    /// Counts a round's packets; returns whether too many of the last packets were lost.
    pub(crate) fn is_congestion(&mut self, round: &Round, mtu: u64) -> bool {
        self.lost += round.lost;
        self.delivered += round.delivered;
        let all = self.lost + self.delivered;
        if all < LOSS_COUNTED * mtu {
            return false;
        }
        std::mem::take(self).lost as f64 > LOSS_IS_CONGESTION * all as f64
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn little_loss_is_of_the_air_and_much_of_a_full_queue() {
        let fec_controller = |lost| {
            let mut round = Round::new(Duration::ZERO, 0);
            round.lost = lost;
            round.delivered = 100_000 - lost;
            round
        };
        let judge = |lost| {
            let mut loss = Loss::default();
            [loss.is_congestion(&fec_controller(lost), 1200), loss.is_congestion(&fec_controller(lost), 1200)]
        };
        assert_eq!(judge(7_000), [false, false], "less than 8 %");
        assert_eq!(judge(9_000), [false, true], "more, once there are 100 packets");
    }
}
