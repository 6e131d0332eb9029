//! Computes the Lagrange multiplier: the difference of luma that a bit of motion is worth.

use crate::picture::Size;

/// Multipliers are in units of 1/16 of a luma step.
const UNITS_PER_STEP: u64 = 16;
/// The least and the greatest multiplier by bytes, in luma steps, where receivers are near to each other.
const STEPS_BY_BYTES: [u64; 2] = [4, 20];
/// The least bound by the error, in luma steps.
const LEAST_BOUND_STEPS: u64 = 1;
/// A bit is worth 3/4 as much if the fastest receiver has this many times the slowest one's bytes or more.
const MANY_TIMES: usize = 8;

/// Returns the difference of luma that a bit of motion is worth, in 1/16 of a step.
///
/// It is higher where the `slowest` receiver has fewer bytes of a frame. It is lower where the `fastest` one has many
/// times as many, because that receiver gains by every better prediction. It is at most twice the root mean square error
/// of the last base-layer reference, or one step where that is more: where pictures are coded well, smaller differences
/// count. `error`: the sum of that reference's squared errors of luma, in squares of 1/8 of a step; `None` before the
/// first frame.
pub(super) fn lagrange_multiplier(size: Size, [slowest, fastest]: [usize; 2], error: Option<u64>) -> u32 {
    let bits = (16 * slowest.min(1 << 20)).max(1) as u64;
    let pixels = size.pixels() as u64;
    let [least, most] = STEPS_BY_BYTES.map(|steps| steps * UNITS_PER_STEP);
    let by_bytes = (pixels * 12 * UNITS_PER_STEP / (10 * bits)).clamp(least, most);
    let by_bytes = if fastest / MANY_TIMES >= slowest { by_bytes * 3 / 4 } else { by_bytes };
    // Twice a root mean square error in 1/8 of a step is four times as much in 1/16.
    let twice = |error: u64| (error.saturating_mul(16) / pixels.max(1)).isqrt();
    let bound = |error: u64| twice(error).max(LEAST_BOUND_STEPS * UNITS_PER_STEP);
    let multiplier = error.map_or(by_bytes, |error| by_bytes.min(bound(error)));
    u32::try_from(multiplier).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the multiplier in luma steps, of pictures of 10,000 pixels. `error`: the root mean square, in steps.
    fn steps(receivers: [usize; 2], error: Option<u64>) -> f64 {
        let size = Size::new(100, 100).expect("a valid size");
        let error = error.map(|error| 10_000 * (8 * error).pow(2));
        f64::from(lagrange_multiplier(size, receivers, error)) / 16.0
    }

    #[test]
    fn a_bit_is_worth_more_where_the_slowest_receiver_has_fewer() {
        assert_eq!([1, 75, 150, 10_000].map(|slowest| steps([slowest, slowest], None)), [20.0, 10.0, 5.0, 4.0]);
    }

    #[test]
    fn it_is_worth_less_where_the_fastest_receiver_has_many_times_as_many() {
        assert_eq!([599, 600, 10_000].map(|fastest| steps([75, fastest], None)), [10.0, 7.5, 7.5]);
    }

    #[test]
    fn it_is_worth_twice_the_error_of_pictures_that_are_coded_well() {
        assert_eq!([100, 5, 3, 1, 0].map(|error| steps([75, 75], Some(error))), [10.0, 10.0, 6.0, 2.0, 1.0]);
        assert_eq!([75, 599, 600].map(|fastest| steps([75, fastest], Some(4))), [8.0, 8.0, 7.5]);
        assert_eq!(steps([75, 600], Some(3)), 6.0);
    }

    #[test]
    fn any_bytes_and_errors_are_taken() {
        for receivers in [[0, 0], [0, usize::MAX], [usize::MAX, 0], [usize::MAX, usize::MAX]] {
            assert!((1.0..=20.0).contains(&steps(receivers, None)));
        }
        let size = Size::new(1, 1).expect("a valid size");
        assert_eq!(lagrange_multiplier(size, [1, 1], Some(u64::MAX)), 64);
    }
}
