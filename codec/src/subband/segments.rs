//! The segments of a row that may have values other than zero. Most of a residual is zero, so the synthesis works on
//! the others alone.
//!
//! A segment covers the same columns of the picture in every band: [`Segments::pixels`] of them. So a row of any band
//! has at most 64 segments, and a set of them is a `u64`.

use std::ops::Range;

use crate::subband::layout::LEVELS;

/// The segments of a row, the left one first, a bit each.
pub(crate) type Segments = u64;

/// Returns the pixels in a segment's row, a multiple of 2^[`LEVELS`], for a picture of `width` pixels.
pub(crate) const fn pixels(width: usize) -> usize {
    let least = width.div_ceil(Segments::BITS as usize).next_power_of_two();
    if least < 1 << LEVELS { 1 << LEVELS } else { least }
}

/// Returns the first `count` segments.
pub(crate) const fn first(count: usize) -> Segments {
    if count >= Segments::BITS as usize { Segments::MAX } else { (1 << count) - 1 }
}

/// Returns these segments and up to `distance` more on both sides.
pub(crate) fn widened(segments: Segments, distance: usize) -> Segments {
    (0..distance).fold(segments, |wide, _| wide | wide << 1 | wide >> 1)
}

/// Returns the runs of segments that are all in the set.
pub(crate) fn runs(segments: Segments) -> impl Iterator<Item = Range<usize>> {
    equal_runs([segments]).filter_map(|(run, [inside])| inside.then_some(run))
}

/// Divides all segments into runs that are inside or outside each set as a whole, and returns in which they are. The
/// run after the last segment of any set is left out.
pub(crate) fn equal_runs<const N: usize>(sets: [Segments; N]) -> impl Iterator<Item = (Range<usize>, [bool; N])> {
    let end = sets.into_iter().fold(0, |all, set| all | set).checked_ilog2().map_or(0, |last| last as usize + 1);
    let mut start = 0;
    std::iter::from_fn(move || {
        (start < end).then(|| {
            let rest = sets.map(|set| set >> start);
            let inside = rest.map(|set| set & 1 != 0);
            let changes = rest.map(|set| if set & 1 != 0 { set.trailing_ones() } else { set.trailing_zeros() });
            let count = changes.into_iter().min().unwrap_or(0) as usize;
            let run = start..(start + count).min(end);
            start = run.end;
            (run, inside)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_equal_bits() {
        assert_eq!(runs(0b1_0111_0010).collect::<Vec<_>>(), [1..2, 4..7, 8..9]);
        assert_eq!(runs(Segments::MAX).collect::<Vec<_>>(), [0..64]);
        assert_eq!(runs(0).count(), 0);
        let both: Vec<_> = equal_runs([0b0110, 0b1100]).collect();
        assert_eq!(both, [(0..1, [false; 2]), (1..2, [true, false]), (2..3, [true; 2]), (3..4, [false, true])]);
        assert_eq!(equal_runs([Segments::MAX, 1]).last(), Some((1..64, [true, false])));
    }

    #[test]
    fn segments_cover_every_width() {
        assert_eq!([1, 64, 4096, 4097, 16_384].map(pixels), [64, 64, 64, 128, 256]);
        assert_eq!([first(0), first(3), first(64)], [0, 7, Segments::MAX]);
        assert_eq!(widened(1 << 63 | 0b1000, 2), 0b111 << 61 | 0b11_1110);
    }
}
