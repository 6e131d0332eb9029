//! Shows frames: prediction and residual, through the post-filter of the residual's tables (spec, "Shown frames"). The
//! filter is outside the prediction loop: nothing is predicted from its result.

use std::ops::Range;

use crate::motion::reference::{FRACTION_BITS, MAX_SAMPLE, MIN_SAMPLE, Reference};
use crate::parallel::{self, Threads};
use crate::picture::{PlaneMut, Size, ViewMut};
use crate::post_filter::table::{Filters, PostFilter};
use crate::post_filter::window::{FilteredRows, PlaneRows, Window, add};
use crate::post_filter::{self, BLOCK_SIDE, blocks};
use crate::residual::decoder::ResidualDecoder;
use crate::residual::planes::Planes420;
use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::transform::Position;
use crate::video::residuals::FrameResiduals;
use crate::video::restoration::{DecodedFrame, DecodingConditions};
use crate::wavelet::strips::Division;

/// Luma alone, then both colour differences, whose filters see no change in luma because it has another size.
const COMPONENT_GROUPS: [Range<usize>; 2] = [0..1, 1..3];
/// Strips begin on a multiple of this many rows of luma, so that those of the colour differences begin with a block.
const STRIP_ALIGN_ROWS: usize = 2 * BLOCK_SIDE;

/// A frame before the filter.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) predicted: &'a Reference,
    pub(super) picture: Picture<'a>,
}

