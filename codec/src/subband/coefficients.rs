//! A picture as the coefficients of its subbands.

use std::ops::Range;

use crate::colour::axes::Axes;
use crate::error::{Error, ModelId};
use crate::picture::{Channels, Size};
use crate::subband::layout::{self, SUBBANDS, Subband};

/// What a picture is turned into: one band of numbers per subband, in the model's own scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// The model whose scale it is.
    pub model: ModelId,
    /// Size of the picture.
    pub size: Size,
    /// Grey pictures have no chroma subbands.
    pub channels: Channels,
    /// What the components are.
    pub axes: Axes,
    /// By subband in the order of the stream: row-major, [`Subband::size`] wide and high; empty if the picture has
    /// none.
    pub subbands: Vec<Vec<f32>>,
}

/// Those of no model and no picture: memory to be filled.
impl Default for Coefficients {
    fn default() -> Self {
        let (size, channels) = (Size::ONE, Channels::Grey);
        Self { model: ModelId([0; 6]), size, channels, axes: Axes::default(), subbands: Vec::new() }
    }
}

impl Coefficients {
    /// Makes these the coefficients of such a picture, of any values, in the memory that they have.
    pub fn reset(&mut self, model: ModelId, size: Size, channels: Channels, axes: Axes) {
        (self.model, self.size, self.channels, self.axes) = (model, size, channels, axes);
        self.subbands.resize_with(SUBBANDS, Vec::new);
        for (index, values) in self.subbands.iter_mut().enumerate() {
            let count = count(index, size, channels);
            if values.capacity() < count {
                // The system gives new memory as zeros, so it is not written to.
                *values = vec![0.0; count];
            }
            values.resize(count, 0.0);
        }
    }

    /// As [`Coefficients::reset`], and every coefficient is zero.
    pub fn reset_to_zero(&mut self, model: ModelId, size: Size, channels: Channels, axes: Axes) {
        self.subbands.iter_mut().for_each(Vec::clear);
        self.reset(model, size, channels, axes);
    }

    /// Whether these are coefficients of `model` with as many numbers as the picture's size and channels fix.
    ///
    /// # Errors
    /// [`Error::Model`] for another model, [`Error::Argument`] for other numbers.
    pub fn check(&self, model: ModelId) -> Result<(), Error> {
        if self.model != model {
            return Err(Error::Model { needed: self.model, given: model });
        }
        let mut counts = (0..SUBBANDS).map(|index| count(index, self.size, self.channels));
        let fits =
            self.subbands.len() == SUBBANDS && self.subbands.iter().all(|values| counts.next() == Some(values.len()));
        if fits {
            Ok(())
        } else {
            Err(Error::Argument("a subband does not have the coefficients that the picture's size fixes"))
        }
    }

    /// The rows of each slice in every subband, given the slices' pixel rows from the top down without a gap.
    pub(crate) fn slices_mut<'a>(
        &'a mut self,
        slices: impl Iterator<Item = Range<usize>> + 'a,
    ) -> impl Iterator<Item = [&'a mut [f32]; SUBBANDS]> + 'a {
        let (width, height) = (self.size.width(), self.size.height());
        let mut all = self.subbands.iter_mut();
        let mut rest: [&mut [f32]; SUBBANDS] =
            std::array::from_fn(|_| all.next().map_or_else(Default::default, Vec::as_mut_slice));
        slices.map(move |slice| {
            std::array::from_fn(|index| {
                let subband = Subband::at(index);
                let rows = layout::rows(subband, height, &slice).len();
                let count = if rest[index].is_empty() { 0 } else { rows * subband.size(width, height).0 };
                rest[index].split_off_mut(..count).unwrap_or_default()
            })
        })
    }
}

/// Numbers in a subband of such a picture.
fn count(index: usize, size: Size, channels: Channels) -> usize {
    let subband = Subband::at(index);
    let (width, height) = subband.size(size.width(), size.height());
    let present = channels == Channels::Rgb || subband.component == 0;
    if present { width * height } else { 0 }
}
