//! The linear transform in plain Rust: colour axes and lifting wavelet (spec, "Linear transform").

use crate::colour::axes::Axes;
use crate::colour::convert;
use crate::colour::planes::Planes;
use crate::model::Model;
use crate::picture::Picture;
use crate::subband::coefficients::Coefficients;
use crate::transform::{Analysis, Position, Synthesis, TransformError};
use crate::wavelet::strips::Division;
use crate::wavelet::{analysis, synthesis};

#[cfg(test)]
mod tests;

/// Both halves of the linear transform of a model. Needs nothing but this crate.
#[derive(Debug, Clone)]
pub struct Linear {
    model: Model,
    threads: usize,
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
        convert::from_picture(picture, axes, self.threads)
    }

    /// The picture of these planes, rounded and clipped to 8 bits.
    ///
    /// # Panics
    /// If the planes do not have the samples that their size and channels fix.
    #[must_use]
    pub fn picture(&self, planes: &Planes) -> Picture {
        planes.check();
        convert::to_picture(planes, self.threads)
    }

    /// Wavelet analysis of planes.
    ///
    /// # Panics
    /// If the planes do not have the samples that their size and channels fix.
    #[must_use]
    pub fn decompose(&self, planes: Planes) -> Coefficients {
        planes.check();
        analysis::of_planes(&self.model.taps, &planes, Division::new(planes.size, self.threads))
    }

    /// Wavelet synthesis: the planes of these coefficients.
    ///
    /// # Panics
    /// Unless [`Coefficients::fits`].
    #[must_use]
    pub fn compose(&self, coefficients: Coefficients) -> Planes {
        check(&coefficients);
        synthesis::planes(&self.model.taps, &coefficients, Division::new(coefficients.size, self.threads))
    }
}

fn check(coefficients: &Coefficients) {
    assert!(coefficients.fits(), "a subband does not have the coefficients that its picture's size fixes");
}

impl Analysis for Linear {
    fn analyse(&self, picture: &Picture) -> Result<Coefficients, TransformError> {
        Ok(analysis::of_picture(&self.model.taps, picture, Division::new(picture.size(), self.threads)))
    }
}

impl Synthesis for Linear {
    /// # Panics
    /// Unless [`Coefficients::fits`].
    fn synthesise(&self, coefficients: Coefficients, _position: Position) -> Result<Picture, TransformError> {
        check(&coefficients);
        Ok(synthesis::picture(&self.model.taps, &coefficients, Division::new(coefficients.size, self.threads)))
    }
}
