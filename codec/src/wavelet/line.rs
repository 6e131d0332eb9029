//! Lifting along one row.

use crate::scratch::Arena;
use crate::wavelet::lift::{Direction, Steps, Taps, lifted, mirror};

/// Mirrored samples that a half has on either side.
const PAD: usize = 2;

/// One row while it is lifted: its even and its odd samples apart, each with room for mirrored ones on both sides,
/// so that the steps know no border.
#[derive(Debug, Default)]
pub(super) struct Line<'a> {
    steps: Steps,
    width: usize,
    halves: [&'a mut [f32]; 2],
}

impl<'a> Line<'a> {
    /// Floats that [`Line::new`] takes.
    pub(super) const fn floats(width: usize) -> usize {
        width + 4 * PAD
    }

    pub(super) fn new(taps: &Taps, direction: Direction, width: usize, arena: &mut Arena<'a>) -> Self {
        let halves = [width.div_ceil(2), width / 2].map(|half| arena.take(half + 2 * PAD));
        Self { steps: Steps::new(taps, direction), width, halves }
    }
    /// Synthesis: makes `out` of its even half and, behind that, its odd half.
    pub(super) fn join(&mut self, halves: &[f32], out: &mut [f32]) {
        let (left, right) = halves.split_at(self.width.div_ceil(2));
        if right.is_empty() {
            out.copy_from_slice(left);
            return;
        }
        self.half(0).copy_from_slice(left);
        self.half(1).copy_from_slice(right);
        let [first, second, third, last] = self.steps.taps;
        self.step(0, first);
        self.step(1, second);
        self.step(0, third);
        self.mirror(0);
        // The last step, on odd samples, while the halves are interleaved.
        let [even, odd] = &self.halves;
        let pairs = out.as_chunks_mut::<2>().0.iter_mut();
        for ((pair, &odd), around) in pairs.zip(&odd[PAD..]).zip(even[1..].array_windows()) {
            *pair = [around[1], lifted(odd, last, *around)];
        }
        if left.len() > right.len() {
            out[self.width - 1] = even[PAD + right.len()];
        }
    }

    /// Analysis: takes the low and the high half out of `row`.
    pub(super) fn split(&mut self, row: &[f32]) -> [&[f32]; 2] {
        let [even, odd] = &mut self.halves;
        for ((pair, even), odd) in row.as_chunks::<2>().0.iter().zip(&mut even[PAD..]).zip(&mut odd[PAD..]) {
            [*even, *odd] = *pair;
        }
        let (left, right) = (self.width.div_ceil(2), self.width / 2);
        if left > right {
            even[PAD + right] = row[self.width - 1];
        }
        if right > 0 {
            for (number, taps) in self.steps.taps.into_iter().enumerate() {
                self.step(1 - number % 2, taps);
            }
        }
        [&self.halves[0][PAD..PAD + left], &self.halves[1][PAD..PAD + right]]
    }

    fn half(&mut self, parity: usize) -> &mut [f32] {
        let half = &mut self.halves[parity];
        let end = half.len() - PAD;
        &mut half[PAD..end]
    }

    /// One step on the samples of `parity`.
    fn step(&mut self, parity: usize, taps: [f32; 2]) {
        self.mirror(1 - parity);
        let [even, odd] = &mut self.halves;
        let (target, source) = if parity == 0 { (even, &odd[..]) } else { (odd, &even[1..]) };
        let end = target.len() - PAD;
        for (value, around) in target[PAD..end].iter_mut().zip(source.array_windows()) {
            *value = lifted(*value, taps, *around);
        }
    }

    /// Fills in the mirrored samples of a half.
    fn mirror(&mut self, parity: usize) {
        let width = self.width;
        let half = &mut self.halves[parity];
        let end = half.len() - PAD;
        for at in [0, 1, end, end + 1] {
            let position = (2 * at + parity).cast_signed() - (2 * PAD).cast_signed();
            half[at] = half[PAD + mirror(position, width) / 2];
        }
    }
}
