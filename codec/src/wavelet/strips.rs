//! Divides a picture among threads into strips of rows. Each strip also needs some rows around it. The result does not
//! depend on the division.

use std::ops::Range;

use crate::picture::Size;

/// Rows of all components that are between wavelet and colour at the same time: few enough to stay in cache.
pub(super) const TILE_ROWS: usize = 8;
/// Strips begin on a multiple of this, so that they share no row of a band of the two finest levels.
const STRIP_ALIGN_ROWS: usize = 4;
/// The fewest pixels of a strip that justify a thread.
const MIN_STRIP_PIXELS: usize = 1 << 15;
/// The fewest rows of a strip, because it repeats some work of its neighbours.
const MIN_STRIP_ROWS: usize = 64;

/// The division of a picture into strips.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Division {
    /// Rows of a strip; a multiple of [`STRIP_ALIGN_ROWS`].
    pub(crate) rows: usize,
}

impl Division {
    /// Makes as many strips as threads, unless they become too small.
    pub(crate) fn new(size: Size, threads: usize) -> Self {
        let least = (MIN_STRIP_PIXELS / size.width()).max(MIN_STRIP_ROWS);
        Self { rows: size.height().div_ceil(threads).max(least).next_multiple_of(STRIP_ALIGN_ROWS) }
    }

    /// The strips, top to bottom; the last may have fewer rows.
    pub(crate) fn strips(self, height: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        (0..height).step_by(self.rows).map(move |start| start..(start + self.rows).min(height))
    }
}
