//! Interpolates a reference between its samples (spec, "Interpolation"), in 1/64 of a step: luma at quarters with eight
//! taps, chroma at eighths with four.
//!
//! Prior art: the taps are those of HEVC (Recommendation ITU-T H.265, 2013, section 8.5.3.3.3). Ugur, Alshin, Alshina,
//! Bossen, Han, Park and Lainema chose them by their response to a shift ("Motion compensated prediction and
//! interpolation filter design in H.265/HEVC", 2013).

use crate::motion::reference::{BORDER_SAMPLES, Past, Plane};
use crate::motion::taps::{Sums, with_sums};
use crate::motion::vector::Vector;
use crate::simd::widest;

/// The most rows, and the longest row, that are interpolated at once.
pub(super) const MAX_SIDE: usize = 24;
pub(super) const MAX_ROW: usize = 56;
/// The additional rows and columns that the longest filter needs.
const MAX_BEYOND: usize = 7;

const LUMA_TAPS: [[i16; 8]; 4] = [
    [0, 0, 0, 64, 0, 0, 0, 0],
    [-1, 4, -10, 58, 17, -5, 1, 0],
    [-1, 4, -11, 40, 40, -11, 4, -1],
    [0, 1, -5, 17, 58, -10, 4, -1],
];
const CHROMA_TAPS: [[i16; 4]; 8] = [
    [0, 64, 0, 0],
    [-2, 58, 10, -2],
    [-4, 54, 16, -2],
    [-6, 46, 28, -4],
    [-4, 36, 36, -4],
    [-4, 28, 46, -6],
    [-2, 16, 54, -4],
    [-2, 10, 58, -2],
];

/// Samples of a row are made in groups of this length, so that no loop has a remainder.
const GROUP_SAMPLES: usize = 8;

/// The row length of a window that is `width` wide; the samples after the width have no meaning.
pub(super) const fn row_length(width: usize) -> usize {
    width.next_multiple_of(GROUP_SAMPLES)
}

/// Memory for interpolated samples.
#[derive(Debug)]
pub(super) struct Window {
    samples: [i16; MAX_ROW * MAX_SIDE],
    between: [i16; MAX_ROW * (MAX_SIDE + MAX_BEYOND)],
}

impl Default for Window {
    fn default() -> Self {
        Self { samples: [0; MAX_ROW * MAX_SIDE], between: [0; MAX_ROW * (MAX_SIDE + MAX_BEYOND)] }
    }
}

impl Window {
    /// Returns the `side[0]` x `side[1]` samples whose first is at `corner` moved by `vector`, row by row, each of
    /// [`row_length`]; of luma or of a colour difference. Rows of more than [`MAX_SIDE`] samples are in what the plane
    /// [`reaches`](Plane::reaches).
    pub(super) fn fetch(
        &mut self,
        plane: &Plane,
        luma: bool,
        corner: [isize; 2],
        vector: Vector,
        side: [usize; 2],
    ) -> &[i16] {
        let length = row_length(side[0]);
        if luma {
            match length {
                8 => self.luma::<8>(plane, corner, vector, side),
                16 => self.luma::<16>(plane, corner, vector, side),
                40 => self.luma::<40>(plane, corner, vector, side),
                MAX_ROW => self.luma::<MAX_ROW>(plane, corner, vector, side),
                _ => self.luma::<MAX_SIDE>(plane, corner, vector, side),
            }
        } else {
            match length {
                8 => self.chroma::<8>(plane, corner, vector, side),
                16 => self.chroma::<16>(plane, corner, vector, side),
                32 => self.chroma::<32>(plane, corner, vector, side),
                _ => self.chroma::<MAX_SIDE>(plane, corner, vector, side),
            }
        }
        &self.samples[..length * side[1]]
    }

    /// Returns the mean, rounded down, of the last picture moved by one vector and the one before moved by another, as
    /// [`Window::fetch`] returns them; `other`: memory for the second.
    pub(super) fn fetch_mean(
        &mut self,
        other: &mut Self,
        planes: Past<&Plane>,
        luma: bool,
        corner: [isize; 2],
        vectors: [Vector; 2],
        side: [usize; 2],
    ) -> &[i16] {
        let count = self.fetch(planes.last, luma, corner, vectors[0], side).len();
        let second = other.fetch(planes.before, luma, corner, vectors[1], side);
        let first = &mut self.samples[..count];
        widest!(mean(first, second));
        first
    }

