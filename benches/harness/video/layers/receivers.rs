//! Receivers whose rates rise in equal steps of their logarithm, and the rates of the streams that serve them.

use super::super::Rates;

/// Numbers of receivers: a handful, and a crowd of which most lie between two streams.
pub(super) const RECEIVER_COUNTS: [usize; 2] = [5, 64];

/// Returns the rates in kbit/s of `count` receivers over the range of a clip's rates, rising.
pub(super) fn spread(rates: &Rates, count: usize) -> Vec<f64> {
    let [lowest, .., highest] = rates.receivers[..] else { return rates.receivers.clone() };
    let step = (highest / lowest).ln() / (count.max(2) - 1) as f64;
    (0..count).map(|n| lowest * (step * n as f64).exp()).collect()
}

/// Returns the rate of the slowest receiver of each of `groups` groups, which have nearly the same number of
/// receivers: the rates of streams that leave no receiver out and lose the fewest octaves.
pub(super) fn slowest_of_groups(kbps: &[f64], groups: usize) -> Vec<f64> {
    (0..groups).filter_map(|group| kbps.get((group * kbps.len()).div_ceil(groups)).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates() -> Rates {
        Rates::of("foreman_qcif_150f").expect("in the table")
    }

    #[test]
    fn five_receivers_are_those_of_all_measurements() {
        let five = spread(&rates(), 5);
        assert!(five.iter().zip(&rates().receivers).all(|(a, b)| (a - b).abs() < 1e-9), "{five:?}");
        let many = spread(&rates(), 64);
        assert_eq!((many.len(), many[0].round(), many[63].round()), (64, 75.0, 1200.0));
        assert!(many.windows(2).all(|pair| (pair[1] / pair[0] - many[1] / many[0]).abs() < 1e-9));
    }

    #[test]
    fn each_stream_begins_at_the_slowest_of_its_group() {
        assert_eq!(slowest_of_groups(&[1.0, 2.0, 4.0, 8.0, 16.0], 3), [1.0, 4.0, 16.0]);
        assert_eq!(slowest_of_groups(&[1.0, 2.0, 4.0, 8.0, 16.0], 5), [1.0, 2.0, 4.0, 8.0, 16.0]);
        let places: Vec<f64> = (0..64).map(f64::from).collect();
        assert_eq!(slowest_of_groups(&places, 3), [0.0, 22.0, 43.0]);
        assert_eq!(slowest_of_groups(&[7.0], 1), [7.0]);
    }
}
