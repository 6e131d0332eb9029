//! Rows of a residual as its synthesis makes them: taken back from their weights and added to the prediction while they
//! are in the cache.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::motion::reference::{MAX_SAMPLE, MIN_SAMPLE, Plane, RowsMut, add, add_to};
use crate::residual::synthesis::{Fine, Rows, round};
use crate::simd::widest;
use crate::video::ages::Gains;

/// Samples whose squared errors are summed in 32 bits.
const CHUNK_SAMPLES: usize = 256;
/// The greatest difference of two samples.
const MAX_DIFFERENCE: i32 = (MAX_SAMPLE - MIN_SAMPLE) as i32;
const _: () = assert!(CHUNK_SAMPLES as i64 * (MAX_DIFFERENCE as i64 * MAX_DIFFERENCE as i64) < 1 << 31);

/// Where the rows of a residual go.
#[derive(Default)]
pub(super) struct Targets<'a> {
    /// The gains that undo the residual's weights, if it has them.
    pub(super) gains: Option<&'a Gains>,
    /// The planes that keep the residual; empty if none does.
    pub(super) residual: [&'a mut [i16]; 3],
    /// The reference that becomes the sum, with its prediction.
    pub(super) reference: Option<[(RowsMut<'a>, &'a Plane); 3]>,
    /// The source's luma and the sum of squared errors against it.
    pub(super) error: Option<(&'a [i16], &'a AtomicU64)>,
}

impl<'a> Targets<'a> {
    /// Returns the next rows of a plane.
    pub(super) fn split_off(&mut self, plane: usize, rows: Range<usize>, width: usize) -> Strip<'a> {
        let (reference, predicted) = match &mut self.reference {
            Some(planes) => {
                let (reference, predicted) = &mut planes[plane];
                (Some(reference.split_off(rows.len())), Some(*predicted))
            }
            None => (None, None),
        };
        Strip {
            plane,
            width,
            gains: self.gains,
            residual: self.residual[plane].split_off_mut(..rows.len() * width).unwrap_or_default(),
            reference: reference.zip(predicted),
            error: self.error.filter(|_| plane == 0),
            sum: 0,
            first: rows.start,
        }
    }
}

/// Some rows of a plane.
pub(super) struct Strip<'a> {
    plane: usize,
    width: usize,
    first: usize,
    gains: Option<&'a Gains>,
    residual: &'a mut [i16],
    reference: Option<(RowsMut<'a>, &'a Plane)>,
    error: Option<(&'a [i16], &'a AtomicU64)>,
    /// Of squared errors.
    sum: u64,
}

impl Strip<'_> {
    #[inline(always)]
    fn row<T: Fine>(&mut self, y: usize, samples: &[T]) {
        let row = y - self.first;
        let mut kept = self.residual.chunks_exact_mut(self.width).nth(row);
        if let Some(residual) = kept.as_deref_mut() {
            round(samples, residual);
            if let Some(gains) = self.gains {
                gains.scale(self.plane, y, residual);
            }
        }
        let Some((reference, predicted)) = &mut self.reference else { return };
        let out = reference.row_mut(row);
        if let Some(residual) = kept {
            add(predicted.row(y), residual, out);
        } else {
            round(samples, out);
            if let Some(gains) = self.gains {
                gains.scale(self.plane, y, out);
            }
            add_to(predicted.row(y), out);
        }
        if let Some((source, _)) = self.error {
            self.sum += squared_error(&source[y * self.width..][..self.width], out);
        }
        reference.continue_row(row);
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
