//! The rate of a rendition's base layers: a part of what the path of its slowest receiver carries.
//!
//! The more bytes base layers have, the better all receivers see: blocks are refreshed from them. But they must arrive.
//! After the rate falls, those on the way arrive late, and all later frames wait for them. So base layers have much of
//! a rate that has lasted, less of one that has just risen, and least after a fall, until those on the way are through.

/// The part of the slowest receiver's rate for base layers if that rate has lasted.
const LASTING_BASE_SHARE: f64 = 0.75;
/// The part for a rate that is new.
const BASE_SHARE: f64 = 0.4;
/// The growth of base layers in a second from the latter to the former part.
const LASTING_RATE_RISE: f64 = 1.2;
/// The rate has fallen if base layers had more than this many times what the path carries now.
const FALLEN_BASE_SHARE: f64 = 1.5;
/// A receiver with less than this part of the median rate does not slow the others: it gets random-access frames again
/// and again.
const HOPELESS_RATE_SHARE: f64 = 0.25;
/// The most growth of the slowest rate from frame to frame: it falls at once, and rises fivefold in a second. After a
/// fall, base layers grow as fast.
const MAX_RATE_RISE: f64 = 1.05;
/// The least rate in bits a second.
const MIN_BITS_PER_SECOND: f64 = 8.0;

/// Follows the rate of the slowest receiver. All rates are in bits a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BaseRate {
    slowest: f64,
    /// The number of the slowest receiver, if there was one.
    receiver: Option<u64>,
    bits: f64,
}

/// The rates of a rendition's receivers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rates {
    pub(crate) slowest: f64,
    pub(crate) median: f64,
    /// The number of the slowest receiver.
    pub(crate) receiver: u64,
}

impl BaseRate {
    /// Begins with this rate of the slowest receiver.
    pub(crate) fn new(slowest: f64) -> Self {
        let slowest = slowest.max(MIN_BITS_PER_SECOND);
        Self { slowest, receiver: None, bits: slowest * BASE_SHARE }
    }

    /// Returns the rate for a rendition that branches off here, whose slowest receiver is not known yet.
    pub(crate) const fn branch(self) -> Self {
        Self { slowest: f64::INFINITY, receiver: None, ..self }
    }

    /// Notes the receivers' rates for the next frame, if there are receivers. `interval`: the seconds since the frame
    /// before.
    pub(crate) fn handle_frame(&mut self, rates: Option<Rates>, interval: f64) {
        let before = *self;
        let mut most = LASTING_BASE_SHARE;
        if let Some(Rates { slowest, median, receiver }) = rates {
            let counts = slowest.max(median * HOPELESS_RATE_SHARE);
            if slowest < counts {
                // More would starve it sooner.
                most = BASE_SHARE;
            }
            self.slowest = counts.min(before.slowest * MAX_RATE_RISE).max(MIN_BITS_PER_SECOND);
            self.receiver = Some(receiver);
        }
        let Self { slowest, receiver, bits } = *self;
        let usual = slowest * BASE_SHARE;
        self.bits = if bits > slowest * FALLEN_BASE_SHARE {
            // The larger those on the way are, the longer they hold up the next ones. On the way to a receiver that has
            // just come there are none.
            let excess = if receiver == before.receiver { bits / before.slowest / BASE_SHARE } else { 1.0 };
            usual / (excess * excess).max(1.0)
        } else if bits < usual {
            (bits * MAX_RATE_RISE).min(usual)
        } else {
            (bits * LASTING_RATE_RISE.powf(interval)).min(slowest * most)
        };
    }

    /// The rate of the slowest receiver, as far as it counts.
    pub(crate) const fn slowest(self) -> f64 {
        self.slowest
    }

    /// The rate of the base layers.
    pub(crate) const fn bits(self) -> f64 {
        self.bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: f64 = 1.0 / 30.0;

    /// Lets the slowest receiver have this rate for some frames, and returns the part of it that base layers have.
    fn share_after(base: &mut BaseRate, frames: u32, rate: f64) -> f64 {
        let rates = Rates { slowest: rate, median: rate, receiver: 7 };
        (0..frames).for_each(|_| base.handle_frame(Some(rates), INTERVAL));
        base.bits() / rate
    }

    #[test]
    fn bases_have_more_of_a_rate_that_lasts() {
        let mut base = BaseRate::new(1e6);
        assert!((base.bits() - 0.4e6).abs() < 1.0);
        let after_two_seconds = share_after(&mut base, 60, 1e6);
        assert!((0.55..0.6).contains(&after_two_seconds), "{after_two_seconds}");
        assert!((share_after(&mut base, 60, 1e6) - 0.75).abs() < 1e-9);
        assert!((share_after(&mut base, 1, 0.6e6) - 0.75).abs() < 1e-9, "a small fall keeps the part");
    }

    #[test]
    fn a_fall_leaves_bases_the_less_the_larger_they_were() {
        let [mut new, mut lasting] = [0, 300].map(|frames| {
            let mut base = BaseRate::new(1e6);
            share_after(&mut base, frames, 1e6);
            base
        });
        assert!((share_after(&mut new, 1, 0.25e6) - 0.4).abs() < 1e-9);
        let after_fall = share_after(&mut lasting, 1, 0.25e6);
        assert!((0.11..0.12).contains(&after_fall), "{after_fall}");
        // The bytes more that were on the way in four frames are saved in the next second.
        let saved: f64 = (0..30).map(|_| 0.4 - share_after(&mut lasting, 1, 0.25e6)).sum();
        assert!(saved * 0.25 > (0.75 - 0.4) * 2.0, "{saved}");
        assert!((share_after(&mut lasting, 3, 0.25e6) - 0.4).abs() < 0.02);
    }

    #[test]
    fn a_slow_receiver_that_comes_is_no_fall() {
        let mut base = BaseRate::new(1e6);
        share_after(&mut base, 300, 1e6);
        base.handle_frame(Some(Rates { slowest: 0.3e6, median: 1e6, receiver: 8 }), INTERVAL);
        assert!((base.bits() - 0.4 * 0.3e6).abs() < 1.0, "{base:?}");
    }

    #[test]
    fn bases_stay_low_where_the_rate_comes_and_goes() {
        let mut base = BaseRate::new(1e6);
        for _ in 0..5 {
            let high = share_after(&mut base, 60, 1e6);
            assert!((0.35..0.6).contains(&high), "{high}");
            share_after(&mut base, 30, 0.2e6);
        }
    }

    #[test]
    fn a_receiver_far_slower_than_the_median_does_not_slow_the_others() {
        let mut base = BaseRate::new(1e6);
        for _ in 0..300 {
            base.handle_frame(Some(Rates { slowest: 0.05e6, median: 1e6, receiver: 7 }), INTERVAL);
        }
        assert!((base.slowest() - 0.25e6).abs() < 1.0 && (base.bits() - 0.4 * 0.25e6).abs() < 1.0);
    }

    #[test]
    fn a_branch_takes_the_rate_of_its_own_slowest_receiver_at_once() {
        let mut base = BaseRate::new(1e6);
        share_after(&mut base, 300, 1e6);
        for (slowest, bits) in [(0.1e6, 0.04e6), (1e6, 0.75e6)] {
            let mut branch = base.branch();
            share_after(&mut branch, 1, slowest);
            assert!((branch.slowest() - slowest).abs() < 1.0 && (branch.bits() - bits).abs() < 1.0, "{branch:?}");
        }
        let mut faster = base.branch();
        assert!(share_after(&mut faster, 30, 4e6) > 0.39);
    }
}
