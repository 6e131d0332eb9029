//! An encoder's choice of the regions' gains (spec, "Encoders"): lower ones where there is texture, which hides errors.
//! A network of the analysis says how much each region hides, or the rule of variance.
//!
//! Prior art: adaptive quantisation by the logarithm of a block's variance, as in the encoders x264 and x265.

use std::ops::Range;

use crate::subband::coefficients::Bands;
use crate::subband::gains::{self, STEPS_AN_OCTAVE};
use crate::subband::layout::{self, Subband, WAVELET_LEVELS};
use crate::subband::region_activity::RegionActivity;
use crate::subband::regions::REGION_SIDE;

/// The coarsest level whose coefficients count.
const COARSEST_LEVEL: usize = 5;
/// Is added to the variance, in squared steps of a sample: errors show alike in all smoother regions.
const SMOOTH_VARIANCE: f32 = 16.0;
/// A region is drawn, not photographed, if at least this share of the coefficients of the finest level is as good as
/// zero: samples are exactly equal between its edges. Errors at its edges show.
const DRAWN_SHARE: f32 = 0.25;
/// As [`DRAWN_SHARE`], in a picture that is a drawing: dense letters leave little between them that is equal.
const SHARE_IN_DRAWINGS: f32 = 0.15;
const ZERO_MAGNITUDE: f32 = 0.01;
/// A picture is a drawing if at least one region in this number is drawn. The network decides in other pictures alone,
/// because it has learned from photos.
const PHOTO_ABOVE_DRAWN: usize = 8;
/// The largest gain that is chosen, either way.
const MAX_CHOSEN_GAIN: f32 = 1.5 * STEPS_AN_OCTAVE as f32;

/// The mean square of what a coefficient of size one adds to its pixels' samples, times their number: by level and
/// half, low or high.
pub(crate) type Norms = [[f32; 2]; WAVELET_LEVELS];

/// The activity of a slice's regions: what a network found, or half the binary logarithm of the variance of luma.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// By region, row by row.
    by_variance: Vec<RegionActivity>,
    /// By region: the share of its coefficients of the finest level that is as good as zero.
    zeros: Vec<f32>,
    /// The same as a network found it; empty if there is none.
    learned: Vec<RegionActivity>,
    /// By region: the energy of its coefficients, and how many of the finest level are zero.
    sums: Vec<(f32, f32)>,
}

/// The rule for the gains of a whole picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GainRule {
    /// Steps of a gain for each octave of activity.
    slope: f32,
    /// The activity of a region with a gain of 0.
    mean: f32,
    kind: Kind,
}

/// What the picture is.
#[derive(Debug, Clone, Copy)]
struct Kind {
    /// Whether the activities are those that a network found.
    learned: bool,
    /// The least share of zeros of a region that is drawn.
    drawn: f32,
}

impl GainRule {
    /// Returns the rule for a picture of these slices; `None` if all of their regions are flat or drawn.
    pub(crate) fn new<'a>(strength: f32, slices: impl Iterator<Item = &'a Activity> + Clone) -> Option<Self> {
        let count = |picked: fn(&Activity) -> usize| slices.clone().map(picked).sum::<usize>();
        let all = count(|slice| slice.zeros.len());
        let drawn = count(|slice| slice.zeros.iter().filter(|&&zeros| zeros >= DRAWN_SHARE).count());
        let is_photo = drawn * PHOTO_ABOVE_DRAWN < all;
        let kind = Kind {
            learned: is_photo && count(|slice| slice.learned.len()) == all,
            drawn: if is_photo { DRAWN_SHARE } else { SHARE_IN_DRAWINGS },
        };
        let (mut activity, mut weight, mut regions) = (0.0, 0.0, 0.0);
        for region in slices.flat_map(|slice| slice.regions(kind)).flatten() {
            activity += region.weight * region.activity;
            weight += region.weight;
            regions += 1.0;
        }
        // Where much is flat, little hides errors. A network has learned that.
        let share = if kind.learned { 1.0 } else { weight / regions };
        let slope = strength * f32::from(STEPS_AN_OCTAVE) * share;
        (weight > 0.0).then(|| Self { slope, mean: activity / weight, kind })
    }
}

