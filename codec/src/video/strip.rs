//! Rows of a residual as its synthesis makes them: taken back from their weights and added to the prediction while they
//! are in the cache.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::Model;
use crate::motion::reference::{MAX_SAMPLE, MIN_SAMPLE, Plane, RowsMut, add, add_to};
use crate::picture::Size;
use crate::residual::decoder::ResidualDecoder;
use crate::residual::synthesis::{Fine, Rows};
use crate::simd::widest;
use crate::video::ages::{Gain, Gains};

/// Samples whose squared errors are summed in 32 bits.
const CHUNK_SAMPLES: usize = 256;
/// The greatest difference of two samples.
const MAX_DIFFERENCE: i32 = (MAX_SAMPLE - MIN_SAMPLE) as i32;
const _: () = assert!(CHUNK_SAMPLES as i64 * (MAX_DIFFERENCE as i64 * MAX_DIFFERENCE as i64) < 1 << 31);

/// The planes of a reference that become the sum of a prediction and a residual: their rows, and the prediction unless
/// the rows hold it.
pub(super) type NextPlanes<'a> = [(RowsMut<'a>, Option<&'a Plane>); 3];

/// Where the rows of a residual go.
#[derive(Default)]
pub(super) struct Targets<'a> {
    /// The gains that undo the residual's weights, if it has them.
    pub(super) gains: Option<&'a Gains>,
    /// The planes that keep the residual; empty if none does.
    pub(super) residual: [&'a mut [i16]; 3],
    /// The reference that becomes the sum.
    pub(super) reference: Option<NextPlanes<'a>>,
    /// The source's luma and the sum of squared errors against it.
    pub(super) error: Option<(&'a [i16], &'a AtomicU64)>,
}

impl<'a> Targets<'a> {
    /// Returns the next rows of a plane.
    fn split_off(&mut self, plane: usize, rows: Range<usize>, width: usize) -> Strip<'a> {
        let reference = self.reference.as_mut().map(|planes| {
            let (reference, predicted) = &mut planes[plane];
            (reference.split_off(rows.len()), *predicted)
        });
        Strip {
            plane,
            width,
            gains: self.gains,
            residual: self.residual[plane].split_off_mut(..rows.len() * width).unwrap_or_default(),
            reference,
            error: self.error.filter(|_| plane == 0),
            sum: 0,
            first: rows.start,
        }
    }
}

/// Makes the residual of the bytes that a decoder got, for these targets.
pub(super) fn synthesise(decoder: &mut ResidualDecoder, model: &Model, size: Size, mut targets: Targets<'_>) {
    let widths = [size.width(), size.halved().width(), size.halved().width()];
    decoder.residual(model, |plane, rows| targets.split_off(plane, rows, widths[plane]));
}

/// Some rows of a plane.
pub(super) struct Strip<'a> {
    plane: usize,
    width: usize,
    first: usize,
    gains: Option<&'a Gains>,
    residual: &'a mut [i16],
    reference: Option<(RowsMut<'a>, Option<&'a Plane>)>,
    error: Option<(&'a [i16], &'a AtomicU64)>,
    /// Of squared errors.
    sum: u64,
}

impl Strip<'_> {
    #[inline(always)]
    fn row<T: Fine>(&mut self, y: usize, samples: &[T]) {
        let Self { plane, width, gains, residual, reference, .. } = self;
        let row = y - self.first;
        let mut kept = residual.chunks_exact_mut(*width).nth(row);
        let predicted = reference.as_ref().and_then(|(_, predicted)| *predicted).map(|predicted| predicted.row(y));
        let mut out = reference.as_mut().map(|(reference, _)| reference.row_mut(row));
        let all = gains.is_none().then_some((0..*width, Gain::ONE));
        let parts = gains.map(|gains| gains.parts(*plane, y, *width)).into_iter().flatten();
        for (columns, gain) in parts.chain(all) {
            let samples = &samples[columns.clone()];
            let predicted = predicted.map(|predicted| &predicted[columns.clone()]);
            let out = out.as_deref_mut().map(|out| &mut out[columns.clone()]);
            let kept = kept.as_deref_mut().map(|kept| &mut kept[columns.clone()]);
            match (kept, out, predicted) {
                (None, Some(out), Some(predicted)) => sum(samples, gain, predicted, out),
                (None, Some(out), None) => sum_to(samples, gain, out),
                (Some(kept), out, predicted) => {
                    scale(samples, gain, kept);
                    match (out, predicted) {
                        (Some(out), Some(predicted)) => add(predicted, kept, out),
                        (Some(out), None) => add_to(kept, out),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        if let (Some((source, _)), Some(out)) = (self.error, out) {
            self.sum += squared_error(&source[y * *width..][..*width], out);
        }
        if let Some((reference, _)) = reference {
            reference.continue_row(row);
        }
    }
}

#[inline(always)]
fn scale<T: Fine>(samples: &[T], gain: Gain, out: &mut [i16]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = gain.times(sample.residual()));
}

/// Adds a residual to its prediction, within the range of samples.
#[inline(always)]
fn sum<T: Fine>(samples: &[T], gain: Gain, predicted: &[i16], out: &mut [i16]) {
    for ((out, predicted), sample) in out.iter_mut().zip(predicted).zip(samples) {
        *out = predicted.saturating_add(gain.times(sample.residual())).clamp(MIN_SAMPLE, MAX_SAMPLE);
    }
}

/// As [`sum`], to the prediction in `out`.
#[inline(always)]
fn sum_to<T: Fine>(samples: &[T], gain: Gain, out: &mut [i16]) {
    for (out, sample) in out.iter_mut().zip(samples) {
        *out = out.saturating_add(gain.times(sample.residual())).clamp(MIN_SAMPLE, MAX_SAMPLE);
    }
}

impl Rows for Strip<'_> {
    fn take<T: Fine>(&mut self, y: usize, samples: &[T]) {
        widest!(self.row(y, samples));
    }

    fn finish(&mut self) {
        if let Some((reference, _)) = &mut self.reference {
            reference.continue_plane();
        }
        if let Some((_, error)) = self.error {
            error.fetch_add(self.sum, Ordering::Relaxed);
        }
    }
}

/// Returns the squared error of samples against others.
#[inline(always)]
pub(super) fn squared_error(a: &[i16], b: &[i16]) -> u64 {
    let mut sum = 0;
    for (a, b) in a.chunks(CHUNK_SAMPLES).zip(b.chunks(CHUNK_SAMPLES)) {
        let mut chunk = 0;
        for (a, b) in a.iter().zip(b) {
            let difference = i32::from(a.wrapping_sub(*b));
            chunk += difference * difference;
        }
        sum += u64::from(chunk.cast_unsigned());
    }
    sum
}
