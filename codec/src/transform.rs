//! The seam between pixels and coefficients; `nestcast-models` implements it with networks, [`crate::Linear`] in plain Rust.

use crate::picture::Picture;
use crate::subband::coefficients::Coefficients;

/// Anything a transform may fail with; networks live outside this crate.
pub type TransformError = Box<dyn std::error::Error + Send + Sync>;

/// How far a stream came, in bit planes: 3.0 says that every coding pass down to plane 3 arrived, 2.4 that 60 % of
/// plane 2 did too; 0.0 is the complete stream.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Position(pub f32);

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
    /// Rebuilds a picture from what arrived, told how far the stream came.
    ///
    /// # Errors
    /// Whatever the implementation meets; [`crate::Linear`] meets nothing.
    fn synthesise(&self, coefficients: Coefficients, position: Position) -> Result<Picture, TransformError>;
}
