//! A picture as planes of floats.

use crate::colour::axes::Axes;
use crate::picture::{Channels, Size};

/// A picture as one array of `f32` per component, its colours along three axes; luma alone for grey.
#[derive(Debug, Clone, PartialEq)]
pub struct Planes {
    /// Width and height of every plane.
    pub size: Size,
    /// Grey: one plane; RGB: three.
    pub channels: Channels,
    /// What the planes are.
    pub axes: Axes,
    /// Row-major planes, centred on zero; those of a picture are within -128..128.
    pub components: Vec<Vec<f32>>,
}

impl Planes {
    /// # Panics
    /// If they do not have the samples that their size and channels fix.
    pub(crate) fn check(&self) {
        let pixels = self.size.pixels();
        let fits = self.components.len() == self.channels.count() && self.components.iter().all(|c| c.len() == pixels);
        assert!(fits, "a plane does not have one sample for every pixel");
    }
}
