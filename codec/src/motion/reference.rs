//! Pictures that others are predicted from: planes of YCbCr 4:2:0 in eighths of a sample's step, less 128.

use std::ops::RangeInclusive;

use crate::motion::field::Source;
use crate::picture::Size;
use crate::simd::widest;

/// Bits behind the point of a reference's samples.
pub(crate) const FRACTION: u32 = 3;
/// Least and greatest value of a reference's sample: 0 and 255.
pub(crate) const LEAST: i16 = -128 << FRACTION;
pub(crate) const GREATEST: i16 = 127 << FRACTION;
/// Samples by which a plane is continued on every side.
pub(super) const BORDER: usize = 32;

/// One plane, its outermost samples continued on every side.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Plane {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(super) stride: usize,
    pub(super) samples: Vec<i16>,
}

impl Plane {
    /// All samples 128.
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let stride = width + 2 * BORDER;
        Self { width, height, stride, samples: vec![0; stride * (height + 2 * BORDER)] }
    }

    /// A row without its continuation.
    pub(crate) fn row(&self, y: usize) -> &[i16] {
        &self.samples[(y + BORDER) * self.stride + BORDER..][..self.width]
    }

    /// A row without its continuation. [`Plane::continue_borders`] must follow.
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [i16] {
        &mut self.samples[(y + BORDER) * self.stride + BORDER..][..self.width]
    }

    /// Makes every sample this, also those that continue the plane.
    pub(crate) fn fill(&mut self, value: i16) {
        self.samples.fill(value);
    }

    /// Makes this `enhanced`, moved by a 32nd of its distance towards `floor`.
    pub(crate) fn leak(&mut self, enhanced: &Self, floor: &Self) {
        widest!(leak(&enhanced.samples, &floor.samples, &mut self.samples));
    }

    /// Makes this the sum of a prediction and a residual, which has no borders, held to `range`.
    pub(crate) fn sum_of(&mut self, predicted: &Self, residual: &[i16], range: RangeInclusive<i16>) {
        let (least, greatest) = range.into_inner();
        for (y, residual) in residual.chunks_exact(self.width).enumerate() {
            widest!(add(predicted.row(y), residual, [least, greatest], self.row_mut(y)));
        }
        self.continue_borders();
    }

    /// Makes this the plane of a picture, whose rows begin `stride` samples apart.
    pub(crate) fn take_samples(&mut self, samples: &[u8], stride: usize) {
        for y in 0..self.height {
            widest!(widen(&samples[y * stride..], self.row_mut(y)));
        }
        self.continue_borders();
    }

    /// Continues the outermost samples on every side.
    pub(crate) fn continue_borders(&mut self) {
        let stride = self.stride;
        let width = self.width;
        for row in self.samples.chunks_exact_mut(stride).skip(BORDER).take(self.height) {
            let first = row[BORDER];
            let last = row[BORDER + width - 1];
            row[..BORDER].fill(first);
            row[BORDER + width..].fill(last);
        }
        let top = BORDER * stride;
        let bottom = (BORDER + self.height - 1) * stride;
        for y in 0..BORDER {
            self.samples.copy_within(top..top + stride, y * stride);
            self.samples.copy_within(bottom..bottom + stride, (BORDER + self.height + y) * stride);
        }
    }
}

/// Luma and both colour differences.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Reference {
    pub(crate) planes: [Plane; 3],
}

/// What there is of the two past pictures that a block may be predicted from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Past<T> {
    /// Of the last picture.
    pub(crate) last: T,
    /// Of what that was for the frame before.
    pub(crate) before: T,
}

impl<T> Past<T> {
    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> Past<U> {
        Past { last: of(self.last), before: of(self.before) }
    }
}

/// What there is of both kinds of reference.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BySource<T> {
    pub(crate) enhanced: T,
    pub(crate) floor: T,
}

impl<T> BySource<T> {
    /// That of the reference that a block's vectors point into; of a block without vectors, source constant, nothing is read.
    pub(crate) const fn of(&self, source: Source) -> &T {
        match source {
            Source::Enhanced => &self.enhanced,
            Source::Floor | Source::Constant => &self.floor,
        }
    }

    pub(crate) fn map<U>(self, of: impl Fn(T) -> U) -> BySource<U> {
        BySource { enhanced: of(self.enhanced), floor: of(self.floor) }
    }
}

impl Reference {
    /// All samples 128.
    pub(crate) fn new(size: Size) -> Self {
        let width = size.width();
        let height = size.height();
        let chroma = Plane::new(width.div_ceil(2), height.div_ceil(2));
        Self { planes: [Plane::new(width, height), chroma.clone(), chroma] }
    }
}

#[inline(always)]
fn widen(samples: &[u8], out: &mut [i16]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION);
}

#[inline(always)]
fn leak(enhanced: &[i16], floor: &[i16], out: &mut [i16]) {
    for ((out, enhanced), floor) in out.iter_mut().zip(enhanced).zip(floor) {
        // floor + ((31 * (enhanced - floor) + 16) >> 5), in 16 bits.
        *out = enhanced + ((16 - (enhanced - floor)) >> 5);
    }
}

#[inline(always)]
fn add(predicted: &[i16], residual: &[i16], [least, greatest]: [i16; 2], out: &mut [i16]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = predicted.saturating_add(*residual).clamp(least, greatest);
    }
}
