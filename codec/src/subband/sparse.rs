//! Subbands that are mostly zero, with their segments that are not.

use std::ops::Range;

use crate::picture::Size;
use crate::subband::coefficients::{self, as_slices};
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::segments::{self, Segments, runs};

/// All subbands of a picture.
#[derive(Debug, Default)]
pub(crate) struct SparseBands<T> {
    /// By subband: row by row; empty if the picture does not have the subband.
    values: Vec<Vec<T>>,
    /// By subband and row, the segments with all values that are not zero.
    occupied: Vec<Vec<Segments>>,
    /// The picture's size and chroma.
    shape: Option<(Size, ChromaFormat)>,
}

/// The rows of one slice in one subband.
#[derive(Debug, Default)]
pub(crate) struct SparseRows<'a, T> {
    values: &'a mut [T],
    occupied: &'a mut [Segments],
    width: usize,
    /// Values in a segment.
    segment: usize,
}

impl<T: Copy + Default> SparseBands<T> {
    /// Makes these the subbands of such a picture, in the same memory if it is like the last. What they contain is
    /// arbitrary but consistent.
    pub(crate) fn reset(&mut self, size: Size, chroma: ChromaFormat) {
        if self.shape.replace((size, chroma)) == Some((size, chroma)) {
            return;
        }
        let count = |index: usize| coefficients::count(index, size, chroma);
        // The system returns new memory as zeros, so it is not written to.
        self.values = (0..SUBBAND_COUNT).map(|index| vec![T::default(); count(index)]).collect();
        let rows =
            |index: usize| if count(index) > 0 { Subband::at(index).size(size.width(), size.height()).1 } else { 0 };
        self.occupied = (0..SUBBAND_COUNT).map(|index| vec![0; rows(index)]).collect();
    }

    /// Returns the values by subband, and the occupied segments by subband and row.
    pub(crate) fn parts(&self) -> (&[Vec<T>], &[Vec<Segments>]) {
        (&self.values, &self.occupied)
    }

    /// Returns the rows of each slice in every subband. `slices` are the slices' pixel rows from the top down without a
    /// gap.
    pub(crate) fn slices_mut<'a>(
        &'a mut self,
        size: Size,
        slices: impl Iterator<Item = Range<usize>> + Clone + 'a,
    ) -> impl Iterator<Item = [SparseRows<'a, T>; SUBBAND_COUNT]> + 'a {
        let Self { values, occupied, .. } = self;
        let pixels = segments::pixels(size.width());
        let mut rest: [&mut [Segments]; SUBBAND_COUNT] = as_slices(occupied);
        let values = coefficients::slices_mut(values, size, slices.clone());
        values.zip(slices).map(move |(values, slice)| {
            let mut values = values.into_iter();
            std::array::from_fn(|index| {
                let subband = Subband::at(index);
                let rows = layout::rows(subband, size.height(), &slice).len().min(rest[index].len());
                SparseRows {
                    values: values.next().unwrap_or_default(),
                    occupied: rest[index].split_off_mut(..rows).unwrap_or_default(),
                    width: subband.size(size.width(), size.height()).0,
                    segment: pixels >> subband.level,
                }
            })
        })
    }
}

impl<T: Copy + Default> SparseRows<'_, T> {
    /// Sets all values to zero.
    pub(crate) fn clear(&mut self) {
        let Self { values, occupied, width, segment } = self;
        for (row, occupied) in values.chunks_mut((*width).max(1)).zip(occupied.iter_mut()) {
            for run in runs(std::mem::take(occupied)) {
                let end = row.len().min(run.end * *segment);
                row[run.start * *segment..end].fill(T::default());
            }
        }
    }

    /// Sets the value in this column and row.
    pub(crate) fn set(&mut self, [x, y]: [usize; 2], value: T) {
        self.values[y * self.width + x] = value;
        self.occupied[y] |= 1 << (x / self.segment);
    }
}
