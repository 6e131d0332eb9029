//! The seam between decoded frames and shown ones; `nestcast-models` implements it with a network. Nothing is predicted from what it
//! gives.

use crate::motion::reference::{FRACTION, Reference};
use crate::picture::{Size, ViewMut};
use crate::residual::planes::Planes420;
use crate::transform::{Position, TransformError};

/// A decoded frame, planar YCbCr 4:2:0, behind the post-filter, and what its decoder knows of it.
#[derive(Debug, Clone, Copy)]
pub struct DecodedFrame<'a> {
    filtered: &'a Planes420<f32>,
    predicted: &'a Reference,
    significance: &'a [Vec<u8>; 3],
    told: Told,
}

/// How much of a frame came.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Told {
    /// Predicted from nothing.
    pub key: bool,
    /// Of the bytes that the floor took.
    pub floor: Position,
    /// Of those that the enhanced picture took.
    pub enhanced: Position,
    /// Of all that came.
    pub shown: Position,
}

impl<'a> DecodedFrame<'a> {
    pub(super) const fn new(
        filtered: &'a Planes420<f32>,
        predicted: &'a Reference,
        significance: &'a [Vec<u8>; 3],
        told: Told,
    ) -> Self {
        Self { filtered, predicted, significance, told }
    }

    /// Width and height.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.filtered.size()
    }

    /// Width and height of a plane: 0 is luma, 1 and 2 are the blue and the red difference, of half either side, rounded up.
    #[must_use]
    pub const fn plane(&self, plane: usize) -> [usize; 2] {
        let size = if plane == 0 { self.size() } else { self.size().halved() };
        [size.width(), size.height()]
    }

    /// A row of a plane behind the post-filter, in steps of samples less 128.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn filtered(&self, plane: usize, y: usize) -> &'a [f32] {
        let [width, _] = self.plane(plane);
        &self.filtered.planes()[plane][y * width..][..width]
    }

    /// A row of what the frame was predicted to be, in 1/8 of a step less 128; of a key frame all zero.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn predicted(&self, plane: usize, y: usize) -> &'a [i16] {
        const { assert!(FRACTION == 3, "callers count on eighths") };
        self.predicted.planes[plane].row(y)
    }

    /// Of a row of blocks of 4 x 4 samples of a plane, at which level coefficients are significant: 3 at the finest, 0 at none of
    /// the three finest.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn significance(&self, plane: usize, row: usize) -> &'a [u8] {
        let across = self.plane(plane)[0].div_ceil(4);
        &self.significance[plane][row * across..][..across]
    }

    /// How much of it came.
    #[must_use]
    pub const fn told(&self) -> Told {
        self.told
    }
}

/// Decoded frames to shown ones.
pub trait Restoration: Send + Sync {
    /// Makes `out`, planar YCbCr 4:2:0 of the frame's size, what is shown of a frame.
    ///
    /// # Errors
    /// [`TransformError::Network`] if a network fails.
    fn restore(&self, frame: &DecodedFrame<'_>, out: ViewMut<'_>) -> Result<(), TransformError>;
}
