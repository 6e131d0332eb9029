//! The segments of a row that may have values other than zero. Most of a residual is zero, so the synthesis works on
//! the others alone.
//!
//! A segment covers the same columns of the picture in every band: [`Segments::pixels`] of them. So a row of any band
//! has at most 64 segments, and a set of them is a `u64`.

use std::ops::Range;

use crate::subband::layout::WAVELET_LEVELS;

/// The segments of a row, the left one first, a bit each.
pub(crate) type Segments = u64;

/// Returns the pixels in a segment's row, a multiple of 2^[`WAVELET_LEVELS`], for a picture of `width` pixels.
pub(crate) const fn pixels(width: usize) -> usize {
    let least = width.div_ceil(Segments::BITS as usize).next_power_of_two();
    if least < 1 << WAVELET_LEVELS { 1 << WAVELET_LEVELS } else { least }
}

/// Returns the first `count` segments.
pub(crate) const fn first(count: usize) -> Segments {
    if count >= Segments::BITS as usize { Segments::MAX } else { (1 << count) - 1 }
}

/// Returns these segments and up to `distance` more on both sides.
pub(crate) fn widened(segments: Segments, distance: usize) -> Segments {
    (0..distance).fold(segments, |wide, _| wide | wide << 1 | wide >> 1)
}

/// Returns the runs of segments in the set.
pub(crate) fn runs(mut segments: Segments) -> impl Iterator<Item = Range<usize>> {
    std::iter::from_fn(move || {
        (segments != 0).then(|| {
            let start = segments.trailing_zeros();
            let end = start + (segments >> start).trailing_ones();
            segments &= Segments::MAX.checked_shl(end).unwrap_or(0);
            start as usize..end as usize
        })
    })
}

/// Returns runs that contain all of these segments, and some more where runs would be short: a run costs about as much
/// as two segments.
pub(crate) fn long_runs(segments: Segments) -> impl Iterator<Item = Range<usize>> {
    runs(segments | segments << 1 & segments >> 1 | segments << 2 & segments >> 1 | segments << 1 & segments >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_equal_bits() {
        assert_eq!(runs(0b1_0111_0010).collect::<Vec<_>>(), [1..2, 4..7, 8..9]);
        assert_eq!(runs(Segments::MAX).map(|run| [run.start, run.end]).collect::<Vec<_>>(), [[0, 64]]);
        assert_eq!(runs(0).count(), 0);
        assert_eq!(long_runs(0b1_0001_0010_1100).collect::<Vec<_>>(), [2..9, 12..13]);
        assert_eq!(long_runs(1 << 63 | 1).collect::<Vec<_>>(), [0..1, 63..64]);
    }

    #[test]
    fn segments_cover_every_width() {
        assert_eq!([1, 64, 4096, 4097, 16_384].map(pixels), [64, 64, 64, 128, 256]);
        assert_eq!([first(0), first(3), first(64)], [0, 7, Segments::MAX]);
        assert_eq!(widened(1 << 63 | 0b1000, 2), 0b111 << 61 | 0b11_1110);
    }
}
