//! Some rows of a picture, whose levels stand on their own, and the places of their coefficients.

use std::ops::Range;

use crate::picture::Size;
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband, details};

/// The levels of a zone.
pub(crate) const ZONE_LEVELS: usize = 4;
/// A zone begins with a multiple of this many rows, so that its coefficients are at the places of the picture's.
pub(crate) const ZONE_ALIGN_ROWS: usize = 1 << ZONE_LEVELS;

/// Whole groups of [`ZONE_ALIGN_ROWS`] rows. Their levels are those of a picture of its own, at 4:2:0.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    picture: Size,
    /// The groups of rows.
    pub(crate) groups: Range<usize>,
    /// Rows of luma.
    pub(crate) rows: Range<usize>,
    pub(crate) size: Size,
}

impl Zone {
    /// Returns the zone of these groups of rows, of which the picture has at least one.
    pub(crate) fn new(picture: Size, groups: Range<usize>) -> Self {
        let rows = groups.start * ZONE_ALIGN_ROWS..(groups.end * ZONE_ALIGN_ROWS).min(picture.height());
        let size = picture.of_rows(rows.len());
        Self { picture, groups, rows, size }
    }

    /// Returns the rows of a plane.
    pub(crate) fn rows_of(&self, plane: usize) -> Range<usize> {
        if plane == 0 { self.rows.clone() } else { self.rows.start / 2..self.rows.end.div_ceil(2) }
    }

    /// Returns the rows of a subband, of one of the zone's levels.
    pub(crate) fn rows_in(&self, subband: Subband) -> Range<usize> {
        layout::rows(subband, self.picture.height(), &self.rows)
    }

    /// Returns where each detail band of its levels is in an array of one number for every coefficient; the others are
    /// empty. With it comes the length of the array.
    pub(crate) fn places(&self) -> ([Range<usize>; SUBBAND_COUNT], usize) {
        let mut places = std::array::from_fn(|_| 0..0);
        let mut end = 0;
        for component in 0..3 {
            for level in ChromaFormat::Half.finest_level(component)..=ZONE_LEVELS {
                for index in details(component, level) {
                    let (width, height) = Subband::at(index).size(self.size.width(), self.size.height());
                    places[index] = end..end + width * height;
                    end += width * height;
                }
            }
        }
        (places, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_of_a_zone_are_those_of_the_picture_in_its_rows() {
        let size = Size::new(100, 250).expect("a valid size");
        for groups in [0..1, 3..7, 12..16, 15..16, 0..16] {
            let zone = Zone::new(size, groups);
            let (places, count) = zone.places();
            let mut all = 0;
            for (index, place) in places.iter().enumerate().filter(|(_, place)| !place.is_empty()) {
                let subband = Subband::at(index);
                let (width, _) = subband.size(size.width(), size.height());
                assert_eq!(place.len(), width * zone.rows_in(subband).len(), "{subband:?} of {zone:?}");
                all += place.len();
            }
            assert_eq!(all, count);
        }
    }
}
