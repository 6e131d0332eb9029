//! Bounds what the coefficients of a block can be, to tell sound data from damaged.
//!
//! A block of 8-bit samples, each at most 128 from the middle, has an energy of at most 64 * 128^2, and its coefficients
//! have the same (Parseval). JPEG has no checksum, but codes after damage soon break this.

use super::frame::Steps;

/// The root of the greatest energy: 8 * 128.
const MAX_ROOT: u64 = 1024;
/// By how many steps of its quantiser a coefficient may exceed that. Rounding takes a half; encoders that search for a
/// short code take more.
const STEP_TOLERANCE: u64 = 2;
/// More than any coefficient that fits; sums of 64 squares of it have room.
const MAX_VALUE: u64 = 1 << 24;
/// The most bits of a difference between means, and of another coefficient (T.81, tables F.1 and F.2).
pub(super) const MAX_MEAN_SIZE: u8 = 11;
pub(super) const MAX_SIZE: u32 = 10;

/// The energy of some coefficients of a block.
#[derive(Debug)]
pub(super) struct Energy<'a> {
    steps: &'a Steps,
    /// The number of low bits that later scans add.
    shift: u32,
    sum: u64,
    steps_sum: u64,
}

impl<'a> Energy<'a> {
    pub(super) const fn new(steps: &'a Steps, shift: u32) -> Self {
        Self { steps, shift, sum: 0, steps_sum: 0 }
    }

    /// Adds a coefficient without its sign, in steps.
    pub(super) fn add(&mut self, at: u32, size: u64) {
        let step = u64::from(self.steps[at as usize % self.steps.len()]);
        let value = ((size << self.shift) * step).min(MAX_VALUE);
        self.sum += value * value;
        // Means are rounded down where later scans add bits, others towards 0 (T.81, section G.1.2.1).
        self.steps_sum += if at == 0 { step << self.shift } else { step }.pow(2);
    }

    /// Returns whether a block of samples can have these coefficients.
    pub(super) const fn fits(&self) -> bool {
        let most = MAX_ROOT + STEP_TOLERANCE * (self.steps_sum.isqrt() + 1);
        self.sum <= most * most
    }
}

/// Returns the value of a number of `size` bits: one whose first bit is 0 is negative (T.81, table F.1).
pub(super) fn value(number: u32, size: u32) -> i32 {
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    if size > 0 && number >> (size - 1) == 0 { number - (1 << size) + 1 } else { number }
}

#[cfg(test)]
mod tests {
    use super::super::frame::SMALLEST_STEPS;
    use super::*;

    #[test]
    fn a_block_of_white_fits_with_some_rounding_and_no_brighter_one() {
        for (step, most) in [(1_u16, 1028), (16, 67), (99, 12)] {
            let steps = [step; 64];
            let fits = |mean: u64| {
                let mut energy = Energy::new(&steps, 0);
                energy.add(0, mean);
                energy.fits()
            };
            assert!(fits(1024 / u64::from(step)) && fits(most - 1) && !fits(most + 1), "{step}");
        }
        // Bits that later scans add leave as much room as they may fill.
        let mut energy = Energy::new(&SMALLEST_STEPS, 2);
        energy.add(0, 257);
        assert!(energy.fits());
    }

    #[test]
    fn all_coefficients_count_together() {
        let mut energy = Energy::new(&SMALLEST_STEPS, 0);
        (1..64).for_each(|at| energy.add(at, 128));
        assert!(energy.fits(), "63 * 128^2 is below 64 * 128^2");
        (1..64).for_each(|at| energy.add(at, 128));
        assert!(!energy.fits());
        energy.add(63, u64::from(u32::MAX));
        assert!(!energy.fits());
    }

    #[test]
    fn numbers_have_signs() {
        assert_eq!([(0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (3, 2)].map(|(n, s)| value(n, s)), [0, -1, 1, -3, -2, 3]);
    }
}
