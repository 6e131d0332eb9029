//! Properties of a video that an output cannot store.

use nestcast_codec::{Display, Matrix, Scan, Siting, Size, Ycbcr};

use super::FramePlace;

/// A property of a video that its output cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// y4m has no field for the matrix, and this is not the one that players assume for the size.
    #[error("its colours are by BT.{0}, which y4m cannot say: tell the next program, as `--matrix {0}` tells nestcast")]
    Matrix(u32),
    /// y4m of more than 8 bits a sample has no field for where colour differences lie, and readers take them at the left.
    #[error("its colour differences do not lie at the left, which y4m of more than 8 bits cannot say")]
    Siting,
    /// PNG pictures are shown with square pixels.
    #[error("its pixels are {0}:{1}, but PNG viewers show them square")]
    Aspect(u16, u16),
    /// A PNG picture mixes the lines of both fields.
    #[error("it is interlaced: each PNG picture has the lines of both fields")]
    Fields,
}

impl FramePlace {
    /// Returns the properties of a video that this place cannot store. Its samples mean `colours` and are
    /// written in `bits` bits.
    #[must_use]
    pub fn lost(&self, (colours, bits): (Ycbcr, u8), size: Size, display: Display) -> Vec<Lost> {
        match self {
            Self::Video(_) => {
                let number = if colours.matrix == Matrix::Bt601 { 601 } else { 709 };
                let matrix = (colours.matrix != Matrix::usual(size)).then_some(Lost::Matrix(number));
                let siting = (bits > 8 && display.siting != Siting::Left).then_some(Lost::Siting);
                matrix.into_iter().chain(siting).collect()
            }
            Self::Folder(_) => {
                let [width, height] = display.aspect;
                let aspect = (!display.is_square()).then_some(Lost::Aspect(width, height));
                let fields = (display.scan != Scan::Progressive).then_some(Lost::Fields);
                aspect.into_iter().chain(fields).collect()
            }
        }
    }
}
