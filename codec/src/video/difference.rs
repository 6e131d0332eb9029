//! A frame's samples less their prediction, weighted by age, row by row as the wavelet asks for them.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::motion::field::{BLOCK_SIDE, Field, PARTITION_SIDE};
use crate::motion::reference::Reference;
use crate::residual::analysis::{Source, steps_of_samples};
use crate::residual::planes::Planes420;
use crate::simd::widest;
use crate::video::ages::{Gain, Gains};
use crate::video::strip::squared_error;

/// The greatest mean squared error, in squares of 1/8 of a step, of a refreshed block that a picture that stays leaves
/// as it is: half a step.
const MAX_LEFT_OUT: u64 = 16;
/// As [`MAX_LEFT_OUT`], of any other block: one step. If all blocks are as good, there is nothing to code.
const MAX_NEAR: u64 = 64;

/// The blocks of a picture that stays that are predicted so well that their residual is left out.
#[derive(Default)]
pub(super) struct SkippedBlocks {
    across: usize,
    /// The squared errors of blocks, in luma and both colour differences together.
    errors: Vec<u64>,
    left_out: Vec<bool>,
}

impl SkippedBlocks {
    /// Compares the source with its prediction in a frame of this phase. Returns whether all blocks are predicted so well
    /// that nothing need be coded.
    pub(super) fn compare(&mut self, source: &Planes420<i16>, predicted: &Reference, phase: u8) -> bool {
        let [across, down] = Field::grid(source.size());
        let Self { errors, left_out, .. } = self;
        self.across = across;
        errors.clear();
        errors.resize(across * down, 0);
        let planes = source.planes();
        for (number, (samples, predicted)) in planes.iter().zip(&predicted.planes).enumerate() {
            let side = if number == 0 { BLOCK_SIDE } else { PARTITION_SIDE };
            for (y, row) in samples.chunks_exact(predicted.width).enumerate() {
                let of_row = &mut errors[y / side * across..][..across];
                widest!(add_errors(row, predicted.row(y), side, of_row));
            }
        }
        let refreshed = Field::refreshed(across * down, phase.into());
        let most = |mean: u64| mean * (BLOCK_SIDE * BLOCK_SIDE) as u64;
        let allowed = |at| most(if refreshed.contains(&at) { MAX_LEFT_OUT } else { MAX_NEAR });
        left_out.clear();
        left_out.extend(errors.iter().enumerate().map(|(at, error)| *error <= allowed(at)));
        errors.iter().all(|error| *error <= most(MAX_NEAR))
    }

    /// Sets the samples of these blocks in row `y` of a plane to zero.
    fn leave_out(&self, plane: usize, y: usize, row: &mut [f32]) {
        let side = if plane == 0 { BLOCK_SIDE } else { PARTITION_SIDE };
        let blocks = &self.left_out[y / side * self.across..][..self.across];
        for (samples, _) in row.chunks_mut(side).zip(blocks).filter(|(_, is_left_out)| **is_left_out) {
            samples.fill(0.0);
        }
    }
}

#[inline(always)]
fn add_errors(source: &[i16], predicted: &[i16], side: usize, errors: &mut [u64]) {
    for ((source, predicted), error) in source.chunks(side).zip(predicted.chunks(side)).zip(errors) {
        *error += squared_error(source, predicted);
    }
}

/// The residual of a frame.
pub(super) struct Difference<'a> {
    source: &'a Planes420<i16>,
    predicted: &'a Reference,
    /// `None`: without weights.
    gains: Option<Gains>,
    /// The blocks that are left out, if there are any.
    skipped: Option<&'a SkippedBlocks>,
    /// The squared error of the prediction of luma.
    error: AtomicU64,
}

impl<'a> Difference<'a> {
    pub(super) const fn new(
        source: &'a Planes420<i16>,
        predicted: &'a Reference,
        gains: Option<Gains>,
        skipped: Option<&'a SkippedBlocks>,
    ) -> Self {
        Self { source, predicted, gains, skipped, error: AtomicU64::new(0) }
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
        if let Some(skipped) = &self.skipped {
            skipped.leave_out(plane, y, out);
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
fn weigh(source: &[i16], predicted: &[i16], gain: Gain, out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(source).zip(predicted) {
        *out = steps_of_samples(gain.times(a - b));
    }
}