/// Where the samples of a frame are.
#[derive(Clone, Copy)]
pub(super) enum Picture<'a> {
    /// They are those of the enhancement reference.
    Reference(&'a Reference),
    /// They are the sum of the prediction and a residual.
    Sum([&'a [i16]; 3]),
}

/// A frame before the filter and the filter's other inputs, for its fit.
#[cfg(feature = "training")]
pub(crate) struct Unfiltered {
    /// The samples in steps, less 128.
    pub(crate) planes: [Vec<f32>; 3],
    pub(crate) significance: [Vec<u8>; 3],
    pub(crate) position: Position,
}

#[cfg(feature = "training")]
impl Unfiltered {
    pub(super) fn new(frame: Frame<'_>, decoder: &ResidualDecoder, size: Size) -> Self {
        let planes = [0, 1, 2].map(|component| {
            let [width, height] = plane(size, component);
            let mut plane = vec![0.0; width * height];
            plane.chunks_mut(width).enumerate().for_each(|(y, row)| frame.floats(component, y, row));
            plane
        });
        let mut memory = Memory::default();
        memory.look(decoder, size);
        Self { planes, significance: memory.significance, position: decoder.position() }
    }
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Memory {
    significance: [Vec<u8>; 3],
    filtered: Planes420<f32>,
    samples: Scratch<i16>,
}

impl Memory {
    /// Renders the frame into `out`, filtered by the position that its bytes reach and by the significance that was
    /// noted.
    pub(super) fn filter(
        &mut self,
        table: &PostFilter,
        position: Position,
        frame: Frame<'_>,
        threads: &Threads,
        mut out: ViewMut<'_>,
    ) {
        let frame = (frame, out.size());
        match deep_bits(&out) {
            Some(bits) => self.filter_into(table, position, frame, threads, |rows| {
                out.split_off(rows).map(|plane| DeepPlane { plane, bits })
            }),
            None => self.filter_into(table, position, frame, threads, |rows| out.split_off(rows)),
        }
    }

    /// Returns the frame after the filter, if there is one, in its own numbers, and what is known of it.
    pub(super) fn filtered<'a>(
        &'a mut self,
        table: Option<&PostFilter>,
        (frame, size): (Frame<'a>, Size),
        threads: &Threads,
        told: DecodingConditions,
    ) -> DecodedFrame<'a> {
        let mut filtered = std::mem::take(&mut self.filtered);
        filtered.resize(size);
        let mut planes = filtered.planes_mut();
        match table {
            Some(table) => self.filter_into(table, told.shown, (frame, size), threads, |rows| {
                let rows = [rows, rows.div_ceil(2), rows.div_ceil(2)];
                std::array::from_fn::<_, 3, _>(|component| {
                    let [width, _] = plane(size, component);
                    let of_plane = &mut planes[component];
                    let count = (rows[component] * width).min(of_plane.len());
                    Rows { width, numbers: of_plane.split_off_mut(..count).unwrap_or_default() }
                })
            }),
            None => planes.into_iter().enumerate().for_each(|(component, numbers)| {
                let [width, _] = plane(size, component);
                numbers.chunks_mut(width).enumerate().for_each(|(y, row)| frame.floats(component, y, row));
            }),
        }
        self.filtered = filtered;
        DecodedFrame::new(&self.filtered, frame.predicted, &self.significance, told)
    }

    /// Filters into strips from top to bottom; `split_off` returns a strip of the given number of luma rows.
    fn filter_into<T: Take>(
        &self,
        table: &PostFilter,
        position: Position,
        (frame, size): (Frame<'_>, Size),
        threads: &Threads,
        mut split_off: impl FnMut(usize) -> [T; 3] + Send,
    ) {
        let Self { significance, samples, .. } = self;
        let rows = Division::new(size, threads.count()).rows.next_multiple_of(STRIP_ALIGN_ROWS);
        samples.lend(PostFilter::FILTER_NUMBERS, |memory| {
            let filters = table.at(position.fixed_point(), memory);
            let division = Division { rows };
            let jobs = division.strips(size.height()).map(|rows| {
                let out = split_off(rows.len());
                Strip { filters: &filters, significance, frame, size, rows, out }
            });
            parallel::for_each(threads, jobs, |mut strip| {
                for group in COMPONENT_GROUPS {
                    strip.filter(group, samples);
                }
            });
        });
    }

    /// Notes the significant coefficients that another decoder found.
    pub(super) fn take_significance(&mut self, residuals: &FrameResiduals, size: Size) {
        for (component, of_blocks) in self.significance.iter_mut().enumerate() {
            of_blocks.clear();
            of_blocks.extend(residuals.significance(size, component).iter().map(|mark| mark.to_le_bytes()[0]));
        }
    }

    /// Notes the significant coefficients that `decoder` knows.
    pub(super) fn look(&mut self, decoder: &ResidualDecoder, size: Size) {
        for (component, of_blocks) in self.significance.iter_mut().enumerate() {
            let [width, height] = plane(size, component);
            of_blocks.clear();
            of_blocks.resize(blocks(width) * blocks(height), 0);
        }
        decoder.write_significance(&mut self.significance);
    }
}

/// Returns the width and height of a component of a frame of this size.
fn plane(size: Size, component: usize) -> [usize; 2] {
    let size = if component == 0 { size } else { size.halved() };
    [size.width(), size.height()]
}

/// Receives filtered samples of one plane.
trait Take: Send {
    /// `samples`, less 128, with their corrections, both in 1/64; the first is in this column and row.
    fn take(&mut self, at: [usize; 2], samples: &[i16], corrections: &[i16]);
}

impl Take for PlaneMut<'_> {
    fn take(&mut self, [x, y]: [usize; 2], samples: &[i16], corrections: &[i16]) {
        let end = x + samples.len();
        widest!(show(samples, corrections, &mut self.row(y, end)[x..]));
    }
}

/// Adds corrections, rounds to the nearest, half up, and clips to 0..=255.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
fn show(samples: &[i16], corrections: &[i16], out: &mut [u8]) {
    const HALF_SAMPLE: i16 = 1 << (post_filter::FRACTION_BITS - 1);
    for ((out, sample), correction) in out.iter_mut().zip(samples).zip(corrections) {
        let rounded = sample.saturating_add(*correction).saturating_add(HALF_SAMPLE) >> post_filter::FRACTION_BITS;
        *out = (rounded.clamp(-128, 127) + 128) as u8;
    }
}

/// A plane of samples of more than 8 bits.
struct DeepPlane<'a> {
    plane: PlaneMut<'a>,
    bits: u8,
}

impl Take for DeepPlane<'_> {
    fn take(&mut self, [x, y]: [usize; 2], samples: &[i16], corrections: &[i16]) {
        let row = &mut self.plane.row(y, 2 * (x + samples.len()))[2 * x..];
        widest!(show_deep(samples, corrections, self.bits, row.as_chunks_mut().0));
    }
}

