//! Which rendition of a stored video each receiver gets.

use std::collections::BTreeMap;

use nestcast_codec::{Bitrate, RenditionRates};
use nestcast_proto::ReceiverDemand;

use crate::demand_rate::rate_of;

/// A receiver goes to a faster rendition when its rate is above that rendition's by this factor, and leaves a rendition
/// when its rate is below that rendition's by this factor. Each change costs a random-access frame.
const RATE_MARGIN: f64 = 1.2;

/// The rendition of each receiver, by the receivers' numbers.
#[derive(Debug)]
pub(super) struct Placement {
    rates: RenditionRates,
    places: BTreeMap<u64, usize>,
}

impl Placement {
    pub(super) const fn new(rates: RenditionRates) -> Self {
        Self { rates, places: BTreeMap::new() }
    }

    /// Follows the current receivers.
    pub(super) fn follow(&mut self, receivers: &[(u64, ReceiverDemand)]) {
        let before = std::mem::take(&mut self.places);
        let place = |(number, wanted): &(u64, ReceiverDemand)| {
            let rate = rate_of(wanted);
            let serving = |rate: f64| self.rates.serving(Bitrate::rounded(rate));
            let stays = before
                .get(number)
                .map(|place| (*place).clamp(serving(rate / RATE_MARGIN), serving(rate * RATE_MARGIN)));
            (*number, stays.unwrap_or_else(|| serving(rate)))
        };
        self.places = receivers.iter().map(place).collect();
    }

    /// Returns the receivers of a rendition, in ascending order.
    pub(super) fn receivers(&self, rendition: usize) -> Vec<u64> {
        self.places.iter().filter(|(_, place)| **place == rendition).map(|(number, _)| *number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_changes_when_its_rate_is_clearly_another_rendition_s() {
        let rates = RenditionRates::new(&[100_000, 1_000_000].map(Bitrate::from_bits)).expect("they rise");
        let mut placement = Placement::new(rates);
        let mut at = |kbps: u64| {
            // A tenth of a path's rate is headers.
            let bandwidth = Bitrate::from_bits(kbps * 10_000 / 9);
            placement.follow(&[(7, ReceiverDemand { bandwidth, ..ReceiverDemand::default() })]);
            usize::from(placement.receivers(1) == [7])
        };
        assert_eq!([1001, 900, 820, 1100, 1300].map(&mut at), [1, 1, 0, 0, 1]);
        placement.follow(&[]);
        assert!((0..2).all(|rendition| placement.receivers(rendition).is_empty()));
    }
}
