//! Lifting along one row.

use crate::scratch::Arena;
use crate::simd::widest;
use crate::wavelet::lift::{Direction, Sample, Steps, Taps, mirror};

/// Mirrored samples on either side of a half.
const PAD_SAMPLES: usize = 2;

/// One row during lifting: its even and its odd samples apart, each with room for mirrored ones on both sides, so that
/// the steps need no special case at a border.
#[derive(Debug, Default)]
pub(super) struct Line<'a, T> {
    steps: Steps<T>,
    width: usize,
    halves: [&'a mut [T]; 2],
}

impl<'a, T: Sample> Line<'a, T> {
    /// The number of samples that [`Line::new`] takes.
    pub(super) const fn numbers(width: usize) -> usize {
        width + 4 * PAD_SAMPLES
    }

    pub(super) fn new(taps: &Taps<T>, direction: Direction, width: usize, arena: &mut Arena<'a, T>) -> Self {
        let halves = [width.div_ceil(2), width / 2].map(|half| arena.take(half + 2 * PAD_SAMPLES));
        Self { steps: Steps::new(taps, direction), width, halves }
    }

    /// Synthesis: joins the even half and, after it, the odd half into `out`; the odd half may be missing if it is
    /// zero.
    pub(super) fn join(&mut self, halves: &[T], out: &mut [T]) {
        let (left, right) = halves.split_at(self.width.div_ceil(2));
        if self.width < 2 {
            out.copy_from_slice(left);
            return;
        }
        let [first, second, third, last] = self.steps.taps;
        if right.is_empty() {
            self.half(0).copy_from_slice(left);
            self.half(1).fill(T::default());
        } else {
            self.half(1).copy_from_slice(right);
            self.mirror(1);
            let [even, odd] = &mut self.halves;
            widest!(step_from(left, first, odd, &mut even[PAD_SAMPLES..]));
        }
        self.step(1, second);
        self.step(0, third);
        self.mirror(0);
        // The last step changes odd samples, while the halves are interleaved.
        let [even, odd] = &self.halves;
        widest!(interleave(&even[1..], &odd[PAD_SAMPLES..], last, out));
        if !self.width.is_multiple_of(2) {
            out[self.width - 1] = even[PAD_SAMPLES + left.len() - 1];
        }
    }

    /// Analysis: splits `row` into the low and the high half.
    pub(super) fn split(&mut self, row: &[T]) -> [&[T]; 2] {
        let [even, odd] = &mut self.halves;
        widest!(separate(row, &mut even[PAD_SAMPLES..], &mut odd[PAD_SAMPLES..]));
        let left = self.width.div_ceil(2);
        let right = self.width / 2;
        if left > right {
            even[PAD_SAMPLES + right] = row[self.width - 1];
        }
        if right > 0 {
            for (number, taps) in self.steps.taps.into_iter().enumerate() {
                self.step(1 - number % 2, taps);
            }
        }
        [&self.halves[0][PAD_SAMPLES..PAD_SAMPLES + left], &self.halves[1][PAD_SAMPLES..PAD_SAMPLES + right]]
    }

    fn half(&mut self, parity: usize) -> &mut [T] {
        let half = &mut self.halves[parity];
        let end = half.len() - PAD_SAMPLES;
        &mut half[PAD_SAMPLES..end]
    }

    /// One step on the samples of `parity`.
    fn step(&mut self, parity: usize, taps: [T; 2]) {
        self.mirror(1 - parity);
        let [even, odd] = &mut self.halves;
        let (target, source) = if parity == 0 { (even, &odd[..]) } else { (odd, &even[1..]) };
        let end = target.len() - PAD_SAMPLES;
        widest!(step(&mut target[PAD_SAMPLES..end], taps, source));
    }

    /// Fills in the mirrored samples of a half.
    fn mirror(&mut self, parity: usize) {
        let width = self.width;
        let half = &mut self.halves[parity];
        let end = half.len() - PAD_SAMPLES;
        for at in [0, 1, end, end + 1] {
            let position = (2 * at + parity).cast_signed() - (2 * PAD_SAMPLES).cast_signed();
            half[at] = half[PAD_SAMPLES + mirror(position, width) / 2];
        }
    }
}

/// Does as [`step`], but keeps `values` unchanged.
#[inline(always)]
fn step_from<T: Sample>(values: &[T], taps: [T; 2], source: &[T], out: &mut [T]) {
    for ((out, value), around) in out.iter_mut().zip(values).zip(source.array_windows()) {
        *out = T::lifted(*value, taps, *around);
    }
}

#[inline(always)]
fn step<T: Sample>(target: &mut [T], taps: [T; 2], source: &[T]) {
    for (value, around) in target.iter_mut().zip(source.array_windows()) {
        *value = T::lifted(*value, taps, *around);
    }
}

/// Interleaves even samples, from the one before the first on, with odd ones, which the step changes.
#[inline(always)]
fn interleave<T: Sample>(even: &[T], odd: &[T], taps: [T; 2], out: &mut [T]) {
    let pairs = out.as_chunks_mut::<2>().0.iter_mut();
    for ((pair, &odd), around) in pairs.zip(odd).zip(even.array_windows()) {
        *pair = [around[1], T::lifted(odd, taps, *around)];
    }
}

#[inline(always)]
fn separate<T: Sample>(row: &[T], even: &mut [T], odd: &mut [T]) {
    for ((pair, even), odd) in row.as_chunks::<2>().0.iter().zip(even).zip(odd) {
        [*even, *odd] = *pair;
    }
}