/// As [`show`], in samples of `bits` bits.
#[inline(always)]
fn show_deep(samples: &[i16], corrections: &[i16], bits: u8, out: &mut [[u8; 2]]) {
    for ((out, sample), correction) in out.iter_mut().zip(samples).zip(corrections) {
        let sum = i32::from(*sample) + i32::from(*correction);
        *out = deep_sample(sum << (FINEST - post_filter::FRACTION_BITS), bits);
    }
}

/// Fraction bits of a sample on the scale of 8 bits that has 16.
const FINEST: u32 = 8;

/// Rounds a sample in 1/256 of a step, less 128, to `bits` bits: to the nearest, half up.
#[inline(always)]
fn deep_sample(sample: i32, bits: u8) -> [u8; 2] {
    let (shift, most) = (16 - bits, u16::MAX >> (16 - bits));
    let rounded = (sample + (128 << FINEST) + ((1 << shift) >> 1)) >> shift;
    u16::try_from(rounded.clamp(0, most.into())).unwrap_or(most).to_le_bytes()
}

/// Returns the bits of samples of more than 8; `None` for samples of 8.
///
/// The browsers' module has no code for more, so that it is not larger than it may be.
#[inline(always)]
pub(super) fn deep_bits(out: &ViewMut<'_>) -> Option<u8> {
    if cfg!(target_family = "wasm") {
        return None;
    }
    out.format().ycbcr420().map(|(_, bits)| bits).filter(|bits| *bits > 8)
}

/// Stores rows of a plane in steps of samples.
struct Rows<'a> {
    width: usize,
    numbers: &'a mut [f32],
}

impl Take for Rows<'_> {
    fn take(&mut self, [x, y]: [usize; 2], samples: &[i16], corrections: &[i16]) {
        widest!(add(samples, corrections, &mut self.numbers[y * self.width + x..]));
    }
}

/// Rows of luma, and the colour differences at the same place.
struct Strip<'a, T> {
    filters: &'a Filters<'a>,
    significance: &'a [Vec<u8>; 3],
    frame: Frame<'a>,
    size: Size,
    rows: Range<usize>,
    out: [T; 3],
}

impl<T: Take> Strip<'_, T> {
    /// Filters some of its components, of one size.
    fn filter(&mut self, group: Range<usize>, samples: &Scratch<i16>) {
        let [width, height] = plane(self.size, group.start);
        let halved = group.start.min(1);
        let top = self.rows.start >> halved;
        let rows = (self.rows.len() + halved) >> halved;
        let across = blocks(width);
        samples.lend(Window::numbers(width, &group), |samples| {
            let mut samples = Arena(samples);
            let mut window = Window::new([width, height], group.clone(), top, &mut self.frame, &mut samples);
            for done in (0..rows).step_by(BLOCK_SIDE) {
                if done > 0 {
                    window.descend(&mut self.frame);
                }
                let first = (top + done) / BLOCK_SIDE * across;
                let mut significance: [&[u8]; 3] = Default::default();
                for component in group.clone() {
                    significance[component] = &self.significance[component][first..first + across];
                }
                window.filter(self.filters, significance, &mut Below { out: &mut self.out, done, rows });
            }
        });
    }
}

/// The part of a strip from row `done` on.
struct Below<'a, T> {
    out: &'a mut [T; 3],
    done: usize,
    /// The rows of the strip.
    rows: usize,
}

impl<T: Take> FilteredRows for Below<'_, T> {
    fn take(&mut self, component: usize, row: usize, first: usize, samples: &[i16], corrections: &[i16]) {
        let y = self.done + row;
        if y < self.rows {
            self.out[component].take([first, y], samples, corrections);
        }
    }
}

impl PlaneRows for Frame<'_> {
    fn row(&mut self, component: usize, y: usize, out: &mut [i16]) {
        match self.picture {
            Picture::Reference(reference) => widest!(refine(reference.planes[component].row(y), out)),
            Picture::Sum(residual) => {
                let residual = &residual[component][y * out.len()..];
                widest!(sum(self.predicted.planes[component].row(y), residual, out));
            }
        }
    }
}

