//! Six levels of a separable lifting wavelet with whole-sample symmetric borders.
//!
//! Columns first, in slabs that stay in cache, then rows. Each slab and each group of rows is a job of its
//! own, so both passes run on as many threads as there are.

use super::Planes;
use super::lift::{Direction, lift_columns, lift_row};
use crate::layout::{LEVELS, Unit};
use crate::model::{Model, Taps};
use crate::parallel;
use crate::transform::Coefficients;

/// Columns of a slab; even, so that a slab begins on an even column.
const SLAB: usize = 64;
/// Rows that one job of the row pass takes.
const GROUP: usize = 16;
/// Levels with fewer samples than this are not worth a second thread.
const PARALLEL: usize = 1 << 15;

/// One level of one component.
struct Level<'a> {
    taps: &'a Taps,
    width: usize,
    height: usize,
    threads: usize,
}

pub(super) fn decompose(model: &Model, planes: Planes, threads: usize) -> Coefficients {
    let mut out = Coefficients::zero(planes.size, planes.channels);
    for (component, mut low) in planes.components.into_iter().enumerate() {
        for number in 1..=LEVELS {
            let level = Level::new(model, &out, component, number, threads);
            let mut next = vec![0.0; level.width.div_ceil(2) * level.height.div_ceil(2)];
            let details = details(&mut out, component, number);
            level.split(&low, &mut next, details);
            low = next;
        }
        out.units[component] = low;
    }
    out
}

pub(super) fn compose(model: &Model, mut coefficients: Coefficients, threads: usize) -> Planes {
    let (size, channels) = (coefficients.size, coefficients.channels);
    let components = (0..channels.count()).map(|component| {
        let mut low = std::mem::take(&mut coefficients.units[component]);
        for number in (1..=LEVELS).rev() {
            let level = Level::new(model, &coefficients, component, number, threads);
            let bands = details(&mut coefficients, component, number);
            low = level.join(&low, bands);
            for band in bands {
                *band = Vec::new();
            }
        }
        low
    });
    let components = components.collect();
    Planes { size, channels, components }
}

/// The three detail bands of a level.
fn details(coefficients: &mut Coefficients, component: usize, level: usize) -> &mut [Vec<f32>; 3] {
    let first = 3 + 9 * (LEVELS - level) + 3 * component;
    debug_assert_eq!(Unit::at(first).level, level);
    coefficients.units[first..].first_chunk_mut().expect("every level has three bands a component")
}

/// Slices of `GROUP` rows of `width`; as many empty ones as it takes if the band has no columns.
fn groups(band: &mut [f32], width: usize) -> Box<dyn Iterator<Item = &mut [f32]> + Send + '_> {
    if width == 0 {
        return Box::new(std::iter::repeat_with(Default::default));
    }
    Box::new(band.chunks_mut(GROUP * width))
}

/// Row `y` of a buffer of slabs, sample by sample.
fn row(slabs: &[f32], height: usize, y: usize) -> impl Iterator<Item = &[f32; SLAB]> {
    let rows = slabs.as_chunks::<SLAB>().0;
    rows.iter().skip(y).step_by(height)
}

impl<'a> Level<'a> {
    fn new(model: &'a Model, c: &Coefficients, component: usize, level: usize, threads: usize) -> Self {
        let side = |n: usize| (1..level).fold(n, |n, _| n.div_ceil(2));
        let (width, height) = (side(c.size.width()), side(c.size.height()));
        let threads = if width * height < PARALLEL { 1 } else { threads };
        Self { taps: &model.taps[level - 1][usize::from(component > 0)], width, height, threads }
    }

