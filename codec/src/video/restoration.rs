//! The interface between decoded frames and shown ones; `nestcast-models` implements it with a network. Nothing is
//! predicted from its result.

use crate::motion::reference::{FRACTION_BITS, Reference};
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;
use crate::transform::{Position, TransformError};

/// A decoded frame after the post-filter, planar YCbCr 4:2:0, and its decoding conditions.
#[derive(Debug, Clone, Copy)]
pub struct DecodedFrame<'a> {
    filtered: &'a Planes420<f32>,
    predicted: &'a Reference,
    significance: &'a [Vec<u8>; 3],
    told: DecodingConditions,
}

/// The decoding conditions: how much of a frame arrived.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DecodingConditions {
    /// Whether the frame is predicted from nothing.
    pub key: bool,
    /// The position of the bytes in the base-layer reference.
    pub base_reference: Position,
    /// The position of the bytes in the enhancement reference.
    pub enhancement_reference: Position,
    /// The position of all bytes that arrived.
    pub shown: Position,
}

impl<'a> DecodedFrame<'a> {
    pub(super) const fn new(
        filtered: &'a Planes420<f32>,
        predicted: &'a Reference,
        significance: &'a [Vec<u8>; 3],
        told: DecodingConditions,
    ) -> Self {
        Self { filtered, predicted, significance, told }
    }

    /// Returns the width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.filtered.size()
    }

    /// Returns the width and height of a plane: 0 is luma; 1 and 2 are the blue and the red difference, of half each
    /// side, rounded up.
    #[must_use]
    pub const fn plane(&self, plane: usize) -> [usize; 2] {
        let size = if plane == 0 { self.size() } else { self.size().halved() };
        [size.width(), size.height()]
    }

    /// Returns a row of a plane after the post-filter, in steps of samples less 128.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn filtered(&self, plane: usize, y: usize) -> &'a [f32] {
        let [width, _] = self.plane(plane);
        &self.filtered.planes()[plane][y * width..][..width]
    }

    /// Returns a row of the frame's prediction, in 1/8 of a step less 128; all zero in a key frame.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn predicted(&self, plane: usize, y: usize) -> &'a [i16] {
        const { assert!(FRACTION_BITS == 3, "callers count on eighths") };
        self.predicted.planes[plane].row(y)
    }

    /// Returns the level of significant coefficients for a row of blocks of 4 x 4 samples of a plane: 3 at the finest,
    /// 0 at none of the three finest.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn significance(&self, plane: usize, row: usize) -> &'a [u8] {
        let across = self.plane(plane)[0].div_ceil(4);
        &self.significance[plane][row * across..][..across]
    }

    /// Returns the decoding conditions.
    #[must_use]
    pub const fn told(&self) -> DecodingConditions {
        self.told
    }
}

/// Turns decoded frames into shown ones.
pub trait Restoration: Send + Sync {
    /// Renders the shown picture of a frame into `out`, planar YCbCr 4:2:0 of 8 bits and of the frame's size.
    ///
    /// # Errors
    /// [`TransformError::Network`] if a network fails.
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError>;
}
