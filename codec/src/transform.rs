//! The interface between pixels and coefficients; `nestcast-models` implements it with networks, [`crate::Linear`] in
//! plain Rust.

use std::sync::Arc;

use crate::error::Error;
use crate::model::Model;
use crate::parallel::Threads;
use crate::picture::{Picture, View, ViewMut};
use crate::subband::coefficients::Coefficients;
use crate::subband::quantise::{MAX_FINE_PLANES, MAX_PLANES};

/// The reason why a transform failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// The coefficients or the picture do not belong to this transform.
    #[error(transparent)]
    Codec(#[from] Error),
    /// A network failed. Networks run outside this crate; the text is their runtime's message.
    #[error("{0}")]
    Network(String),
}

/// The depth that a stream has reached, in bit planes: 3.0 says that every coding pass down to plane 3 arrived, 2.4
/// that 60 % of plane 2 did too; 0.0 that all down to plane 0 did. A stream of more than 8 bits a sample goes on below
/// 0, to the negative number of its [`Header::fine_planes`](crate::Header::fine_planes).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Position(pub f32);

impl Position {
    /// Returns the coarsest plane of which something is missing, or 0 if that is below plane 0 or nothing is.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 15")]
    pub(crate) fn first_open_plane(self) -> u8 {
        (self.0.ceil() - 1.0).clamp(0.0, f32::from(MAX_PLANES)) as u8
    }

    /// Returns the position in 2^-20 of a plane, exact for positions of streams; at most 15 planes.
    #[expect(clippy::cast_possible_truncation, reason = "clamped; what is not a number is 0")]
    pub(crate) fn fixed_point(self) -> i32 {
        (self.0.clamp(-f32::from(MAX_FINE_PLANES), f32::from(MAX_PLANES)) * POSITION_UNIT) as i32
    }

    /// Converts from 2^-20 of a plane; `position` is less than 2^24 either way.
    #[expect(clippy::cast_precision_loss, reason = "so many have 24 bits")]
    pub(crate) fn of_fixed_point(position: i32) -> Self {
        Self(position as f32 / POSITION_UNIT)
    }
}

/// Positions of streams are multiples of one over this (spec, "Position").
const POSITION_UNIT: f32 = 1_048_576.0;

/// Turns pixels into coefficients: the encoder's half.
pub trait Analysis: Send + Sync {
    /// Returns the model whose coefficients it makes.
    fn model(&self) -> &Arc<Model>;

    /// Returns the threads that it may use, and an encoder with it; the coefficients do not depend on them.
    fn threads(&self) -> &Threads;

    /// Transforms `picture` and writes its coefficients into `out`, in the memory that `out` has.
    ///
    /// # Errors
    /// [`TransformError::Network`] if a network fails; [`crate::Linear`] uses none.
    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError>;

    /// Returns the coefficients of one picture in new memory.
    ///
    /// # Errors
    /// As [`Analysis::analyse`].
    fn coefficients_of(&self, picture: View<'_>) -> Result<Coefficients, TransformError> {
        let mut out = Coefficients::default();
        self.analyse(picture, &mut out)?;
        Ok(out)
    }
}

/// Turns coefficients into pixels: the decoder's half.
pub trait Synthesis: Send + Sync {
    /// Returns the model whose coefficients it takes.
    fn model(&self) -> &Arc<Model>;

    /// Returns the threads that it may use, and a decoder with it; the picture does not depend on them.
    fn threads(&self) -> &Threads;

    /// Rebuilds a picture from the coefficients that arrived and the `position` that the stream has reached. Callers do
    /// not use the values that it leaves in `coefficients`.
    ///
    /// # Errors
    /// [`TransformError::Codec`] if the coefficients belong to another model, or to a picture of another shape than
    /// `out`; [`TransformError::Network`] if a network fails.
    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError>;

    /// Returns the picture of these coefficients in new memory.
    ///
    /// # Errors
    /// As [`Synthesis::synthesise`].
    fn picture_of(&self, mut coefficients: Coefficients, position: Position) -> Result<Picture, TransformError> {
        let mut picture = Picture::zero(coefficients.size, coefficients.channels);
        self.synthesise(&mut coefficients, position, (&mut picture).into())?;
        Ok(picture)
    }
}

impl<T: Analysis + ?Sized> Analysis for Arc<T> {
    fn model(&self) -> &Arc<Model> {
        (**self).model()
    }

    fn threads(&self) -> &Threads {
        (**self).threads()
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        (**self).analyse(picture, out)
    }
}

impl<T: Synthesis + ?Sized> Synthesis for Arc<T> {
    fn model(&self) -> &Arc<Model> {
        (**self).model()
    }

    fn threads(&self) -> &Threads {
        (**self).threads()
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        (**self).synthesise(coefficients, position, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_open_plane_is_the_coarsest_of_which_something_is_missing() {
        for (at, plane) in
            [(-2.0, 0), (0.0, 0), (0.4, 0), (1.0, 0), (1.1, 1), (2.4, 2), (3.0, 2), (3.1, 3), (15.0, 14), (f32::NAN, 0)]
        {
            assert_eq!(Position(at).first_open_plane(), plane, "{at}");
        }
    }
}
