//! The places of the subbands, in the order of the stream, and the slices of a picture (spec, "Subbands" and "Slices").
//!
//! Prior art: a dyadic tree of subbands whose coefficients have four children each (Shapiro, "Embedded image coding
//! using zerotrees of wavelet coefficients", IEEE Trans. Signal Processing 41(12), 1993).

use crate::picture::{Channels, Size};
use crate::subband::quantise::MAX_PLANES;

/// Wavelet levels of every model: a low-pass sample covers 64 x 64 pixels.
pub const WAVELET_LEVELS: usize = 6;
/// Subbands of an RGB picture: three low-pass bands, and three details for each level and component.
pub const SUBBAND_COUNT: usize = 3 + 9 * WAVELET_LEVELS;
/// Rows of pixels that a slice's border must be a multiple of.
const SLICE_ROWS: usize = 1 << WAVELET_LEVELS;
/// The fewest pixels of a slice; a picture is coded on as many cores as it has slices.
const SLICE_PIXELS: usize = 196_608;
/// The most slices of a picture.
pub(crate) const MAX_SLICES: usize = 64;

/// The bit planes of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BitPlanes {
    /// Those from the finest step on.
    pub(crate) usual: u8,
    /// Those below it.
    pub(crate) fine: u8,
}

impl BitPlanes {
    /// Returns how many of the planes below the finest step subbands of this level have. The coarsest have those that 15
    /// bits leave, and each finer level has one more: its coefficients are smaller, and many.
    pub(crate) fn fine_at(self, level: usize) -> u8 {
        let most = usize::from(MAX_PLANES - self.usual) + WAVELET_LEVELS - level;
        u8::try_from(most).map_or(self.fine, |most| most.min(self.fine))
    }

    pub(crate) const fn all(self) -> u8 {
        self.usual + self.fine
    }
}

/// The components of a picture, and the size of the chroma ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChromaFormat {
    /// Luma alone.
    None,
    /// 4:2:0: half the width and half the height of luma, rounded up. Chroma has no subbands of level 1: levels 2 to 6
    /// are a wavelet of five levels of its smaller planes.
    Half,
    /// 4:4:4: the size of luma. The components of regions may be rotated.
    Full,
}

impl From<Channels> for ChromaFormat {
    fn from(channels: Channels) -> Self {
        match channels {
            Channels::Grey => Self::None,
            Channels::Rgb => Self::Full,
        }
    }
}

impl ChromaFormat {
    /// Returns the finest level of a component; a value above [`WAVELET_LEVELS`] if there is no such component.
    pub(crate) const fn finest_level(self, component: usize) -> usize {
        match (self, component) {
            (_, 0) | (Self::Full, _) => 1,
            (Self::Half, _) => 2,
            (Self::None, _) => WAVELET_LEVELS + 1,
        }
    }

    /// Returns whether the picture has this subband.
    pub(crate) const fn has(self, subband: Subband) -> bool {
        subband.level >= self.finest_level(subband.component)
    }
}

/// The frequencies of a subband.
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

/// A band of one component at one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subband {
    /// 0 = luma, 1 and 2 = chroma.
    pub component: usize,
    /// 1 = finest, [`WAVELET_LEVELS`] = coarsest.
    pub level: usize,
    /// Its frequencies.
    pub band: Band,
}

const DETAIL_BANDS: [Band; 3] = [Band::Hl, Band::Lh, Band::Hh];

impl Subband {
    /// Returns the subband at `index` in `0..SUBBAND_COUNT`, in the order of the stream.
    #[must_use]
    pub const fn at(index: usize) -> Self {
        if index < 3 {
            return Self { component: index, level: WAVELET_LEVELS, band: Band::Low };
        }
        let level = WAVELET_LEVELS - (index - 3) / 9;
        let within = (index - 3) % 9;
        Self { component: within / 3, level, band: DETAIL_BANDS[within % 3] }
    }

