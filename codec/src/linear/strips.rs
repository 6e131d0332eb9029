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

/// Rows to a strip, for as many strips as there are threads.
pub(super) fn rows(size: Size, threads: usize) -> usize {
    let least = (LEAST.0 / size.width()).max(LEAST.1);
    size.height().div_ceil(threads).max(least).next_multiple_of(ALIGN)
}

/// The strips of `rows` rows, the last of which may have fewer.
pub(super) fn strips(height: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..height).step_by(rows).map(move |start| start..(start + rows).min(height))
}
