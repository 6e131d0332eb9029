//! The energy of the wavelet's basis functions.

use crate::subband::layout::WAVELET_LEVELS;
use crate::wavelet::lift::{LIFTING_STEPS, Sample as _, Taps, mirror};

/// Samples of the coarsest line: more than a coefficient reaches in both directions.
const LINE_SAMPLES: usize = 64;

/// Returns the sum of the squares of the samples that a coefficient of one becomes along a line, by level and half: low,
/// high.
pub(crate) fn norms(taps: &[Taps; WAVELET_LEVELS]) -> [[f32; 2]; WAVELET_LEVELS] {
    std::array::from_fn(|level| [0, 1].map(|half| norm(&taps[..=level], half)))
}

fn norm(taps: &[Taps], half: usize) -> f32 {
    let mut line = vec![0.0; LINE_SAMPLES];
    line[LINE_SAMPLES / 2 + half] = 1.0;
    for (taps, is_last) in taps.iter().rev().zip((0..taps.len()).map(|at| at + 1 == taps.len())) {
        unlift(&mut line, taps);
        if !is_last {
            line = line.into_iter().flat_map(|sample| [sample, 0.0]).collect();
        }
    }
    line.iter().map(|sample| sample * sample).sum()
}

fn unlift(line: &mut [f32], taps: &Taps) {
    for step in (0..LIFTING_STEPS).rev() {
        for k in (1 - step % 2..line.len()).step_by(2) {
            let at = |distance: isize| line[mirror(k.cast_signed() + distance, line.len())];
            line[k] = f32::lifted(line[k], taps[step].map(f32::inverse), [at(-3), at(-1), at(1), at(3)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::axes::Axes;
    use crate::model::Model;
    use crate::picture::{Channels, Size};
    use crate::subband::coefficients::Coefficients;
    use crate::subband::layout::{Subband, details};
    use crate::wavelet::naive;

    #[test]
    fn the_product_of_two_norms_is_the_energy_of_one_coefficient() {
        let model = Model::photo();
        let norms = norms(&model.taps);
        let size = Size::new(512, 512).expect("a size");
        for level in 1..=5 {
            for (index, halves) in details(0, level).zip([[1, 0], [0, 1], [1, 1]]) {
                let mut coefficients = Coefficients::default();
                coefficients.reset_to_zero(model.id(), size, Channels::Grey, Axes::default());
                let (width, height) = Subband::at(index).size(512, 512);
                coefficients.subbands[index][height / 2 * width + width / 2] = 1.0;
                let planes = naive::compose(&model.taps, &coefficients);
                let energy: f32 = planes.components[0].iter().map(|sample| sample * sample).sum();
                let product = norms[level - 1][halves[0]] * norms[level - 1][halves[1]];
                assert!((energy / product - 1.0).abs() < 1e-3, "level {level}, {halves:?}: {energy}, {product}");
            }
        }
    }
}
