//! Lifting along one row.

use std::ops::Range;

use crate::scratch::Arena;
use crate::simd::widest;
use crate::subband::segments::{self, Segments, long_runs, runs};
use crate::wavelet::lift::{Direction, LIFTING_STEPS, Sample, Steps, Taps, mirror};

/// Mirrored samples on either side of a half.
const PAD_SAMPLES: usize = 2;
/// The samples of a half to which a step, and all steps, carry a sample of either half.
const STEP_SAMPLES: usize = 2;
const REACH_SAMPLES: usize = LIFTING_STEPS * STEP_SAMPLES;

/// One row during lifting: its even and its odd samples apart, each with room for mirrored ones on both sides, so that
/// the steps need no special case at a border.
#[derive(Debug, Default)]
pub(super) struct Line<'a, T> {
    steps: Steps<T>,
    width: usize,
    halves: [&'a mut [T]; 2],
}

/// A part of a line: its samples in both halves.
struct Span {
    even: Range<usize>,
    odd: Range<usize>,
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

    /// Synthesis: joins the even half and the odd half into `out`. `occupied` are the segments of both, of `segment`
    /// samples, that may be other than zero. Returns those of `out`, of twice as many samples. Only those in `before`
    /// are other than zero now.
    pub(super) fn join(
        &mut self,
        [left, right]: [&[T]; 2],
        occupied: [Segments; 2],
        segment: usize,
        (out, before): (&mut [T], Segments),
    ) -> Segments {
        let [of_left, of_right] = occupied;
        let all = segments::first(left.len().div_ceil(segment));
        let joined = segments::widened(of_left | of_right, REACH_SAMPLES.div_ceil(segment)) & all;
        if self.width < 2 {
            out.copy_from_slice(left);
            return joined;
        }
        for run in runs(all & before & !joined) {
            let end = out.len().min(2 * run.end * segment);
            out[2 * run.start * segment..end].fill(T::default());
        }
        for run in runs(joined) {
            let span = Span {
                even: run.start * segment..left.len().min(run.end * segment),
                odd: run.start * segment..right.len().min(run.end * segment),
            };
            let near = segments::widened(of_right, STEP_SAMPLES.div_ceil(segment));
            self.fill(&span, [left, right], near, segment);
            let [_, second, third, last] = self.steps.taps;
            self.step(1, &span, second);
            self.step(0, &span, third);
            self.continue_half(0, &span);
            // The last step changes odd samples, while the halves are interleaved.
            let [even, odd] = &self.halves;
            let even = &even[span.even.start + PAD_SAMPLES - 1..];
            let odd = &odd[span.odd.start + PAD_SAMPLES..][..span.odd.len()];
            let out = &mut out[2 * span.even.start..];
            T::interleave(even, odd, last, out);
            if span.even.len() > span.odd.len() {
                out[2 * span.odd.len()] = even[span.even.len()];
            }
        }
        joined
    }

    /// Copies a span of both halves, and does the first step, which changes the segments in `changes`.
    fn fill(&mut self, span: &Span, [left, right]: [&[T]; 2], changes: Segments, segment: usize) {
        let Span { even, odd } = span;
        self.halves[1][PAD_SAMPLES + odd.start..PAD_SAMPLES + odd.end].copy_from_slice(&right[odd.clone()]);
        let within = segments::first(even.end.div_ceil(segment)) & !segments::first(even.start / segment);
        if changes & within != 0 {
            self.continue_half(1, span);
        }
        let first = self.steps.taps[0];
        let [halves, odd] = &mut self.halves;
        let mut done = even.start;
        for run in long_runs(changes & within) {
            let run = run.start * segment..even.end.min(run.end * segment);
            halves[PAD_SAMPLES + done..PAD_SAMPLES + run.start].copy_from_slice(&left[done..run.start]);
            let target = &mut halves[PAD_SAMPLES + run.start..PAD_SAMPLES + run.end];
            T::lift_from(&left[run.clone()], first, &odd[run.start..], target);
            done = run.end;
        }
        halves[PAD_SAMPLES + done..PAD_SAMPLES + even.end].copy_from_slice(&left[done..even.end]);
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
            let all = Span { even: 0..left, odd: 0..right };
            for (number, taps) in self.steps.taps.into_iter().enumerate() {
                self.step(1 - number % 2, &all, taps);
            }
        }
        [&self.halves[0][PAD_SAMPLES..PAD_SAMPLES + left], &self.halves[1][PAD_SAMPLES..PAD_SAMPLES + right]]
    }

    /// One step on a span of the samples of `parity`.
    fn step(&mut self, parity: usize, span: &Span, taps: [T; 2]) {
        self.continue_half(1 - parity, span);
        let [even, odd] = &mut self.halves;
        let (target, source, of) =
            if parity == 0 { (even, &odd[..], &span.even) } else { (odd, &even[1..], &span.odd) };
        let target = &mut target[PAD_SAMPLES + of.start..PAD_SAMPLES + of.end];
        T::lift_along(target, taps, &source[of.start..]);
    }

    /// Sets the samples of a half on both sides of a span: mirrored ones at the ends of the line, elsewhere zeros.
    fn continue_half(&mut self, parity: usize, span: &Span) {
        let [of_even, of_odd] = [&span.even, &span.odd];
        let of = if parity == 0 { of_even } else { of_odd };
        let ends = [of_even.start == 0, of_even.end == self.width.div_ceil(2)];
        let width = self.width;
        let half = &mut self.halves[parity];
        for (at, mirrored) in [of.start, of.start + 1]
            .map(|at| (at, ends[0]))
            .into_iter()
            .chain([0, 1].map(|at| (PAD_SAMPLES + of.end + at, ends[1])))
        {
            half[at] = if mirrored {
                let position = (2 * at + parity).cast_signed() - (2 * PAD_SAMPLES).cast_signed();
                half[PAD_SAMPLES + mirror(position, width) / 2]
            } else {
                T::default()
            };
        }
    }
}

#[inline(always)]
fn separate<T: Sample>(row: &[T], even: &mut [T], odd: &mut [T]) {
    for ((pair, even), odd) in row.as_chunks::<2>().0.iter().zip(even).zip(odd) {
        [*even, *odd] = *pair;
    }
}
