//! Properties of a video that an output cannot store.

use nestcast_codec::{Display, Matrix, Scan, Size, Ycbcr};

use super::FramePlace;

/// A property of a video that its output cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// y4m has no field for the matrix, and this is not the one that players assume for the size.
    #[error("its colours are by BT.{0}, which y4m cannot say: tell the next program, as `--matrix {0}` tells nestcast")]
    Matrix(u32),
    /// PNG pictures are shown with square pixels.
    #[error("its pixels are {0}:{1}, but PNG viewers show them square")]
    Aspect(u16, u16),
    /// A PNG picture mixes the lines of both fields.
    #[error("it is interlaced: each PNG picture has the lines of both fields")]
    Fields,
}

impl FramePlace {
    /// Returns the properties of a video that this place cannot store.
    #[must_use]
    pub fn lost(&self, colours: Ycbcr, size: Size, display: Display) -> Vec<Lost> {
        match self {
            Self::Video(_) if colours.matrix != Matrix::usual(size) => {
                vec![Lost::Matrix(if colours.matrix == Matrix::Bt601 { 601 } else { 709 })]
            }
            Self::Video(_) => Vec::new(),
            Self::Folder(_) => {
                let [width, height] = display.aspect;
                let aspect = (!display.is_square()).then_some(Lost::Aspect(width, height));
                let fields = (display.scan != Scan::Progressive).then_some(Lost::Fields);
                aspect.into_iter().chain(fields).collect()
            }
        }
    }
}
