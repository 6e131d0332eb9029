//! A picture as planes of floats.

use crate::colour::axes::Axes;
use crate::error::Error;
use crate::picture::{Channels, Size};

/// A picture as one array of `f32` per component, its colours along three axes; luma alone for grey.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    /// Width and height of every plane.
    pub size: Size,
    /// Grey: one plane; RGB: three.
    pub channels: Channels,
    /// The colour axes of the planes.
    pub axes: Axes,
    /// Row-major planes, centred on zero; those of a picture are within -128..128.
    pub components: Vec<Vec<f32>>,
}

impl Planes {
    /// # Errors
    /// [`Error::Argument`] if they do not have the samples that their size and channels fix.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let pixels = self.size.pixels();
        let fits = self.components.len() == self.channels.count() && self.components.iter().all(|c| c.len() == pixels);
        if fits { Ok(()) } else { Err(Error::Argument("a plane does not have one sample for every pixel")) }
    }
}
