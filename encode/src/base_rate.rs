//! The rate of a rendition's base layers: a part of what the path of its slowest receiver carries.
//!
//! The more bytes base layers have, the better all receivers see: blocks are refreshed from them. But they must arrive.
//! After the rate falls, those on the way arrive late, and all later frames wait for them. So they have much of a rate
//! that lasted, and less of one that has just risen or changes often.

/// The part of the slowest receiver's rate for base layers if that rate has lasted.
const LASTING_BASE_SHARE: f64 = 0.75;
/// The part that they have in any case.
const BASE_SHARE: f64 = 0.4;
/// The growth in a second of the rate that counts as lasting, while the receiver has more: after a fall to a half, base
/// layers have their whole part again four seconds after the rate is back.
const LASTING_RATE_RISE: f64 = 1.2;
/// A receiver with less than this part of the median rate does not slow the others: it gets random-access frames again
/// and again.
const HOPELESS_RATE_SHARE: f64 = 0.25;
/// The most growth of the slowest rate from frame to frame: it falls at once, and rises fivefold in a second.
const MAX_RATE_RISE: f64 = 1.05;
/// The least rate in bits a second.
const MIN_BITS_PER_SECOND: f64 = 8.0;

/// Follows the rate of the slowest receiver. All rates are in bits a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaseRate {
    slowest: f64,
    /// The least rate of the last seconds, which rises by [`LASTING_RATE_RISE`].
    lasting: f64,
}

impl BaseRate {
    /// Begins with this rate of the slowest receiver.
    pub(crate) fn new(slowest: f64) -> Self {
        let slowest = slowest.max(MIN_BITS_PER_SECOND);
        Self { slowest, lasting: least_lasting(slowest) }
    }

    /// Returns the rate for a rendition that branches off here, whose slowest receiver is not known yet.
    pub(crate) const fn branch(self) -> Self {
        Self { slowest: f64::INFINITY, ..self }
    }

    /// Notes the rates of the slowest receiver and of the median one for the next frame, if there are receivers.
    /// `interval`: the seconds since the frame before.
    pub(crate) fn handle_frame(&mut self, receivers: Option<[f64; 2]>, interval: f64) {
        if let Some([slowest, median]) = receivers {
            self.slowest =
                slowest.max(median * HOPELESS_RATE_SHARE).min(self.slowest * MAX_RATE_RISE).max(MIN_BITS_PER_SECOND);
        }
        let risen = self.lasting * LASTING_RATE_RISE.powf(interval);
        self.lasting = risen.max(least_lasting(self.slowest)).min(self.slowest);
    }

    /// The rate of the slowest receiver, as far as it counts.
    pub(crate) const fn slowest(self) -> f64 {
        self.slowest
    }

    /// The rate of the base layers.
    pub(crate) const fn bits(self) -> f64 {
        self.lasting * LASTING_BASE_SHARE
    }
}

/// The lasting rate of which base layers get [`BASE_SHARE`] of the slowest receiver's rate.
const fn least_lasting(slowest: f64) -> f64 {
    slowest * (BASE_SHARE / LASTING_BASE_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: f64 = 1.0 / 30.0;

    /// Lets the slowest receiver have this rate for some seconds, and returns the part of it that base layers have.
    fn share_after(base: &mut BaseRate, seconds: u32, rate: f64) -> f64 {
        (0..seconds * 30).for_each(|_| base.handle_frame(Some([rate, rate]), INTERVAL));
        base.bits() / rate
    }

    #[test]
    fn bases_have_more_of_a_rate_that_lasts() {
        let mut base = BaseRate::new(1e6);
        assert!((base.bits() - 0.4e6).abs() < 1.0);
        let after_two = share_after(&mut base, 2, 1e6);
        assert!((0.55..0.6).contains(&after_two), "{after_two}");
        assert!((share_after(&mut base, 2, 1e6) - 0.75).abs() < 1e-9);
    }

    #[test]
    fn bases_fall_at_once_and_stay_low_where_the_rate_comes_and_goes() {
        let mut base = BaseRate::new(1e6);
        share_after(&mut base, 10, 1e6);
        base.handle_frame(Some([0.25e6, 0.25e6]), INTERVAL);
        assert!((base.bits() - 0.75 * 0.25e6).abs() < 1.0, "they had as many bits a second for some time");
        for _ in 0..5 {
            let risen = share_after(&mut base, 2, 1e6);
            assert!((0.4..0.6).contains(&risen), "{risen}");
            assert!(share_after(&mut base, 1, 0.25e6) > 0.7);
        }
    }

    #[test]
    fn a_receiver_far_slower_than_the_median_does_not_slow_the_others() {
        let mut base = BaseRate::new(1e6);
        for _ in 0..300 {
            base.handle_frame(Some([0.05e6, 1e6]), INTERVAL);
        }
        assert!((base.slowest() - 0.25e6).abs() < 1.0 && (base.bits() - 0.75 * 0.25e6).abs() < 1.0);
    }

    #[test]
    fn a_branch_takes_the_rate_of_its_own_slowest_receiver_at_once() {
        let mut base = BaseRate::new(1e6);
        share_after(&mut base, 10, 1e6);
        let mut branch = base.branch();
        branch.handle_frame(Some([4e6, 4e6]), INTERVAL);
        assert!((branch.slowest() - 4e6).abs() < 1.0 && (branch.bits() - 0.4 * 4e6).abs() < 1.0);
    }
}
