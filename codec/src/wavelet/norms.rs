//! The energy of the wavelet's basis functions.

use crate::subband::layout::LEVELS;
use crate::wavelet::lift::{LIFTING_STEPS, Sample as _, Taps, mirror};

/// Samples of the coarsest line.
const LINE_SAMPLES: usize = 16;

/// Returns the sum of the squares of the samples that a coefficient of one becomes along a line, by level and half: low,
/// high.
pub(crate) fn norms(taps: &[Taps; LEVELS]) -> [[f32; 2]; LEVELS] {
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
