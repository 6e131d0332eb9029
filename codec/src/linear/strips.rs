//! How a picture is divided among threads: into strips of rows, each of which needs some rows around it too. What
//! comes out does not depend on it.

use std::ops::Range;

use crate::picture::Size;

/// Rows of all components that are between wavelet and colour at a time: few enough to stay in cache.
pub(super) const TILE: usize = 8;
/// Strips begin on a multiple of this, so that they share no row of a band of the two finest levels.
const ALIGN: usize = 4;
/// Less than this is not worth a thread: pixels, and rows, since a strip does some work of its neighbours again.
const LEAST: (usize, usize) = (1 << 15, 64);

/// How a picture is divided.
#[derive(Debug, Clone, Copy)]
pub(super) struct Division {
    pub(super) threads: usize,
    /// Rows to a strip; a multiple of [`ALIGN`].
    pub(super) rows: usize,
}

impl Division {
    /// As many strips as threads, unless they become too small.
    pub(super) fn new(size: Size, threads: usize) -> Self {
        let least = (LEAST.0 / size.width()).max(LEAST.1);
        Self { threads, rows: size.height().div_ceil(threads).max(least).next_multiple_of(ALIGN) }
    }

    /// The strips, top to bottom; the last may have fewer rows.
    pub(super) fn strips(self, height: usize) -> impl Iterator<Item = Range<usize>> {
        (0..height).step_by(self.rows).map(move |start| start..(start + self.rows).min(height))
    }
}