impl Frame<'_> {
    /// Writes row `y` of a component into `out`, rounded.
    pub(super) fn bytes(&self, component: usize, y: usize, out: &mut [u8]) {
        match self.picture {
            Picture::Reference(reference) => widest!(bytes(reference.planes[component].row(y), out)),
            Picture::Sum(residual) => {
                let residual = &residual[component][y * out.len()..];
                widest!(sum_in_bytes(self.predicted.planes[component].row(y), residual, out));
            }
        }
    }

    /// Writes row `y` of a component into `out`, rounded to samples of `bits` bits.
    pub(super) fn deep_samples(&self, component: usize, y: usize, bits: u8, out: &mut [[u8; 2]]) {
        match self.picture {
            Picture::Reference(reference) => widest!(deep_samples(reference.planes[component].row(y), bits, out)),
            Picture::Sum(residual) => {
                let residual = &residual[component][y * out.len()..];
                widest!(sum_in_deep_samples(self.predicted.planes[component].row(y), residual, bits, out));
            }
        }
    }

    /// Writes row `y` of a component into `out`, in steps of samples, less 128.
    fn floats(&self, component: usize, y: usize, out: &mut [f32]) {
        match self.picture {
            Picture::Reference(reference) => widest!(in_steps(reference.planes[component].row(y), out)),
            Picture::Sum(residual) => {
                let residual = &residual[component][y * out.len()..];
                widest!(sum_in_steps(self.predicted.planes[component].row(y), residual, out));
            }
        }
    }
}

/// Goes from eighths to 1/64.
const FINER_BITS: u32 = post_filter::FRACTION_BITS - FRACTION_BITS;

/// Returns samples in 1/64 of steps, less 128.
#[inline(always)]
fn refine(samples: &[i16], out: &mut [i16]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = sample << FINER_BITS);
}

/// Adds in 1/64 of samples' steps, less 128.
#[inline(always)]
fn sum(predicted: &[i16], residual: &[i16], out: &mut [i16]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = predicted.saturating_add(*residual).clamp(MIN_SAMPLE, MAX_SAMPLE) << FINER_BITS;
    }
}

/// A reference's unit in steps of samples.
const SAMPLE_UNIT: f32 = 1.0 / (1 << FRACTION_BITS) as f32;

/// Returns samples in steps, less 128.
#[inline(always)]
fn in_steps(samples: &[i16], out: &mut [f32]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = f32::from(*sample) * SAMPLE_UNIT);
}

/// Adds in steps of samples, less 128.
#[inline(always)]
fn sum_in_steps(predicted: &[i16], residual: &[i16], out: &mut [f32]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = f32::from(predicted.saturating_add(*residual).clamp(MIN_SAMPLE, MAX_SAMPLE)) * SAMPLE_UNIT;
    }
}

/// Rounds samples of a reference or a prediction.
#[inline(always)]
pub(super) fn bytes(samples: &[i16], out: &mut [u8]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = eight_bits(*sample));
}

/// Rounds samples of a reference or a prediction to `bits` bits.
#[inline(always)]
pub(super) fn deep_samples(samples: &[i16], bits: u8, out: &mut [[u8; 2]]) {
    for (out, sample) in out.iter_mut().zip(samples) {
        *out = deep_sample(i32::from((*sample).clamp(MIN_SAMPLE, MAX_SAMPLE)) << (FINEST - FRACTION_BITS), bits);
    }
}

/// Adds and rounds to `bits` bits.
#[inline(always)]
fn sum_in_deep_samples(predicted: &[i16], residual: &[i16], bits: u8, out: &mut [[u8; 2]]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        let sum = predicted.saturating_add(*residual).clamp(MIN_SAMPLE, MAX_SAMPLE);
        *out = deep_sample(i32::from(sum) << (FINEST - FRACTION_BITS), bits);
    }
}

/// Adds and rounds.
#[inline(always)]
fn sum_in_bytes(predicted: &[i16], residual: &[i16], out: &mut [u8]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = eight_bits(predicted.saturating_add(*residual));
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
fn eight_bits(sample: i16) -> u8 {
    let sample = sample.clamp(MIN_SAMPLE, MAX_SAMPLE);
    (((sample + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS) + 128) as u8
}
