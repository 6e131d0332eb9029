//! Lifting steps (spec, "Wavelet"): even and odd samples are held apart, each step adds to one of them a
//! symmetric combination of its two nearest and two next neighbours in the other.

use crate::model::{STEPS, Taps};

/// Which way a level runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Analysis,
    Synthesis,
}

/// Index, in the other half, of the sample at `distance` (odd) from sample `i` of a half.
///
/// The signal of `n` samples is mirrored about its first and its last sample.
#[inline]
fn neighbour(i: usize, odd: usize, distance: isize, n: usize) -> usize {
    let period = 2 * (n - 1);
    let position = ((2 * i + odd).cast_signed() + distance).rem_euclid(period.cast_signed()).cast_unsigned();
    position.min(period - position) / 2
}

/// The steps in the order of `direction`: which half is the target, and the taps, signed.
fn steps(taps: &Taps, direction: Direction) -> impl Iterator<Item = (usize, [f32; 2])> {
    (0..STEPS).map(move |i| match direction {
        Direction::Analysis => (1 - i % 2, taps[i]),
        Direction::Synthesis => {
            let i = STEPS - 1 - i;
            (1 - i % 2, taps[i].map(|tap| -tap))
        }
    })
}

/// All steps along columns; `even` and `odd` hold rows of `W` samples.
pub(super) fn lift_columns<const W: usize>(taps: &Taps, direction: Direction, even: &mut [f32], odd: &mut [f32]) {
    let (even, odd) = (even.as_chunks_mut::<W>().0, odd.as_chunks_mut::<W>().0);
    let n = even.len() + odd.len();
    if n < 2 {
        return;
    }
    for (parity, [near, far]) in steps(taps, direction) {
        let (target, source): (&mut [_], &[_]) = if parity == 1 { (odd, even) } else { (even, odd) };
        for (i, row) in target.iter_mut().enumerate() {
            let [a, b, c, d] = [-1, 1, -3, 3].map(|distance| &source[neighbour(i, parity, distance, n)]);
            for x in 0..W {
                row[x] += near * (a[x] + b[x]) + far * (c[x] + d[x]);
            }
        }
    }
}

/// All steps along one row.
pub(super) fn lift_row(taps: &Taps, direction: Direction, even: &mut [f32], odd: &mut [f32]) {
    let n = even.len() + odd.len();
    if n < 2 {
        return;
    }
    for (parity, [near, far]) in steps(taps, direction) {
        let (target, source): (&mut [f32], &[f32]) = if parity == 1 { (odd, even) } else { (even, odd) };
        let border = |target: &mut [f32], i: usize| {
            let [a, b, c, d] = [-1, 1, -3, 3].map(|distance| source[neighbour(i, parity, distance, n)]);
            target[i] += near * (a + b) + far * (c + d);
        };
        // Sample i of the target has its neighbours at i - lead .. i - lead + 4 in the source.
        let lead = 2 - parity;
        let inner = (source.len() + lead).saturating_sub(3).min(target.len()).max(lead.min(target.len()));
        for i in (0..lead.min(target.len())).chain(inner..target.len()) {
            border(target, i);
        }
        if inner > lead {
            for (value, around) in target[lead..inner].iter_mut().zip(source.windows(4)) {
                *value += near * (around[1] + around[2]) + far * (around[0] + around[3]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CDF97: Taps = [[-1.586_134_3, 0.01], [-0.052_980_12, -0.02], [0.882_911_1, 0.0], [0.443_506_87, 0.03]];

    #[test]
    fn synthesis_undoes_analysis_at_any_length() {
        for n in 1..40_usize {
            let signal: Vec<f32> = (0..n).map(|i| ((i * 37) % 101) as f32).collect();
            let mut even: Vec<f32> = signal.iter().copied().step_by(2).collect();
            let mut odd: Vec<f32> = signal.iter().copied().skip(1).step_by(2).collect();
            lift_row(&CDF97, Direction::Analysis, &mut even, &mut odd);
            let mut columns = [
                signal.iter().copied().step_by(2).collect::<Vec<_>>(),
                signal.iter().copied().skip(1).step_by(2).collect(),
            ];
            let [even_column, odd_column] = &mut columns;
            lift_columns::<1>(&CDF97, Direction::Analysis, even_column, odd_column);
            for (a, b) in even.iter().chain(&odd).zip(columns.iter().flatten()) {
                assert!((a - b).abs() < 1e-3, "rows and columns agree at length {n}");
            }
            lift_row(&CDF97, Direction::Synthesis, &mut even, &mut odd);
            for (i, &value) in signal.iter().enumerate() {
                let back = if i % 2 == 0 { even[i / 2] } else { odd[i / 2] };
                assert!((back - value).abs() < 1e-3, "sample {i} of {n}: {back} is not {value}");
            }
        }
    }
}