    /// Sets all samples to `value`, and returns them.
    pub(super) fn fill(&mut self, value: i16) -> &[i16] {
        self.samples.fill(value);
        &self.samples
    }

    fn luma<const LENGTH: usize>(&mut self, plane: &Plane, corner: [isize; 2], vector: Vector, side: [usize; 2]) {
        let (first, phases) = place::<2>(plane, corner, vector, side);
        let taps = phases.map(|phase| (phase != 0).then(|| &LUMA_TAPS[phase]));
        with_sums!(|sums| self.filter::<8, LENGTH>(sums, plane, first, side[1], taps));
    }

    fn chroma<const LENGTH: usize>(&mut self, plane: &Plane, corner: [isize; 2], vector: Vector, side: [usize; 2]) {
        let (first, phases) = place::<3>(plane, corner, vector, side);
        let taps = phases.map(|phase| (phase != 0).then(|| &CHROMA_TAPS[phase]));
        with_sums!(|sums| self.filter::<4, LENGTH>(sums, plane, first, side[1], taps));
    }

    /// Filters along rows, then along columns; without taps it copies whole samples. The samples that it reads beyond
    /// the width are inside the plane, because the plane's last row is never the last that is read.
    #[inline(always)]
    fn filter<const TAPS: usize, const LENGTH: usize>(
        &mut self,
        sums: impl Sums,
        plane: &Plane,
        [x, y]: [usize; 2],
        height: usize,
        [across, down]: [Option<&[i16; TAPS]>; 2],
    ) {
        let before = TAPS / 2 - 1;
        let (top, rows) = if down.is_some() { (y - before, height + TAPS - 1) } else { (y, height) };
        let out = if down.is_some() { &mut self.between[..] } else { &mut self.samples[..] };
        for (row, out) in out.as_chunks_mut::<LENGTH>().0[..rows].iter_mut().enumerate() {
            let row = &plane.samples[(top + row) * plane.stride + x - before..][..LENGTH + TAPS - 1];
            match across {
                Some(taps) => sums.along_row(row, taps, out),
                None => {
                    let samples: &[i16; LENGTH] = row[before..].first_chunk().expect("the row is longer");
                    // A loop of constant length: not every target has vectors for `map` of an array.
                    (0..LENGTH).for_each(|x| out[x] = samples[x] << 3);
                }
            }
        }
        let Some(taps) = down else { return };
        let rows = self.between.as_chunks::<LENGTH>().0;
        for (out, rows) in self.samples.as_chunks_mut().0[..height].iter_mut().zip(rows.array_windows::<TAPS>()) {
            sums.along_columns(rows, taps, out);
        }
    }
}

/// Returns the column and row of the first sample, with the samples that continue the plane, and the phases of a vector
/// of `BITS` fraction bits.
fn place<const BITS: u32>(
    plane: &Plane,
    corner: [isize; 2],
    vector: Vector,
    side: [usize; 2],
) -> ([usize; 2], [usize; 2]) {
    let at = |corner: isize, part: i16, length: usize, side: usize| {
        let whole = corner + isize::from(part >> BITS);
        // Beyond this, all samples repeat the outermost one.
        let least = 4 - BORDER_SAMPLES.cast_signed();
        let most = (length + BORDER_SAMPLES - 5).cast_signed() - side.cast_signed();
        (whole.min(most).max(least) + BORDER_SAMPLES.cast_signed()).cast_unsigned()
    };
    let first = [at(corner[0], vector.x, plane.width, side[0]), at(corner[1], vector.y, plane.height, side[1])];
    let mask = (1 << BITS) - 1;
    (first, [(vector.x & mask).cast_unsigned(), (vector.y & mask).cast_unsigned()].map(usize::from))
}

/// Stores the means of both in `first`, in 16 bits.
#[inline(always)]
fn mean(first: &mut [i16], second: &[i16]) {
    first.iter_mut().zip(second).for_each(|(a, b)| *a = (*a >> 1) + (b >> 1) + (*a & b & 1));
}
