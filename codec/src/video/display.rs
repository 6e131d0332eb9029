//! What a video says of its frames for who shows or writes them. Decoding does not depend on it (spec, "Stored video").

use crate::picture::{Matrix, Range, Ycbcr};

/// How frames are to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Display {
    /// Where colour differences lie among the 2x2 pixels that they stand for.
    pub siting: Siting,
    /// How lines were taken.
    pub scan: Scan,
    /// Width and height of a pixel, in proportion, each in 1..=65535; equal for square ones.
    pub aspect: [u16; 2],
}

/// Where colour differences of 4:2:0 lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Siting {
    /// In the middle of the 2x2 pixels, as in JPEG and MPEG-1.
    #[default]
    Centre,
    /// At their left, in the middle of two rows, as in MPEG-2 and after.
    Left,
    /// On pixels: Cr and Cb on lines of their own, as in DV of PAL.
    PalDv,
}

/// How lines were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scan {
    /// All at once.
    #[default]
    Progressive,
    /// In two fields, the one with the first line first.
    TopFirst,
    /// In two fields, the one with the second line first.
    BottomFirst,
    /// Some frames so and others so.
    Mixed,
}

impl Default for Display {
    fn default() -> Self {
        Self { siting: Siting::Centre, scan: Scan::Progressive, aspect: [1, 1] }
    }
}

impl Display {
    /// Whether pixels are as wide as high.
    #[must_use]
    pub const fn is_square(self) -> bool {
        self.aspect[0] == self.aspect[1]
    }

    /// The byte that a header has of all but the aspect, and whether there is one.
    #[must_use]
    pub fn signal(self, colours: Ycbcr) -> u8 {
        let siting = match self.siting {
            Siting::Centre => 0,
            Siting::Left => 1,
            Siting::PalDv => 2,
        };
        let scan = match self.scan {
            Scan::Progressive => 0,
            Scan::TopFirst => 1,
            Scan::BottomFirst => 2,
            Scan::Mixed => 3,
        };
        let range = u8::from(colours.range == Range::Full);
        let matrix = u8::from(colours.matrix == Matrix::Bt709);
        let aspect = if self.is_square() { 0 } else { Self::ASPECT_BIT };
        range | matrix << 1 | siting << 2 | scan << 4 | aspect
    }

    /// The bit of [`signal`](Self::signal) that says that pixels are not square, and that their aspect follows.
    pub const ASPECT_BIT: u8 = 1 << 6;

    /// Reads that byte; nothing if it has a value that is reserved. Pixels are square.
    #[must_use]
    pub const fn of_signal(signal: u8) -> Option<(Ycbcr, Self)> {
        let range = if signal & 1 == 0 { Range::Limited } else { Range::Full };
        let matrix = if signal >> 1 & 1 == 0 { Matrix::Bt601 } else { Matrix::Bt709 };
        let siting = match signal >> 2 & 3 {
            0 => Siting::Centre,
            1 => Siting::Left,
            2 => Siting::PalDv,
            _ => return None,
        };
        let scan = match signal >> 4 & 3 {
            0 => Scan::Progressive,
            1 => Scan::TopFirst,
            2 => Scan::BottomFirst,
            _ => Scan::Mixed,
        };
        if signal >> 7 == 1 { None } else { Some((Ycbcr { range, matrix }, Self { siting, scan, aspect: [1, 1] })) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_read_as_it_was_written_or_reserved() {
        let mut known = 0;
        for byte in 0..=u8::MAX {
            let Some((colours, display)) = Display::of_signal(byte) else { continue };
            let aspect = if byte & Display::ASPECT_BIT == 0 { [1, 1] } else { [16, 11] };
            assert_eq!(Display { aspect, ..display }.signal(colours), byte);
            known += 1;
        }
        assert_eq!(known, 2 * 2 * 3 * 4 * 2);
        assert_eq!(Display::default().signal(Ycbcr::BT601), 0);
        assert_eq!(Display::default().signal(Ycbcr::BT601_FULL), 1);
    }
}
