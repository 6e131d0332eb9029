//! Averages colour differences of 4:2:2 and 4:4:4 to those of 4:2:0 while it reads them.
//!
//! Means are rounded half up. At an odd right or lower edge the last column or row counts twice. The means of 4:4:4 lie
//! in the middle of 2x2 pixels, as in JPEG, those of 4:2:2 in the left column, as in MPEG-2.

use std::io::{self, Read};

use super::header::{Samples, Subsampling};
use super::samples;

/// Fills a plane of 4:2:0 from a plane of `kind`, for a picture of `width` by `height` pixels. `spare` is memory for two
/// rows.
pub(super) fn read(
    input: &mut impl Read,
    kind: Samples,
    [width, height]: [usize; 2],
    plane: &mut [u8],
    spare: &mut Vec<u8>,
) -> io::Result<()> {
    let half = width.div_ceil(2);
    let across = if kind.subsampling == Subsampling::C444 { width } else { half };
    spare.resize(2 * across, 0);
    for (y, out) in plane.chunks_exact_mut(half).enumerate() {
        let rows = (height - 2 * y).min(2);
        samples::read(input, kind.depth, &mut spare[..rows * across])?;
        let (upper, lower) = spare.split_at(across);
        let lower = if rows == 2 { lower } else { upper };
        match kind.subsampling {
            Subsampling::C444 => squares(upper, lower, out),
            _ => pairs(upper, lower, out),
        }
    }
    Ok(())
}

/// Averages pairs of samples, one below the other.
fn pairs(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    for ((out, &upper), &lower) in out.iter_mut().zip(upper).zip(lower) {
        *out = mean([upper, lower, upper, lower]);
    }
}

/// Averages squares of two by two samples.
fn squares(upper: &[u8], lower: &[u8], out: &mut [u8]) {
    for ((out, upper), lower) in out.iter_mut().zip(upper.chunks(2)).zip(lower.chunks(2)) {
        let last = upper.len() - 1;
        *out = mean([upper[0], upper[last], lower[0], lower[last]]);
    }
}

fn mean(samples: [u8; 4]) -> u8 {
    let sum: u16 = samples.into_iter().map(u16::from).sum();
    u8::try_from((sum + 2) / 4).unwrap_or(u8::MAX)
}
