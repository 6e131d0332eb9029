//! The slow, obvious twin of the integer synthesis: it works on whole arrays, as the specification says.

use crate::residual::planes::Planes420;
use crate::subband::layout::{WAVELET_LEVELS, details};
use crate::wavelet::lift::{LIFTING_STEPS, Taps};

const BAND_OFFSETS: [(usize, usize); 3] = [(1, 0), (0, 1), (1, 1)];

/// Does `s[k] -= ...` for all samples of a line, in unbounded integers that are then taken modulo 2^32.
fn unlift(line: &mut [i32], taps: &Taps<i32>) {
    let n = line.len();
    if n < 2 {
        return;
    }
    let mirrored = |k: isize| {
        let period = 2 * (n - 1).cast_signed();
        let r = k.rem_euclid(period);
        r.min(period - r).cast_unsigned()
    };
    for step in (0..LIFTING_STEPS).rev() {
        let [near, far] = taps[step].map(i128::from);
        for k in (1 - step % 2..n).step_by(2) {
            let at = |distance: isize| i128::from(line[mirrored(k.cast_signed() + distance)]);
            let sum = near * (at(-1) + at(1)) + far * (at(-3) + at(3)) + 2048;
            line[k] = signed(i128::from(line[k]) - i128::from(signed(sum) >> 12));
        }
    }
}

/// Returns the value from -2^31 to 2^31 - 1 that equals `number` modulo 2^32.
fn signed(number: i128) -> i32 {
    let number = number.rem_euclid(1 << 32);
    i32::try_from(if number < 1 << 31 { number } else { number - (1 << 32) }).expect("32 bits")
}

/// Merges these subbands into planes; every subband has its numbers.
pub(super) fn synthesise(taps: &[Taps<i32>; WAVELET_LEVELS], subbands: &[Vec<i32>], out: &mut Planes420<i16>) {
    let size = out.size();
    for (component, plane) in out.planes_mut().into_iter().enumerate() {
        let mut low = subbands[component].clone();
        let finest = if component == 0 { 1 } else { 2 };
        for level in (finest..=WAVELET_LEVELS).rev() {
            let side = |n: usize| n.div_ceil(1 << (level - 1));
            let width = side(size.width());
            let height = side(size.height());
            let mut grid = vec![0; width * height];
            for (band, (x, y)) in [&low]
                .into_iter()
                .chain(&subbands[details(component, level)])
                .zip([(0, 0)].into_iter().chain(BAND_OFFSETS))
            {
                let places = (y..height).step_by(2).flat_map(|y| (x..width).step_by(2).map(move |x| y * width + x));
                let places: Vec<usize> = places.collect();
                assert_eq!(places.len(), band.len());
                places.into_iter().zip(band).for_each(|(place, value)| grid[place] = *value);
            }
            for x in 0..width {
                let mut column: Vec<i32> = grid.iter().skip(x).step_by(width).copied().collect();
                unlift(&mut column, &taps[level - 1]);
                grid.iter_mut().skip(x).step_by(width).zip(column).for_each(|(to, from)| *to = from);
            }
            grid.chunks_mut(width).for_each(|row| unlift(row, &taps[level - 1]));
            low = grid;
        }
        for (residual, value) in plane.iter_mut().zip(low) {
            let half = signed(i128::from(value) + 1) >> 1;
            *residual = i16::try_from(half.clamp(-4096, 4095)).expect("clamped");
        }
    }
}
