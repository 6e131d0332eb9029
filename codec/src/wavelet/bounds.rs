//! Proves that a level's samples have 16 bits throughout an integer synthesis, from the greatest of its coefficients.
//!
//! Each number that the steps make is a sum of coefficients, each times a factor that the taps alone decide. So it is
//! at most the sum over the four bands of the band's greatest coefficient times its absolute factors, and what rounding
//! adds. Beyond the ends of a line are mirrored samples: those of a line that goes on for ever, with the same bounds.

use crate::wavelet::lift::{LIFTING_STEPS, STEP_REACH, TAP_FRACTION, Taps};

/// The samples of a line in which one sample has all of its effects.
const LINE_SAMPLES: usize = 4 * STEP_REACH * LIFTING_STEPS;
/// The greatest number of 16 bits.
const MAX_SAMPLE: u64 = i16::MAX as u64;
/// Fraction bits of a bound.
const FRACTION_BITS: u32 = 12;
/// Numbers along a line that have bounds: both samples before the steps, and for each step the sums of the near and of
/// the far neighbours, what is added, and the sample after it.
const BOUNDED_NUMBERS: usize = 2 + 4 * LIFTING_STEPS;

/// How large a number along a line can become.
#[derive(Debug, Clone, Copy, Default)]
struct Bound {
    /// Sums of absolute factors of the even and odd samples before the steps.
    factors: [u64; 2],
    /// What rounding adds.
    rounding: u64,
}

impl Bound {
    /// Makes it of the factors of the line's samples, enlarged by far more than floats are wrong by.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of absolute taps; a cast saturates"
    )]
    fn new(factors: [f64; 2], rounding: f64) -> Self {
        let enlarged = |value: f64| ((value * f64::from(1 << FRACTION_BITS)) as u64).saturating_add(2);
        Self { factors: factors.map(enlarged), rounding: enlarged(rounding) }
    }

    /// Returns it for even and odd samples that are at most this large.
    const fn most(&self, [even, odd]: [u64; 2]) -> u64 {
        let sum = self.factors[0].saturating_mul(even).saturating_add(self.factors[1].saturating_mul(odd));
        (sum.saturating_add(self.rounding) >> FRACTION_BITS) + 1
    }
}

/// The bounds of one level.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    along: [Bound; BOUNDED_NUMBERS],
    /// The bounds of even and odd samples after all steps.
    last: [Bound; 2],
}

impl Bounds {
    pub(crate) fn new(taps: &Taps<i32>) -> Self {
        let mut along = [Bound::default(); BOUNDED_NUMBERS];
        along[0] = Bound::new([1.0, 0.0], 0.0);
        along[1] = Bound::new([0.0, 1.0], 0.0);
        let mut last = [along[0], along[1]];
        let mut rounding = [0.0; 2];
        // The effects of an even and of an odd sample of 1.
        let mut lines = [0, 1].map(|from| {
            let mut line = [0.0; LINE_SAMPLES];
            line[LINE_SAMPLES / 2 + from] = 1.0;
            line
        });
        for (step, bounds) in along[2..].as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let [near, far] = taps[LIFTING_STEPS - 1 - step].map(|tap| f64::from(tap) / f64::from(1 << TAP_FRACTION));
            let own = step % 2;
            let error = rounding[1 - own];
            let added = 2.0 * (near.abs() + far.abs()) * error + 0.5;
            rounding[own] += added;
            let mut factors = [[0.0; 2]; 4];
            for (from, line) in lines.iter_mut().enumerate() {
                for at in (STEP_REACH..LINE_SAMPLES - STEP_REACH).filter(|at| at % 2 == own) {
                    let sums = [line[at - 1] + line[at + 1], line[at - 3] + line[at + 3]];
                    let change = near * sums[0] + far * sums[1];
                    line[at] -= change;
                    for (factors, number) in factors.iter_mut().zip([sums[0], sums[1], change, line[at]]) {
                        factors[from] += f64::abs(number);
                    }
                }
            }
            let roundings = [2.0 * error, 2.0 * error, added, rounding[own]];
            for ((bound, factors), rounding) in bounds.iter_mut().zip(factors).zip(roundings) {
                *bound = Bound::new(factors, rounding);
            }
            last[own] = bounds[3];
        }
        Self { along, last }
    }

    /// Whether all numbers have 16 bits if the coefficients of the low band, HL, LH and HH are at most this large. Columns
    /// are lifted first.
    pub(crate) fn fit(&self, greatest: [u32; 4]) -> bool {
        let [low, hl, lh, hh] = greatest.map(u64::from);
        let fit = |samples: [u64; 2]| self.along.iter().all(|bound| bound.most(samples) <= MAX_SAMPLE);
        let halves = [[low, lh], [hl, hh]];
        halves.into_iter().all(fit) && self.last.iter().all(|row| fit(halves.map(|half| row.most(half))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::wavelet::lift::{Sample as _, mirror};

    /// Does all steps along lines, and notes the greatest number.
    fn unlift(line: &mut [i32], taps: &Taps<i32>, greatest: &mut u32) {
        let mut note = |number: i32| *greatest = number.unsigned_abs().max(*greatest);
        for step in (0..LIFTING_STEPS).rev() {
            for k in (1 - step % 2..line.len()).step_by(2) {
                let at = |distance: isize| line[mirror(k.cast_signed() + distance, line.len())];
                let around = [at(-3), at(-1), at(1), at(3)];
                note(around[0] + around[3]);
                note(around[1] + around[2]);
                let lifted = i32::lifted(line[k], taps[step].map(i32::inverse), around);
                note(lifted - line[k]);
                note(lifted);
                line[k] = lifted;
            }
        }
    }

    #[test]
    fn no_number_is_larger_than_its_bound_and_some_come_near() {
        let taps = &Model::photo().integer_wavelet.taps[0];
        let bounds = Bounds::new(taps);
        let mut seed = 1_u32;
        let mut sign = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if seed >> 31 == 0 { 1 } else { -1 }
        };
        let side = 24;
        for greatest in [[3000, 0, 0, 0], [0, 4000, 0, 0], [0, 0, 4000, 0], [0, 0, 0, 3000], [2000, 1500, 1500, 500]] {
            assert!(bounds.fit(greatest));
            let most = (1..).find(|times| !bounds.fit(greatest.map(|band| band * times / 64))).expect("a limit");
            let mut seen = 0;
            for smooth in [false, true].into_iter().cycle().take(200) {
                let mut grid: Vec<i32> = (0..side * side)
                    .map(|at| {
                        let band = at % side % 2 + 2 * (at / side % 2);
                        let value = (greatest[band] * (most - 1) / 64).cast_signed();
                        value * if smooth { 1 } else { sign() }
                    })
                    .collect();
                for x in 0..side {
                    let mut column: Vec<i32> = grid.iter().skip(x).step_by(side).copied().collect();
                    unlift(&mut column, taps, &mut seen);
                    grid.iter_mut().skip(x).step_by(side).zip(column).for_each(|(to, from)| *to = from);
                }
                grid.chunks_mut(side).for_each(|row| unlift(row, taps, &mut seen));
            }
            assert!((8000..=32_767).contains(&seen), "{greatest:?}: {seen}");
        }
    }

    #[test]
    fn large_taps_and_coefficients_do_not_fit() {
        let taps = &Model::photo().integer_wavelet.taps[0];
        assert!(!Bounds::new(taps).fit([u32::MAX; 4]));
        assert!(!Bounds::new(taps).fit([0, 0, 0, 32_768]));
        assert!(!Bounds::new(&[[i32::MAX; 2]; LIFTING_STEPS]).fit([1; 4]));
    }
}
