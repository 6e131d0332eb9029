//! A picture as the coefficients of its subbands.

use std::ops::Range;

use crate::colour::axes::Axes;
use crate::error::{Error, ModelId};
use crate::picture::{Channels, Size};
use crate::subband::gains;
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::region_activity::RegionActivity;

/// The transformed picture: one band of numbers per subband, in the model's own scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// The model whose scale the numbers have.
    pub model: ModelId,
    /// Size of the picture.
    pub size: Size,
    /// Grey pictures have no chroma subbands.
    pub channels: Channels,
    /// The colour axes of the components.
    pub axes: Axes,
    /// By subband in the order of the stream: row-major, [`Subband::size`] wide and high; empty if the picture does not
    /// have the subband.
    pub subbands: Vec<Vec<f32>>,
    /// By component, for each block of 4 x 4 pixels, row by row: 4 less the finest of levels 1 to 3 that has a
    /// significant coefficient at that place, 0 if none has. Empty for all components if the coefficients were not
    /// decoded from a stream, or if the model has no post-filter.
    pub significance: Vec<Vec<u8>>,
    /// What a network of the analysis found of each region of 32 x 32 pixels, row by row; empty if there is none. An encoder
    /// with activity masking then measures the regions itself.
    pub activity: Vec<RegionActivity>,
}

/// Belongs to no model and no picture; callers reset it.
impl Default for Coefficients {
    fn default() -> Self {
        let size = Size::ONE;
        let channels = Channels::Grey;
        let subbands = Vec::new();
        let significance = Vec::new();
        let activity = Vec::new();
        Self { model: ModelId([0; 6]), size, channels, axes: Axes::default(), subbands, significance, activity }
    }
}

impl Coefficients {
    /// Makes these the coefficients of such a picture, with arbitrary values and without significance and activity, in the
    /// same memory.
    pub fn reset(&mut self, model: ModelId, size: Size, channels: Channels, axes: Axes) {
        self.reset_some(model, size, channels, axes);
    }

    /// As [`Coefficients::reset`]. Returns, by subband, whether its coefficients can be other than zero.
    pub(crate) fn reset_some(
        &mut self,
        model: ModelId,
        size: Size,
        channels: Channels,
        axes: Axes,
    ) -> [bool; SUBBAND_COUNT] {
        (self.model, self.size, self.channels, self.axes) = (model, size, channels, axes);
        self.significance.iter_mut().for_each(Vec::clear);
        self.activity.clear();
        resize(&mut self.subbands, |index| count(index, size, channels.into()))
    }

    /// As [`Coefficients::reset`], with every coefficient zero.
    pub fn reset_to_zero(&mut self, model: ModelId, size: Size, channels: Channels, axes: Axes) {
        self.subbands.iter_mut().for_each(Vec::clear);
        self.reset(model, size, channels, axes);
    }

    /// Checks that these coefficients belong to `model` and have as many numbers as the picture's size and channels
    /// fix.
    ///
    /// # Errors
    /// [`Error::Model`] for another model, [`Error::Argument`] for a wrong number of coefficients or of activities.
    pub fn check(&self, model: ModelId) -> Result<(), Error> {
        if self.model != model {
            return Err(Error::Model { needed: self.model, given: model });
        }
        let mut counts = (0..SUBBAND_COUNT).map(|index| count(index, self.size, self.channels.into()));
        let fits = self.subbands.len() == SUBBAND_COUNT
            && self.subbands.iter().all(|values| counts.next() == Some(values.len()));
        if !fits {
            return Err(Error::Argument("a subband does not have the coefficients that the picture's size fixes"));
        }
        let (across, down) = gains::count(self.size.width(), self.size.height());
        if !self.activity.is_empty() && self.activity.len() != across * down {
            return Err(Error::Argument("the activity is not that of each region that the picture's size fixes"));
        }
        Ok(())
    }

    /// Sets all significance to none, for a picture of `count` blocks.
    pub(crate) fn reset_significance(&mut self, count: usize) {
        self.significance.resize_with(self.channels.count(), Vec::new);
        for component in &mut self.significance {
            component.clear();
            component.resize(count, 0);
        }
    }

    /// Borrows the subbands for coding.
    pub(crate) fn bands(&self) -> Bands<'_> {
        Bands { size: self.size, chroma: self.channels.into(), subbands: &self.subbands, activity: &self.activity }
    }
}

/// The borrowed subbands of a picture for coding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bands<'a> {
    pub(crate) size: Size,
    pub(crate) chroma: ChromaFormat,
    /// As [`Coefficients::subbands`].
    pub(crate) subbands: &'a [Vec<f32>],
    /// As [`Coefficients::activity`].
    pub(crate) activity: &'a [RegionActivity],
}

/// Resizes every subband to `count` of its index, in the same memory. New memory is not written to: the system returns
/// it as zeros. Returns, by subband, whether its numbers can be other than zero.
pub(crate) fn resize<T: Copy + Default>(
    subbands: &mut Vec<Vec<T>>,
    count: impl Fn(usize) -> usize,
) -> [bool; SUBBAND_COUNT] {
    let mut used = [false; SUBBAND_COUNT];
    subbands.resize_with(SUBBAND_COUNT, Vec::new);
    for ((index, values), used) in subbands.iter_mut().enumerate().zip(&mut used) {
        let count = count(index);
        if values.capacity() < count {
            *values = vec![T::default(); count];
        } else {
            *used = !values.is_empty();
            values.resize(count, T::default());
        }
    }
    used
}

/// Returns the rows of each slice in every subband of a picture of `size`. `slices` are the slices' pixel rows from the
/// top down without a gap. An empty subband has no rows.
pub(crate) fn slices_mut<'a, T>(
    subbands: &'a mut [Vec<T>],
    size: Size,
    slices: impl Iterator<Item = Range<usize>> + 'a,
) -> impl Iterator<Item = [&'a mut [T]; SUBBAND_COUNT]> + 'a {
    let width = size.width();
    let height = size.height();
    let mut rest: [&mut [T]; SUBBAND_COUNT] = as_slices(subbands);
    slices.map(move |slice| {
        std::array::from_fn(|index| {
            let subband = Subband::at(index);
            let rows = layout::rows(subband, height, &slice).len();
            let count = if rest[index].is_empty() { 0 } else { rows * subband.size(width, height).0 };
            rest[index].split_off_mut(..count).unwrap_or_default()
        })
    })
}

/// Returns all subbands, or components, as slices; missing ones are empty.
pub(crate) fn as_slices<T, const N: usize>(subbands: &mut [Vec<T>]) -> [&mut [T]; N] {
    let mut all = subbands.iter_mut();
    std::array::from_fn(|_| all.next().map_or_else(Default::default, Vec::as_mut_slice))
}

/// Returns how many numbers a subband of such a picture has.
pub(crate) fn count(index: usize, size: Size, chroma: ChromaFormat) -> usize {
    let subband = Subband::at(index);
    let (width, height) = subband.size(size.width(), size.height());
    if chroma.has(subband) { width * height } else { 0 }
}
