//! A frame's samples less their prediction, weighted by age, row by row as the wavelet asks for them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::motion::reference::Reference;
use crate::residual::analysis::{Source, steps_of_samples};
use crate::residual::planes::Planes420;
use crate::simd::widest;
use crate::video::ages::{Gains, scaled};
use crate::video::strip::squared_error;

/// The residual of a frame.
pub(super) struct Difference<'a> {
    source: &'a Planes420<i16>,
    predicted: &'a Reference,
    /// `None`: without weights.
    gains: Option<Gains>,
    /// The squared error of the prediction of luma.
    error: AtomicU64,
}

impl<'a> Difference<'a> {
    pub(super) const fn new(source: &'a Planes420<i16>, predicted: &'a Reference, gains: Option<Gains>) -> Self {
        Self { source, predicted, gains, error: AtomicU64::new(0) }
    }

    /// Returns the squared error of the prediction of luma, once every row was asked for.
    pub(super) fn error(self) -> u64 {
        self.error.into_inner()
    }

    #[inline(always)]
    fn fill(&self, plane: usize, y: usize, is_own: bool, out: &mut [f32]) {
        let width = out.len();
        let source = &self.source.planes()[plane][y * width..][..width];
        let predicted = self.predicted.planes[plane].row(y);
        if let Some(gains) = &self.gains {
            for (columns, gain) in gains.parts(plane, y, width) {
                weigh(&source[columns.clone()], &predicted[columns.clone()], gain, &mut out[columns]);
            }
        } else {
            for ((out, a), b) in out.iter_mut().zip(source).zip(predicted) {
                *out = steps_of_samples(a - b);
            }
        }
        if is_own && plane == 0 {
            self.error.fetch_add(squared_error(source, predicted), Ordering::Relaxed);
        }
    }
}

impl Source for Difference<'_> {
    fn row(&self, plane: usize, y: usize, is_own: bool, out: &mut [f32]) {
        widest!(self.fill(plane, y, is_own, out));
    }
}

#[inline(always)]
fn weigh(source: &[i16], predicted: &[i16], gain: i16, out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(source).zip(predicted) {
        *out = steps_of_samples(scaled(a - b, gain));
    }
}
