//! The linear transform in plain Rust: colour axes and lifting wavelet (spec, "Linear transform").

mod analysis;
mod colour;
mod lift;
mod line;
#[cfg(test)]
mod naive;
mod rows;
mod strips;
mod synthesis;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::strips::Division;
use crate::axes::Axes;
use crate::layout::LEVELS;
use crate::model::Model;
use crate::picture::{Channels, Picture, Size};
use crate::transform::{Analysis, Coefficients, Cut, Synthesis, TransformError};

/// Both halves of the linear transform of a model. Needs nothing but this crate.
#[derive(Debug, Clone)]
pub struct Linear {
    model: Model,
    threads: usize,
}

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
    fn check(&self) {
        let pixels = self.size.pixels();
        let fits = self.components.len() == self.channels.count() && self.components.iter().all(|c| c.len() == pixels);
        assert!(fits, "a plane does not have one sample for every pixel");
    }
}

impl Linear {
    /// The transform of `model` on one thread.
    #[must_use]
    pub const fn new(model: Model) -> Self {
        Self { model, threads: 1 }
    }

    /// Uses up to `threads` threads; the result does not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// The picture's colours along these axes; [`Axes::of`] finds its own.
    #[must_use]
    pub fn planes(&self, picture: &Picture, axes: Axes) -> Planes {
        colour::from_picture(picture, axes, self.threads)
    }

    /// The picture of these planes, rounded and clipped to 8 bits.
    ///
    /// # Panics
    /// If the planes do not have the samples that their size and channels fix.
    #[must_use]
    pub fn picture(&self, planes: &Planes) -> Picture {
        planes.check();
        colour::to_picture(planes, self.threads)
    }

    /// Wavelet analysis of planes.
    ///
    /// # Panics
    /// If the planes do not have the samples that their size and channels fix.
    #[must_use]
    pub fn decompose(&self, planes: Planes) -> Coefficients {
        planes.check();
        analysis::of_planes(&self.model, &planes, Division::new(planes.size, self.threads))
    }

    /// Wavelet synthesis: the planes of these coefficients.
    ///
    /// # Panics
    /// Unless [`Coefficients::fits`].
    #[must_use]
    pub fn compose(&self, coefficients: Coefficients) -> Planes {
        check(&coefficients);
        synthesis::planes(&self.model, &coefficients, Division::new(coefficients.size, self.threads))
    }
}

fn check(coefficients: &Coefficients) {
    assert!(coefficients.fits(), "a unit does not have the coefficients that its picture's size fixes");
}

/// The units of a component that are the detail bands of a level: HL, LH, HH.
const fn details(component: usize, level: usize) -> Range<usize> {
    let first = 3 + 9 * (LEVELS - level) + 3 * component;
    first..first + 3
}

impl Analysis for Linear {
    fn analyse(&self, picture: &Picture) -> Result<Coefficients, TransformError> {
        Ok(analysis::of_picture(&self.model, picture, Division::new(picture.size(), self.threads)))
    }
}

impl Synthesis for Linear {
    /// # Panics
    /// Unless [`Coefficients::fits`].
    fn synthesise(&self, coefficients: Coefficients, _cut: Cut) -> Result<Picture, TransformError> {
        check(&coefficients);
        Ok(synthesis::picture(&self.model, &coefficients, Division::new(coefficients.size, self.threads)))
    }
}
