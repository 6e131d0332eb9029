//! A picture as the coefficients of its subbands.

use std::ops::Range;

use crate::colour::axes::Axes;
use crate::picture::{Channels, Size};
use crate::subband::layout::{self, SUBBANDS, Subband};

/// What a picture is turned into: one band of numbers per subband, in the model's own scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// Size of the picture.
    pub size: Size,
    /// Grey pictures have no chroma subbands.
    pub channels: Channels,
    /// What the components are.
    pub axes: Axes,
    /// By subband in the order of the stream: row-major, `Subband::size` wide and high; empty if it has none.
    pub subbands: Vec<Vec<f32>>,
}

impl Coefficients {
    /// All zero, along the default axes.
    #[must_use]
    pub fn zero(size: Size, channels: Channels) -> Self {
        let subbands = (0..SUBBANDS).map(|index| {
            let subband = Subband::at(index);
            let (width, height) = subband.size(size.width(), size.height());
            let present = channels == Channels::Rgb || subband.component == 0;
            vec![0.0; if present { width * height } else { 0 }]
        });
        Self { size, channels, axes: Axes::default(), subbands: subbands.collect() }
    }

    /// Whether every subband has the coefficients that the picture's size and channels fix.
    #[must_use]
    pub fn fits(&self) -> bool {
        let (width, height) = (self.size.width(), self.size.height());
        self.subbands.len() == SUBBANDS
            && self.subbands.iter().enumerate().all(|(index, values)| {
                let subband = Subband::at(index);
                let (across, down) = subband.size(width, height);
                let present = self.channels == Channels::Rgb || subband.component == 0;
                values.len() == if present { across * down } else { 0 }
            })
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
