//! Averages colour differences of 4:2:2 and 4:4:4 to those of 4:2:0 while it reads them.
//!
//! Means are rounded half up. At an odd right or lower edge the last column or row counts twice. The means of 4:4:4 lie
//! in the middle of 2x2 pixels, as in JPEG, those of 4:2:2 in the left column, as in MPEG-2. The fields of an interlaced
//! video show two moments, so each is averaged by itself.

use std::io::{self, Read};

use nestcast_codec::Scan;

use super::header::{Samples, Subsampling};
use super::samples;

/// The rows that two rows of means are made of.
const GROUP_ROWS: usize = 4;

/// Fills a plane of 4:2:0 of `bits` bits a sample from a plane of `kind`, for a picture of `width` by `height` pixels.
/// `spare` is memory for four rows.
pub(super) fn read(
    input: &mut impl Read,
    (kind, bits, scan): (Samples, u8, Scan),
    sides: [usize; 2],
    plane: &mut [u8],
    spare: &mut Vec<u8>,
) -> io::Result<()> {
    if bits > 8 {
        read_samples::<2>(input, (kind, bits, scan), sides, plane, spare)
    } else {
        read_samples::<1>(input, (kind, bits, scan), sides, plane, spare)
    }
}

/// As [`read`], of samples of `N` bytes.
fn read_samples<const N: usize>(
    input: &mut impl Read,
    (kind, bits, scan): (Samples, u8, Scan),
    [width, height]: [usize; 2],
    plane: &mut [u8],
    spare: &mut Vec<u8>,
) -> io::Result<()> {
    let half = width.div_ceil(2);
    let across = if kind.subsampling == Subsampling::C444 { width } else { half };
    spare.resize(GROUP_ROWS * across * N, 0);
    // For each row of means, the rows of the group that it is made of.
    let sources = if scan == Scan::Progressive { [[0, 1], [2, 3]] } else { [[0, 2], [1, 3]] };
    for (number, means) in plane.as_chunks_mut::<N>().0.chunks_mut(2 * half).enumerate() {
        let rows = (height - GROUP_ROWS * number).min(GROUP_ROWS);
        samples::read(input, [kind.depth, bits], &mut spare[..rows * across * N])?;
        let row = |row: usize| &spare.as_chunks::<N>().0[row * across..][..across];
        for (out, [upper, lower]) in means.chunks_exact_mut(half).zip(sources) {
            let (upper, lower) = (row(upper), row(if lower < rows { lower } else { upper }));
            match kind.subsampling {
                Subsampling::C444 => squares(upper, lower, out),
                _ => pairs(upper, lower, out),
            }
        }
    }
    Ok(())
}

/// Averages pairs of samples, one below the other.
fn pairs<const N: usize>(upper: &[[u8; N]], lower: &[[u8; N]], out: &mut [[u8; N]]) {
    for ((out, &upper), &lower) in out.iter_mut().zip(upper).zip(lower) {
        *out = mean([upper, lower, upper, lower]);
    }
}

/// Averages squares of two by two samples.
fn squares<const N: usize>(upper: &[[u8; N]], lower: &[[u8; N]], out: &mut [[u8; N]]) {
    for ((out, upper), lower) in out.iter_mut().zip(upper.chunks(2)).zip(lower.chunks(2)) {
        let last = upper.len() - 1;
        *out = mean([upper[0], upper[last], lower[0], lower[last]]);
    }
}

/// Returns the mean of samples whose bytes are the lower ones first.
fn mean<const N: usize>(samples: [[u8; N]; 4]) -> [u8; N] {
    let value = |sample: [u8; N]| sample.iter().rev().fold(0, |value: u32, byte| value << 8 | u32::from(*byte));
    let bytes = ((samples.map(value).iter().sum::<u32>() + 2) / 4).to_le_bytes();
    std::array::from_fn(|at| bytes[at])
}