impl Activity {
    /// Returns the activity of each region; `None` if it is drawn.
    fn regions(&self, kind: Kind) -> impl Iterator<Item = Option<RegionActivity>> + '_ {
        self.by_variance.iter().zip(&self.zeros).enumerate().map(move |(at, (&by_variance, &zeros))| {
            let by_network = self.learned.get(at).copied().filter(|_| kind.learned);
            (zeros < kind.drawn).then(|| by_network.unwrap_or(by_variance))
        })
    }

    /// Measures the regions of the slice of these rows.
    pub(crate) fn measure(&mut self, norms: &Norms, bands: Bands<'_>, rows: &Range<usize>) {
        let width = bands.size.width();
        let (across, down) = gains::count(width, rows.len());
        self.sums.clear();
        self.sums.resize(across * down, (0.0, 0.0));
        for level in 1..=COARSEST_LEVEL {
            for (index, halves) in layout::details(0, level).zip([[1, 0], [0, 1], [1, 1]]) {
                let subband = Subband::at(index);
                let own = layout::rows(subband, bands.size.height(), rows);
                let (stride, _) = subband.size(width, bands.size.height());
                let side = REGION_SIDE >> level;
                let [x, y] = halves.map(|half| norms[level - 1][half]);
                let rows = bands.subbands[index][own.start * stride..own.end * stride].chunks(stride.max(1));
                for (row, values) in rows.enumerate() {
                    let sums = self.sums[row / side * across..].iter_mut();
                    for ((energy, zeros), values) in sums.zip(values.chunks(side)) {
                        *energy += x * y * values.iter().map(|value| value * value).sum::<f32>();
                        if level == 1 {
                            *zeros += values
                                .iter()
                                .map(|value| if value.abs() < ZERO_MAGNITUDE { 1.0 } else { 0.0 })
                                .sum::<f32>();
                        }
                    }
                }
            }
        }
        self.learned.clear();
        let learned = bands.activity.get(rows.start / REGION_SIDE * across..).unwrap_or_default();
        self.learned.extend_from_slice(learned.get(..across * down).unwrap_or_default());
        self.by_variance.clear();
        self.zeros.clear();
        for (at, (energy, zeros)) in self.sums.iter().enumerate() {
            let pixels = |side: usize, at: usize| REGION_SIDE.min(side - at * REGION_SIDE);
            let count = (pixels(width, at % across) * pixels(rows.len(), at / across)) as f32;
            let variance = energy / count;
            self.by_variance.push(RegionActivity {
                activity: 0.5 * log2(variance + SMOOTH_VARIANCE),
                // What shows no coefficients at low rates does not count.
                weight: variance / (variance + SMOOTH_VARIANCE),
            });
            // Three quarters of all coefficients are of the finest level.
            self.zeros.push(zeros / (0.75 * count));
        }
    }

    /// Returns the gain of each region.
    #[expect(clippy::cast_possible_truncation, reason = "bounded")]
    pub(crate) fn gains(&self, GainRule { slope, mean, kind }: GainRule) -> impl Iterator<Item = i8> + '_ {
        self.regions(kind).map(move |region| {
            let gain = region.map_or(0.0, |region| slope * (mean - region.activity));
            gain.clamp(-MAX_CHOSEN_GAIN, MAX_CHOSEN_GAIN).round() as i8
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

    const PHOTO: Kind = Kind { learned: false, drawn: DRAWN_SHARE };

    #[test]
    fn the_activity_of_noise_is_that_of_its_variance() {
        let mut state = 7_u32;
        let mut noise = |amplitude: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            128 + (state >> 24) % (2 * amplitude + 1) - amplitude
        };
        // Noise of a standard deviation of 0.8, 5.5 and 27, from left to right.
        let amplitudes = [1, 9, 47];
        let samples = (0..96 * 96).map(|at| noise(amplitudes[at % 96 / 32]).to_le_bytes()[0]).collect();
        let picture = Picture::new(Size::new(96, 96).expect("a size"), Channels::Grey, samples).expect("samples");
        let linear = Linear::new(Model::photo());
        let coefficients = linear.coefficients_of((&picture).into()).expect("linear never fails");
        let norms = linear.model().norms();
        let mut activity = Activity::default();
        activity.measure(&norms, coefficients.bands(), &(0..96));
        for (at, found) in activity.regions(PHOTO).flatten().enumerate() {
            let deviation = [0.82, 5.48, 27.4][at % 3];
            let expected = 0.5 * f32::log2(deviation * deviation + SMOOTH_VARIANCE);
            let found = found.activity;
            assert!((found - expected).abs() < 0.6, "region {at}: {found}, expected {expected}");
        }
        let rule = GainRule::new(0.4, [&activity].into_iter()).expect("noise is not flat");
        assert!((0.9..1.2).contains(&rule.slope), "two regions of three count: {}", rule.slope);
        let gains: Vec<i8> = activity.gains(rule).collect();
        assert!(gains.chunks(3).all(|row| row[0] > row[1] && row[1] > row[2]), "{gains:?}");
        assert!(activity.gains(GainRule { slope: 4.0, mean: 100.0, kind: PHOTO }).all(|gain| gain == 6));
    }

    #[test]
    fn what_a_network_found_takes_the_place_of_the_variance() {
        let mut state = 5_u32;
        let samples = (0..64 * 128).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 25).to_le_bytes()[0]
        });
        let picture = Picture::new(Size::new(64, 128).expect("a size"), Channels::Grey, samples.collect());
        let linear = Linear::new(Model::photo());
        let mut coefficients = linear.coefficients_of((&picture.expect("samples")).into()).expect("linear never fails");
        let found = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, f32::NAN];
        let weights = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
        let learned = found.iter().zip(weights).map(|(&activity, weight)| RegionActivity { activity, weight });
        coefficients.activity = learned.collect();
        assert!(coefficients.check(linear.model().id()).is_ok());
        // Two slices; the last region is not a number, and so is the mean with it: no gain, and no panic.
        let gains = |coefficients: &crate::Coefficients| -> Vec<i8> {
            let mut slices = [Activity::default(), Activity::default()];
            for (slice, rows) in slices.iter_mut().zip([0..64, 64..128]) {
                slice.measure(&linear.model().norms(), coefficients.bands(), &rows);
            }
            let rule = GainRule::new(0.5, slices.iter()).expect("it has weight");
            slices.iter().flat_map(|slice| slice.gains(rule).collect::<Vec<_>>()).collect()
        };
        assert_eq!(gains(&coefficients), [0; 8]);
        coefficients.activity[7].activity = 3.5;
        // The mean is 3.5: half of the difference, in quarters of an octave, at most six.
        assert_eq!(gains(&coefficients), [5, 3, 1, -1, -3, -5, -6, 0]);
        // Two regions of eight are drawn now: it is no photo, and the variance decides.
        let by_network = gains(&coefficients);
        for subband in &mut coefficients.subbands {
            let regions = subband.len() / 8;
            subband[..regions / 2].fill(0.0);
        }
        assert_ne!(gains(&coefficients), by_network);
        let learned = std::mem::take(&mut coefficients.activity);
        let by_variance = gains(&coefficients);
        coefficients.activity = learned;
        assert_eq!(gains(&coefficients), by_variance);
        coefficients.activity.pop();
        assert!(coefficients.check(linear.model().id()).is_err());
    }

    #[test]
    fn a_drawing_leaves_regions_alone_that_a_photo_would_not() {
        let share = |zeros: [f32; 8]| {
            let region = RegionActivity { activity: 3.0, weight: 1.0 };
            let activity = Activity { by_variance: vec![region; 8], zeros: zeros.into(), ..Activity::default() };
            let rule = GainRule::new(0.5, [&activity].into_iter()).expect("it has weight");
            activity.regions(rule.kind).filter(Option::is_none).count()
        };
        assert_eq!(share([0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]), 0);
        assert_eq!(share([0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.3]), 4);
    }

    #[test]
    fn drawn_regions_have_no_gain() {
        // Strokes on white above, noise below.
        let mut state = 3_u32;
        let samples = (0..64 * 64).map(|at: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let drawn = if at % 32 == 10 { 0 } else { 255 };
            if at < 32 * 64 { drawn } else { (state >> 25).to_le_bytes()[0] }
        });
        let picture = Picture::new(Size::new(64, 64).expect("a size"), Channels::Grey, samples.collect());
        let linear = Linear::new(Model::photo());
        let coefficients = linear.coefficients_of((&picture.expect("samples")).into()).expect("linear never fails");
        let mut activity = Activity::default();
        activity.measure(&linear.model().norms(), coefficients.bands(), &(0..64));
        let regions: Vec<_> = activity.regions(PHOTO).collect();
        assert!(regions[..2].iter().all(Option::is_none), "{regions:?}");
        assert!(regions[2..].iter().all(Option::is_some), "{regions:?}");
        let gains: Vec<i8> = activity.gains(GainRule { slope: 4.0, mean: 2.0, kind: PHOTO }).collect();
        assert_eq!((gains[0], gains[1]), (0, 0));
        assert!(gains[2] < 0 && gains[3] < 0);
    }
}
