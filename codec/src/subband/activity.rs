//! An encoder's choice of the regions' gains (spec, "Encoders"): lower ones where there is texture, which hides errors.
//!
//! Prior art: adaptive quantisation by the logarithm of a block's variance, as in the encoders x264 and x265.

use std::ops::Range;

use crate::subband::coefficients::Bands;
use crate::subband::gains::{self, STEPS_AN_OCTAVE};
use crate::subband::layout::{self, LEVELS, Subband};
use crate::subband::regions::REGION_SIDE;

/// The coarsest level whose coefficients count.
const COARSEST_LEVEL: usize = 5;
/// Is added to the variance, in squared steps of a sample: errors show alike in all smoother regions.
const SMOOTH_VARIANCE: f32 = 16.0;
/// The largest gain that is chosen, either way.
const MAX_CHOSEN_GAIN: f32 = 1.5 * STEPS_AN_OCTAVE as f32;

/// The mean square of what a coefficient of size one adds to its pixels' samples, times their number: by level and half,
/// low or high.
pub(crate) type Norms = [[f32; 2]; LEVELS];

/// The activity of a slice's regions: half the binary logarithm of the variance of luma.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// By region, row by row.
    regions: Vec<f32>,
    /// The sum of the regions' activities, each with its weight, and the sum of the weights.
    sum: f32,
    weight: f32,
}

impl Activity {
    /// Measures the regions of the slice of these rows.
    pub(crate) fn measure(&mut self, norms: &Norms, bands: Bands<'_>, rows: &Range<usize>) {
        let width = bands.size.width();
        let (across, down) = gains::count(width, rows.len());
        self.regions.clear();
        self.regions.resize(across * down, 0.0);
        for level in 1..=COARSEST_LEVEL {
            for (index, halves) in layout::details(0, level).zip([[1, 0], [0, 1], [1, 1]]) {
                let subband = Subband::at(index);
                let own = layout::rows(subband, bands.size.height(), rows);
                let (stride, _) = subband.size(width, bands.size.height());
                let side = REGION_SIDE >> level;
                let [x, y] = halves.map(|half| norms[level - 1][half]);
                let rows = bands.subbands[index][own.start * stride..own.end * stride].chunks(stride.max(1));
                for (row, values) in rows.enumerate() {
                    let regions = &mut self.regions[row / side * across..];
                    for (sum, values) in regions.iter_mut().zip(values.chunks(side)) {
                        *sum += x * y * values.iter().map(|value| value * value).sum::<f32>();
                    }
                }
            }
        }
        (self.sum, self.weight) = (0.0, 0.0);
        for (at, region) in self.regions.iter_mut().enumerate() {
            let pixels = |side: usize, at: usize| REGION_SIDE.min(side - at * REGION_SIDE);
            let count = pixels(width, at % across) * pixels(rows.len(), at / across);
            let variance = *region / count as f32;
            *region = 0.5 * log2(variance + SMOOTH_VARIANCE);
            // Flat regions have no coefficients: in a drawing they would lower the mean, and so all gains that matter.
            let weight = variance / (variance + SMOOTH_VARIANCE);
            self.sum += weight * *region;
            self.weight += weight;
        }
    }

    /// Returns the mean activity of the regions of a picture's slices; `None` if all of them are flat.
    pub(crate) fn mean<'a>(slices: impl Iterator<Item = &'a Self>) -> Option<f32> {
        let (sum, weight) = slices.fold((0.0, 0.0), |(sum, weight), slice| (sum + slice.sum, weight + slice.weight));
        (weight > 0.0).then(|| sum / weight)
    }

    /// Returns the gain of each region of a picture whose regions have the mean activity `mean`.
    #[expect(clippy::cast_possible_truncation, reason = "bounded")]
    pub(crate) fn gains(&self, strength: f32, mean: f32) -> impl Iterator<Item = i8> + '_ {
        let steps = strength * f32::from(STEPS_AN_OCTAVE);
        self.regions.iter().map(move |activity| {
            (steps * (mean - activity)).clamp(-MAX_CHOSEN_GAIN, MAX_CHOSEN_GAIN).round() as i8
        })
    }
}

/// Approximates the binary logarithm of a positive number, by a line in each octave: the same on every machine.
fn log2(value: f32) -> f32 {
    value.to_bits().wrapping_sub(1.0_f32.to_bits()).cast_signed() as f32 / (1 << 23) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::Linear;
    use crate::model::Model;
    use crate::picture::{Channels, Picture, Size};
    use crate::transform::Analysis as _;
    use crate::wavelet;

    #[test]
    fn the_activity_of_noise_is_that_of_its_variance() {
        let mut state = 7_u32;
        let mut noise = |amplitude: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            128 + (state >> 24) % (2 * amplitude + 1) - amplitude
        };
        // Flat on the left, noise of a standard deviation of 5.5 and of 27 to the right.
        let amplitudes = [0, 9, 47];
        let samples = (0..96 * 96).map(|at| noise(amplitudes[at % 96 / 32]).to_le_bytes()[0]).collect();
        let picture = Picture::new(Size::new(96, 96).expect("a size"), Channels::Grey, samples).expect("samples");
        let linear = Linear::new(Model::photo());
        let coefficients = linear.coefficients_of((&picture).into()).expect("linear never fails");
        let norms = wavelet::norms(&linear.model().taps);
        let mut activity = Activity::default();
        activity.measure(&norms, coefficients.bands(), &(0..96));
        for (at, found) in activity.regions.iter().enumerate() {
            let deviation = [0.0, 5.48, 27.4][at % 3];
            let expected = 0.5 * f32::log2(deviation * deviation + SMOOTH_VARIANCE);
            assert!((found - expected).abs() < 0.6, "region {at}: {found}, expected {expected}");
        }
        let gains: Vec<i8> = activity.gains(0.25, Activity::mean([&activity].into_iter()).expect("noise")).collect();
        assert!(gains.chunks(3).all(|row| row[0] > row[1] && row[1] > row[2]), "{gains:?}");
        assert!(activity.gains(1.0, 100.0).all(|gain| gain == 6));
    }
}
