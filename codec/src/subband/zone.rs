//! Some rows of a picture, whose levels stand on their own, and the places of their coefficients.

use std::ops::Range;

use crate::picture::Size;
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband, details};

/// The levels of a zone.
pub(crate) const ZONE_LEVELS: usize = 4;
/// A zone begins with a multiple of this many rows, so that its coefficients are at the places of the picture's.
pub(crate) const ZONE_ALIGN_ROWS: usize = 1 << ZONE_LEVELS;

/// Detail bands of luma, and of both colour differences.
const DETAIL_BAND_COUNT: usize = 3 * (3 * ZONE_LEVELS - 2);
/// The detail bands of a zone's levels, by component, the finest level first.
const DETAIL_BANDS: [usize; DETAIL_BAND_COUNT] = {
    let mut bands = [0; DETAIL_BAND_COUNT];
    let mut at = 0;
    let mut component = 0;
    while component < 3 {
        let mut level = ChromaFormat::Half.finest_level(component);
        while level <= ZONE_LEVELS {
            let mut band = details(component, level).start;
            while band < details(component, level).end {
                bands[at] = band;
                at += 1;
                band += 1;
            }
            level += 1;
        }
        component += 1;
    }
    assert!(at == DETAIL_BAND_COUNT);
    bands
};

/// Whole groups of [`ZONE_ALIGN_ROWS`] rows. Their levels are those of a picture of its own, at 4:2:0.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    picture: Size,
    /// The groups of rows.
    pub(crate) groups: Range<usize>,
    /// Rows of luma.
    pub(crate) rows: Range<usize>,
    pub(crate) size: Size,
    /// Where each detail band of its levels is in an array of one number for every coefficient; the others are empty.
    /// Bands follow one another by component, the finest level first.
    pub(crate) places: [Range<usize>; SUBBAND_COUNT],
    /// The length of that array.
    pub(crate) coefficients: usize,
}

impl Zone {
    /// Returns the zone of these groups of rows, of which the picture has at least one.
    pub(crate) fn new(picture: Size, groups: Range<usize>) -> Self {
        let rows = groups.start * ZONE_ALIGN_ROWS..(groups.end * ZONE_ALIGN_ROWS).min(picture.height());
        let size = picture.of_rows(rows.len());
        let mut places = std::array::from_fn(|_| 0..0);
        let mut end = 0;
        for index in DETAIL_BANDS {
            let (width, height) = Subband::at(index).size(size.width(), size.height());
            places[index] = end..end + width * height;
            end += width * height;
        }
        Self { picture, groups, rows, size, places, coefficients: end }
    }

    /// Divides an array of one number for every coefficient: each detail band and its numbers.
    pub(crate) fn split<'a, T>(&self, mut numbers: &'a mut [T]) -> impl Iterator<Item = (usize, &'a mut [T])> {
        DETAIL_BANDS.into_iter().map(move |index| {
            let count = self.places[index].len();
            (index, numbers.split_off_mut(..count).unwrap_or_default())
        })
    }

    /// Returns the rows of a plane.
    pub(crate) fn rows_of(&self, plane: usize) -> Range<usize> {
        if plane == 0 { self.rows.clone() } else { self.rows.start / 2..self.rows.end.div_ceil(2) }
    }

    /// Returns the rows of a subband, of one of the zone's levels.
    pub(crate) fn rows_in(&self, subband: Subband) -> Range<usize> {
        layout::rows(subband, self.picture.height(), &self.rows)
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
            let mut numbers: Vec<usize> = (0..zone.coefficients).collect();
            let mut all = 0;
            for (index, numbers) in zone.split(&mut numbers) {
                let subband = Subband::at(index);
                let (width, _) = subband.size(size.width(), size.height());
                assert_eq!(numbers.len(), width * zone.rows_in(subband).len(), "{subband:?} of {zone:?}");
                assert!(numbers.iter().copied().eq(zone.places[index].clone()));
                all += numbers.len();
            }
            assert_eq!(all, zone.coefficients);
        }
    }
}
