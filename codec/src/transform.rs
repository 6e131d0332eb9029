//! The seam between pixels and coefficients; `nestcast-models` implements it with networks, [`crate::Linear`] in plain Rust.

use crate::axes::Axes;
use crate::layout::{UNITS, Unit};
use crate::picture::{Channels, Picture, Size};

/// Anything a transform may fail with; networks live outside this crate.
pub type TransformError = Box<dyn std::error::Error + Send + Sync>;

/// What a picture is turned into: one band of numbers per unit, in the model's own scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// Size of the picture.
    pub size: Size,
    /// Grey pictures have no chroma units.
    pub channels: Channels,
    /// What the components are.
    pub axes: Axes,
    /// By unit in the order of the stream: row-major, `Unit::size` wide and high; empty if it has none.
    pub units: Vec<Vec<f32>>,
}

impl Coefficients {
    /// All zero, along the default axes.
    #[must_use]
    pub fn zero(size: Size, channels: Channels) -> Self {
        let units = (0..UNITS).map(|index| {
            let unit = Unit::at(index);
            let (width, height) = unit.size(size.width(), size.height());
            let present = channels == Channels::Rgb || unit.component == 0;
            vec![0.0; if present { width * height } else { 0 }]
        });
        Self { size, channels, axes: Axes::default(), units: units.collect() }
    }

    /// Whether every unit has the coefficients that the picture's size and channels fix.
    #[must_use]
    pub fn fits(&self) -> bool {
        let (width, height) = (self.size.width(), self.size.height());
        self.units.len() == UNITS
            && self.units.iter().enumerate().all(|(index, values)| {
                let unit = Unit::at(index);
                let (across, down) = unit.size(width, height);
                let present = self.channels == Channels::Rgb || unit.component == 0;
                values.len() == if present { across * down } else { 0 }
            })
    }
}

/// Where a stream was cut, in bit planes: 3.0 says that every piece down to plane 3 arrived, 2.4 that 60 % of
/// plane 2 did too; 0.0 is the whole stream.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Cut(pub f32);

/// Pixels to coefficients; the encoder's half.
pub trait Analysis {
    /// Transforms a picture.
    ///
    /// # Errors
    /// Whatever the implementation meets; [`crate::Linear`] meets nothing.
    fn analyse(&self, picture: &Picture) -> Result<Coefficients, TransformError>;
}

/// Coefficients to pixels; the decoder's half.
pub trait Synthesis {
    /// Rebuilds a picture from what arrived, told the cut.
    ///
    /// # Errors
    /// Whatever the implementation meets; [`crate::Linear`] meets nothing.
    fn synthesise(&self, coefficients: Coefficients, cut: Cut) -> Result<Picture, TransformError>;
}
