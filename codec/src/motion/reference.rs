//! Reference pictures: planes of YCbCr 4:2:0 in eighths of a sample's step, less 128.

use std::ops::RangeInclusive;

use crate::motion::field::Source;
use crate::picture::Size;
use crate::simd::widest;

/// Fraction bits of a reference's samples.
pub(crate) const FRACTION: u32 = 3;
/// The smallest and greatest value of a reference's sample: 0 and 255.
pub(crate) const LEAST: i16 = -128 << FRACTION;
pub(crate) const GREATEST: i16 = 127 << FRACTION;
/// The number of samples that continue a plane on every side.
pub(super) const BORDER: usize = 32;

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
        let stride = width + 2 * BORDER;
        Self { width, height, stride, samples: vec![0; stride * (height + 2 * BORDER)] }
    }

    /// Returns a row without its continuation.
    pub(crate) fn row(&self, y: usize) -> &[i16] {
        &self.samples[(y + BORDER) * self.stride + BORDER..][..self.width]
    }

    /// Returns a row without its continuation for writing. Call [`Plane::continue_borders`] afterwards.
    pub(crate) fn row_mut(&mut self, y: usize) -> &mut [i16] {
        &mut self.samples[(y + BORDER) * self.stride + BORDER..][..self.width]
    }

    /// Sets every sample to `value`, including those that continue the plane.
    pub(crate) fn fill(&mut self, value: i16) {
        self.samples.fill(value);
    }

    /// Sets this to `enhancement_reference`, moved by a 32nd of its distance towards `base_reference`.
    pub(crate) fn leak(&mut self, enhancement_reference: &Self, base_reference: &Self) {
        widest!(leak(&enhancement_reference.samples, &base_reference.samples, &mut self.samples));
    }

    /// Sets this to the sum of a prediction and a residual, which has no borders, clamped to `range`.
    pub(crate) fn sum_of(&mut self, predicted: &Self, residual: &[i16], range: RangeInclusive<i16>) {
        let (least, greatest) = range.into_inner();
        for (y, residual) in residual.chunks_exact(self.width).enumerate() {
            widest!(add(predicted.row(y), residual, [least, greatest], self.row_mut(y)));
        }
        self.continue_borders();
    }

    /// Copies the plane of a picture, whose rows begin `stride` samples apart.
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
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION);
}

#[inline(always)]
fn leak(enhancement_reference: &[i16], base_reference: &[i16], out: &mut [i16]) {
    for ((out, enhancement_reference), base_reference) in out.iter_mut().zip(enhancement_reference).zip(base_reference)
    {
        // floor + ((31 * (enhanced - floor) + 16) >> 5), in 16 bits.
        *out = enhancement_reference + ((16 - (enhancement_reference - base_reference)) >> 5);
    }
}

#[inline(always)]
fn add(predicted: &[i16], residual: &[i16], [least, greatest]: [i16; 2], out: &mut [i16]) {
    for ((out, predicted), residual) in out.iter_mut().zip(predicted).zip(residual) {
        *out = predicted.saturating_add(*residual).clamp(least, greatest);
    }
}
