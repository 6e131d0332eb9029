//! Where the units are: bands of the wavelet, in the order of the stream (spec, "Units").

use crate::picture::{Channels, Size};

/// Wavelet levels of every model: a low-pass sample stands for 64 x 64 pixels.
pub const LEVELS: usize = 6;
/// Units of an RGB picture: three low-pass bands, and three details a level and component.
pub const UNITS: usize = 3 + 9 * LEVELS;
/// Rows of pixels that a stripe's border must be a multiple of.
pub(crate) const STRIPE_ROWS: usize = 1 << LEVELS;
/// Pixels to a stripe; the picture is coded on as many cores as it has stripes.
const STRIPE_PIXELS: usize = 196_608;
/// Most stripes a picture has.
const MAX_STRIPES: usize = 64;

/// Which frequencies a unit holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// Low horizontally and vertically.
    Low,
    /// High horizontally, low vertically: vertical edges.
    Hl,
    /// Low horizontally, high vertically: horizontal edges.
    Lh,
    /// High in both directions.
    Hh,
}

/// One ordered dimension of the representation: a band of one component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// 0 = luma, 1 and 2 = chroma.
    pub component: usize,
    /// 1 = finest, [`LEVELS`] = coarsest.
    pub level: usize,
    /// Its band.
    pub band: Band,
}

const DETAILS: [Band; 3] = [Band::Hl, Band::Lh, Band::Hh];

impl Unit {
    /// The unit at `index` in `0..UNITS`, in the order of the stream.
    #[must_use]
    pub const fn at(index: usize) -> Self {
        if index < 3 {
            return Self { component: index, level: LEVELS, band: Band::Low };
        }
        let (level, within) = (LEVELS - (index - 3) / 9, (index - 3) % 9);
        Self { component: within / 3, level, band: DETAILS[within % 3] }
    }

    /// Width and height in coefficients, for a picture (or stripe) of `width` x `height` pixels.
    #[must_use]
    pub fn size(self, width: usize, height: usize) -> (usize, usize) {
        let (low_x, high_x) = halves(width, self.level);
        let (low_y, high_y) = halves(height, self.level);
        match self.band {
            Band::Low => (low_x, low_y),
            Band::Hl => (high_x, low_y),
            Band::Lh => (low_x, high_y),
            Band::Hh => (high_x, high_y),
        }
    }
}

/// Index of the unit one level finer, at the same place and band, if there is one.
pub(crate) const fn child(index: usize) -> Option<usize> {
    if index < 3 || index + 9 >= UNITS { None } else { Some(index + 9) }
}

/// Index of the unit one level coarser, at the same place and band, if there is one.
pub(crate) const fn parent(index: usize) -> Option<usize> {
    if index < 12 { None } else { Some(index - 9) }
}

/// Index of the same band in another component.
pub(crate) const fn sibling(index: usize, component: usize) -> usize {
    if index < 3 { component } else { index - 3 * Unit::at(index).component + 3 * component }
}

/// Indices of the other two bands of the same level and component; the low band has none.
pub(crate) const fn other_bands(index: usize) -> [Option<usize>; 2] {
    if index < 3 {
        return [None; 2];
    }
    let band = index % 3;
    [Some(index - band + (band + 1) % 3), Some(index - band + (band + 2) % 3)]
}

/// Lengths of the low and the high half of `n` samples after `level` levels.
const fn halves(n: usize, level: usize) -> (usize, usize) {
    let mut low = n;
    let mut high = 0;
    let mut step = 0;
    while step < level {
        high = low / 2;
        low -= high;
        step += 1;
    }
    (low, high)
}

/// The units that a picture has, in order.
pub(crate) fn units(channels: Channels) -> impl Iterator<Item = usize> {
    (0..UNITS).filter(move |&index| channels == Channels::Rgb || Unit::at(index).component == 0)
}

/// Rows of pixels of each stripe, top to bottom: `start..end`.
pub(crate) fn stripes(size: Size) -> Vec<std::ops::Range<usize>> {
    let bands = size.height().div_ceil(STRIPE_ROWS);
    let count = (size.pixels() / STRIPE_PIXELS).clamp(1, MAX_STRIPES.min(bands));
    let border = |i: usize| (i * bands / count * STRIPE_ROWS).min(size.height());
    (0..count).map(|i| border(i)..border(i + 1)).collect()
}

/// Rows of a unit that belong to the stripe of these pixel rows.
pub(crate) fn rows(unit: Unit, height: usize, stripe: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let at = |row: usize| if row == height { unit.size(1, height).1 } else { row >> unit.level };
    at(stripe.start)..at(stripe.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_ordered_coarse_to_fine_and_know_their_kin() {
        assert_eq!(Unit::at(0), Unit { component: 0, level: 6, band: Band::Low });
        assert_eq!(Unit::at(3), Unit { component: 0, level: 6, band: Band::Hl });
        assert_eq!(Unit::at(UNITS - 1), Unit { component: 2, level: 1, band: Band::Hh });
        assert_eq!(child(3), Some(12));
        assert_eq!(child(UNITS - 9), None);
        assert_eq!(sibling(4, 2), 10);
        assert_eq!(other_bands(2), [None; 2]);
        assert_eq!(other_bands(13), [Some(14), Some(12)]);
        assert_eq!(sibling(1, 0), 0);
    }

    #[test]
    fn the_units_of_a_component_hold_every_sample_once() {
        for (width, height) in [(1, 1), (5, 3), (64, 64), (129, 77), (768, 512)] {
            let count: usize = (0..UNITS)
                .map(Unit::at)
                .filter(|unit| unit.component == 0)
                .map(|unit| unit.size(width, height))
                .map(|(w, h)| w * h)
                .sum();
            assert_eq!(count, width * height);
        }
    }

    #[test]
    fn the_stripes_of_a_unit_cover_its_rows() {
        for height in [1, 63, 64, 65, 512, 1000, 4001] {
            let size = Size::new(3000, height).expect("a valid size");
            for index in 0..UNITS {
                let unit = Unit::at(index);
                let mut next = 0;
                for stripe in stripes(size) {
                    let rows = rows(unit, size.height(), &stripe);
                    assert_eq!(rows.start, next);
                    next = rows.end;
                    let own = unit.size(size.width(), stripe.len()).1;
                    assert_eq!(rows.len(), own, "unit {index} of height {height}");
                }
                assert_eq!(next, unit.size(size.width(), size.height()).1);
            }
        }
    }
}
