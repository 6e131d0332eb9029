//! Reference pictures: planes of YCbCr 4:2:0 in eighths of a sample's step, less 128.

use std::ops::Range;

use crate::motion::field::Source;
use crate::picture::Size;
use crate::simd::widest;

/// Fraction bits of a reference's samples.
pub(crate) const FRACTION_BITS: u32 = 3;
/// The smallest and greatest value of a reference's sample: 0 and 255.
pub(crate) const MIN_SAMPLE: i16 = -128 << FRACTION_BITS;
pub(crate) const MAX_SAMPLE: i16 = 127 << FRACTION_BITS;
/// The number of samples that continue a plane on every side.
pub(super) const BORDER_SAMPLES: usize = 32;

/// One plane; its outermost samples are continued on every side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Plane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(super) stride: usize,
    pub(super) samples: Vec<i16>,
}

impl Plane {
    /// Makes a plane whose samples are all 128.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let stride = width + 2 * BORDER_SAMPLES;
        Self { width, height, stride, samples: vec![0; stride * (height + 2 * BORDER_SAMPLES)] }
    }

    /// Returns a row without its continuation.
    pub(crate) fn row(&self, y: usize) -> &[i16] {
        &self.samples[(y + BORDER_SAMPLES) * self.stride + BORDER_SAMPLES..][..self.width]
    }

    /// Whether these columns, moved to the right by `x`, are in the plane or continue it, with all that interpolation
    /// reads.
    pub(super) fn reaches(&self, columns: &Range<isize>, x: i16) -> bool {
        let border = BORDER_SAMPLES.cast_signed();
        columns.start + isize::from(x) >= 4 - border
            && columns.end + isize::from(x) <= self.width.cast_signed() + border - 5
    }

    /// Returns a row without its continuation for writing. Call [`Plane::continue_borders`] afterwards.
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [i16] {
        &mut self.samples[(y + BORDER_SAMPLES) * self.stride + BORDER_SAMPLES..][..self.width]
    }

    /// Sets every sample to `value`, including those that continue the plane.
    pub(crate) fn fill(&mut self, value: i16) {
        self.samples.fill(value);
    }

    /// Returns all rows, to be written in strips from top to bottom.
    pub(crate) fn rows_mut(&mut self) -> RowsMut<'_> {
        RowsMut {
            width: self.width,
            stride: self.stride,
            above: BORDER_SAMPLES,
            below: BORDER_SAMPLES,
            samples: &mut self.samples,
        }
    }

    /// Copies the plane of a picture, whose rows begin `stride` samples apart.
    pub(crate) fn take_samples(&mut self, samples: &[u8], stride: usize) {
        for y in 0..self.height {
            widest!(widen(&samples[y * stride..], self.row_mut(y)));
        }
        self.continue_borders();
    }

    /// As [`Plane::take_samples`], of samples of `bits` bits, 9 to 16, in two bytes each.
    pub(crate) fn take_deep_samples(&mut self, samples: &[u8], stride: usize, bits: u8) {
        for y in 0..self.height {
            widest!(widen_deep(samples[y * stride..].as_chunks().0, bits, self.row_mut(y)));
        }
        self.continue_borders();
    }

    /// Continues the outermost samples on every side.
    pub(crate) fn continue_borders(&mut self) {
        let mut rows = self.rows_mut();
        (0..rows.count()).for_each(|row| rows.continue_row(row));
        rows.continue_plane();
    }
}

/// Some rows of a plane, for writing, with what continues them.
pub(crate) struct RowsMut<'a> {
    width: usize,
    stride: usize,
    /// Rows that continue the plane above and below these; 0 within the plane.
    above: usize,
    below: usize,
    samples: &'a mut [i16],
}

impl<'a> RowsMut<'a> {
    /// The number of the plane's rows among them.
    pub(crate) const fn count(&self) -> usize {
        self.samples.len() / self.stride - self.above - self.below
    }