    /// Returns the width and height in coefficients, for a picture or slice of `width` x `height` pixels.
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

/// Returns the index of the subband one level coarser, of the same band and component, if there is one.
pub(crate) const fn parent(index: usize) -> Option<usize> {
    if index < 12 { None } else { Some(index - 9) }
}

/// Returns the index of the same band in another component.
pub(crate) const fn sibling(index: usize, component: usize) -> usize {
    if index < 3 { component } else { index - 3 * Subband::at(index).component + 3 * component }
}

/// Returns the indices of the other two bands of the same level and component; the low band has none.
pub(crate) const fn other_bands(index: usize) -> [Option<usize>; 2] {
    if index < 3 {
        return [None; 2];
    }
    let band = index % 3;
    [Some(index - band + (band + 1) % 3), Some(index - band + (band + 2) % 3)]
}

/// Returns the indices of a component's detail bands of a level: HL, LH, HH.
pub(crate) const fn details(component: usize, level: usize) -> std::ops::Range<usize> {
    let first = 3 + 9 * (WAVELET_LEVELS - level) + 3 * component;
    first..first + 3
}

/// Returns the lengths of the low and the high half of `n` samples after `level` levels.
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

/// Returns the width and height of the low band of a level of a picture; level 0 is the picture.
pub(crate) fn side(size: Size, level: usize) -> [usize; 2] {
    [size.width(), size.height()].map(|side| side.div_ceil(1 << level))
}

/// Returns the indices of a picture's subbands, in order.
pub(crate) fn subbands(chroma: ChromaFormat) -> impl Iterator<Item = usize> {
    (0..SUBBAND_COUNT).filter(move |&index| chroma.has(Subband::at(index)))
}

/// Returns the rows of pixels of each slice, top to bottom.
pub(crate) fn slices(size: Size) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> {
    let bands = size.height().div_ceil(SLICE_ROWS);
    let count = (size.pixels() / SLICE_PIXELS).clamp(1, MAX_SLICES.min(bands));
    let border = move |i: usize| (i * bands / count * SLICE_ROWS).min(size.height());
    (0..count).map(move |i| border(i)..border(i + 1))
}

/// Returns the rows of a subband that belong to the slice of these pixel rows.
pub(crate) fn rows(subband: Subband, height: usize, slice: &std::ops::Range<usize>) -> std::ops::Range<usize> {
    let at = |row: usize| if row == height { subband.size(1, height).1 } else { row >> subband.level };
    at(slice.start)..at(slice.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subbands_are_ordered_coarse_to_fine_and_know_those_related() {
        assert_eq!(Subband::at(0), Subband { component: 0, level: 6, band: Band::Low });
        assert_eq!(Subband::at(3), Subband { component: 0, level: 6, band: Band::Hl });
        assert_eq!(Subband::at(SUBBAND_COUNT - 1), Subband { component: 2, level: 1, band: Band::Hh });
        assert_eq!(sibling(4, 2), 10);
        assert_eq!(other_bands(2), [None; 2]);
        assert_eq!(other_bands(13), [Some(14), Some(12)]);
        assert_eq!(sibling(1, 0), 0);
    }

    #[test]
    fn the_subbands_of_a_component_hold_every_sample_once() {
        for (width, height) in [(1, 1), (5, 3), (64, 64), (129, 77), (768, 512)] {
            let count: usize = (0..SUBBAND_COUNT)
                .map(Subband::at)
                .filter(|subband| subband.component == 0)
                .map(|subband| subband.size(width, height))
                .map(|(w, h)| w * h)
                .sum();
            assert_eq!(count, width * height);
        }
    }

    #[test]
    fn half_chroma_is_a_wavelet_of_five_levels_of_its_own_plane() {
        assert_eq!(subbands(ChromaFormat::Half).count(), 51);
        for (width, height) in [(1, 1), (5, 3), (64, 64), (129, 77), (1280, 720)] {
            let half_width = usize::div_ceil(width, 2);
            let half_height = usize::div_ceil(height, 2);
            let own = subbands(ChromaFormat::Half).map(Subband::at).filter(|subband| subband.component == 2);
            let count = own.map(|subband| {
                let (width, height) = subband.size(width, height);
                let five = Subband { level: subband.level - 1, ..subband };
                assert_eq!(five.size(half_width, half_height), (width, height));
                width * height
            });
            assert_eq!(count.sum::<usize>(), half_width * half_height);
        }
    }

    #[test]
    fn the_slices_of_a_subband_cover_its_rows() {
        for height in [1, 63, 64, 65, 512, 1000, 4001] {
            let size = Size::new(3000, height).expect("a valid size");
            for index in 0..SUBBAND_COUNT {
                let subband = Subband::at(index);
                let mut next = 0;
                for slice in slices(size) {
                    let rows = rows(subband, size.height(), &slice);
                    assert_eq!(rows.start, next);
                    next = rows.end;
                    let own = subband.size(size.width(), slice.len()).1;
                    assert_eq!(rows.len(), own, "subband {index} of height {height}");
                }
                assert_eq!(next, subband.size(size.width(), size.height()).1);
            }
        }
    }
}