    /// Analysis: `samples` into a low band and three details.
    fn split(&self, samples: &[f32], low: &mut [f32], [hl, lh, hh]: &mut [Vec<f32>; 3]) {
        let (height, evens) = (self.height, self.height.div_ceil(2));
        let (left, right) = (self.width.div_ceil(2), self.width / 2);
        let mut slabs = vec![0.0; self.width.div_ceil(SLAB) * height * SLAB];
        let jobs = slabs.chunks_mut(height * SLAB).enumerate();
        parallel::for_each(self.threads, jobs, |(index, slab)| {
            let x = index * SLAB;
            let count = SLAB.min(self.width - x);
            for (y, line) in slab.as_chunks_mut::<SLAB>().0.iter_mut().enumerate() {
                let y = if y < evens { 2 * y } else { 2 * (y - evens) + 1 };
                line[..count].copy_from_slice(&samples[y * self.width + x..][..count]);
            }
            let (even, odd) = slab.split_at_mut(evens * SLAB);
            lift_columns::<SLAB>(self.taps, Direction::Analysis, even, odd);
        });
        let upper = groups(low, left).zip(groups(hl, right)).zip((0..evens).step_by(GROUP));
        let lower = groups(lh, left).zip(groups(hh, right)).zip((evens..height).step_by(GROUP));
        let limit = |first: usize| if first < evens { evens } else { height };
        parallel::for_each(self.threads, upper.chain(lower), |((left_rows, right_rows), first)| {
            let (mut even, mut odd) = (Vec::with_capacity(left + SLAB), Vec::with_capacity(right + SLAB));
            for y in first..(first + GROUP).min(limit(first)) {
                even.clear();
                odd.clear();
                for line in row(&slabs, height, y) {
                    even.extend(line.iter().step_by(2));
                    odd.extend(line.iter().skip(1).step_by(2));
                }
                even.truncate(left);
                odd.truncate(right);
                lift_row(self.taps, Direction::Analysis, &mut even, &mut odd);
                left_rows[(y - first) * left..][..left].copy_from_slice(&even);
                right_rows[(y - first) * right..][..right].copy_from_slice(&odd);
            }
        });
    }

    /// Synthesis: the samples of a low band and three details.
    fn join(&self, low: &[f32], [hl, lh, hh]: &[Vec<f32>; 3]) -> Vec<f32> {
        let (left, right) = (self.width.div_ceil(2), self.width / 2);
        let left_slabs = self.join_columns(low, lh, left);
        let right_slabs = self.join_columns(hl, hh, right);
        let evens = self.height.div_ceil(2);
        let mut samples = vec![0.0; self.width * self.height];
        let jobs = samples.chunks_mut(GROUP * self.width).enumerate();
        parallel::for_each(self.threads, jobs, |(index, rows)| {
            let (mut even, mut odd) = (Vec::with_capacity(left + SLAB), Vec::with_capacity(right + SLAB));
            for (y, out) in rows.chunks_mut(self.width).enumerate() {
                let y = index * GROUP + y;
                let y = if y.is_multiple_of(2) { y / 2 } else { evens + y / 2 };
                even.clear();
                odd.clear();
                row(&left_slabs, self.height, y).for_each(|line| even.extend_from_slice(line));
                row(&right_slabs, self.height, y).for_each(|line| odd.extend_from_slice(line));
                even.truncate(left);
                odd.truncate(right);
                lift_row(self.taps, Direction::Synthesis, &mut even, &mut odd);
                for ((pair, &even), &odd) in out.as_chunks_mut::<2>().0.iter_mut().zip(&even).zip(&odd) {
                    *pair = [even, odd];
                }
                if left > right {
                    out[2 * right] = even[right];
                }
            }
        });
        samples
    }

    /// The column pass of synthesis for one half of the columns, in slabs: even rows first.
    fn join_columns(&self, low: &[f32], high: &[f32], width: usize) -> Vec<f32> {
        let evens = self.height.div_ceil(2);
        let mut slabs = vec![0.0; width.div_ceil(SLAB) * self.height * SLAB];
        let jobs = slabs.chunks_mut(self.height * SLAB).enumerate();
        parallel::for_each(self.threads, jobs, |(index, slab)| {
            let x = index * SLAB;
            let count = SLAB.min(width - x);
            for (y, line) in slab.as_chunks_mut::<SLAB>().0.iter_mut().enumerate() {
                let (band, y) = if y < evens { (low, y) } else { (high, y - evens) };
                line[..count].copy_from_slice(&band[y * width + x..][..count]);
            }
            let (even, odd) = slab.split_at_mut(evens * SLAB);
            lift_columns::<SLAB>(self.taps, Direction::Synthesis, even, odd);
        });
        slabs
    }
}