    /// The plane's width.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Takes the first `count` rows.
    ///
    /// # Panics
    /// If there are fewer.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let left = self.count() - count;
        let below = if left == 0 { std::mem::take(&mut self.below) } else { 0 };
        let above = std::mem::take(&mut self.above);
        let samples = self.samples.split_off_mut(..(above + count + below) * self.stride).unwrap_or_default();
        RowsMut { above, below, samples, ..*self }
    }

    /// Returns a row without its continuation.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [i16] {
        &mut self.samples[(self.above + row) * self.stride + BORDER_SAMPLES..][..self.width]
    }

    /// Continues a row to the left and right.
    pub(crate) fn continue_row(&mut self, row: usize) {
        let row = &mut self.samples[(self.above + row) * self.stride..][..self.stride];
        let first = row[BORDER_SAMPLES];
        let last = row[BORDER_SAMPLES + self.width - 1];
        row[..BORDER_SAMPLES].fill(first);
        row[BORDER_SAMPLES + self.width..].fill(last);
    }

    /// Continues the plane above and below, if these rows are its outermost.
    pub(crate) fn continue_plane(&mut self) {
        let Self { stride, above, below, .. } = *self;
        let end = above + self.count();
        for y in 0..above {
            self.samples.copy_within(above * stride..(above + 1) * stride, y * stride);
        }
        for y in end..end + below {
            self.samples.copy_within((end - 1) * stride..end * stride, y * stride);
        }
    }
}

/// Luma and both colour differences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reference {
    pub(crate) planes: [Plane; 3],
}

/// One value for each of the two past pictures from which a block may be predicted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Past<T> {
    /// The value of the last picture.
    pub(crate) last: T,
    /// The value that `last` had for the frame before.
    pub(crate) before: T,
}

impl<T> Past<T> {
    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> Past<U> {
        Past { last: of(self.last), before: of(self.before) }
    }
}

/// One value for each kind of reference.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BySource<T> {
    pub(crate) enhancement_reference: T,
    pub(crate) base_reference: T,
}

impl<T> BySource<T> {
    /// Returns the value of the reference into which a block's vectors point; blocks without vectors do not use it.
    pub(crate) const fn of(&self, source: Source) -> &T {
        match source {
            Source::EnhancementReference => &self.enhancement_reference,
            Source::BaseReference | Source::Constant => &self.base_reference,
        }
    }

    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> BySource<U> {
        BySource { enhancement_reference: of(self.enhancement_reference), base_reference: of(self.base_reference) }
    }
}

impl Reference {
    /// Becomes the same picture as one of the same size, in its own memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        for (own, other) in self.planes.iter_mut().zip(&other.planes) {
            own.samples.copy_from_slice(&other.samples);
        }
    }

    /// Makes a picture whose samples are all 128.
    pub(crate) fn new(size: Size) -> Self {
        let width = size.width();
        let height = size.height();
        let chroma = Plane::new(width.div_ceil(2), height.div_ceil(2));
        Self { planes: [Plane::new(width, height), chroma.clone(), chroma] }
    }
}

#[inline(always)]
fn widen(samples: &[u8], out: &mut [i16]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION_BITS);
}

/// As [`widen`], of samples of 9 to 16 bits, rounded to the nearest 1/8 of a step. Returns whether `out` had these.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "at most MAX_SAMPLE")]
pub(crate) fn widen_deep(samples: &[[u8; 2]], bits: u8, out: &mut [i16]) -> bool {
    // In 1/256 of a step, so that all depths are rounded in the same way.
    let finer = 16 - bits;
    const SHIFT: u32 = 8 - FRACTION_BITS;
    let mut differs = 0;
    for (out, sample) in out.iter_mut().zip(samples) {
        let fine = i32::from(u16::from_le_bytes(*sample)) << finer;
        let nearest = (fine + (1 << (SHIFT - 1))) >> SHIFT;
        let value = (nearest + i32::from(MIN_SAMPLE)).min(MAX_SAMPLE.into()) as i16;
        differs |= value ^ *out;
        *out = value;
    }
    differs == 0
}

/// Sets `out` to the sum of a prediction and a residual, within the range of samples.
#[inline(always)]
pub(crate) fn add(predicted: &[i16], residual: &[i16], out: &mut [i16]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = predicted.saturating_add(*residual).clamp(MIN_SAMPLE, MAX_SAMPLE);
    }
}

/// As [`add`], to the prediction in `out`.
#[inline(always)]
pub(crate) fn add_to(residual: &[i16], out: &mut [i16]) {
    for (out, residual) in out.iter_mut().zip(residual) {
        *out = out.saturating_add(*residual).clamp(MIN_SAMPLE, MAX_SAMPLE);
    }
}
