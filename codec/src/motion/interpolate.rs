//! Samples of a reference between its samples (spec, "Interpolation"), in 1/64 of a step: eight taps in luma, at quarters;
//! four in chroma, at eighths.
//!
//! Prior art: the interpolation filters of HEVC (Recommendation ITU-T H.265, section 8.5.3.3.3).

use crate::motion::reference::{BORDER, Plane};
use crate::motion::vector::Vector;

/// The longest side of what is interpolated at once.
pub(super) const MAX_SIDE: usize = 24;
/// Rows and columns that the longest filter needs beyond.
const MAX_BEYOND: usize = 7;

const LUMA: [[i16; 8]; 4] = [
    [0, 0, 0, 64, 0, 0, 0, 0],
    [-1, 4, -10, 58, 17, -5, 1, 0],
    [-1, 4, -11, 40, 40, -11, 4, -1],
    [0, 1, -5, 17, 58, -10, 4, -1],
];
const CHROMA: [[i16; 4]; 8] = [
    [0, 64, 0, 0],
    [-2, 58, 10, -2],
    [-4, 54, 16, -2],
    [-6, 46, 28, -4],
    [-4, 36, 36, -4],
    [-4, 28, 46, -6],
    [-2, 16, 54, -4],
    [-2, 10, 58, -2],
];

/// Room for what is interpolated.
#[derive(Debug)]
pub(super) struct Window {
    samples: [i16; MAX_SIDE * MAX_SIDE],
    between: [i16; MAX_SIDE * (MAX_SIDE + MAX_BEYOND)],
}

impl Default for Window {
    fn default() -> Self {
        Self { samples: [0; MAX_SIDE * MAX_SIDE], between: [0; MAX_SIDE * (MAX_SIDE + MAX_BEYOND)] }
    }
}

impl Window {
    /// The `side[0]` x `side[1]` samples whose first is at `corner` moved by `vector`, row by row; of luma or of a
    /// colour difference.
    pub(super) fn fetch(
        &mut self,
        plane: &Plane,
        luma: bool,
        corner: [isize; 2],
        vector: Vector,
        side: [usize; 2],
    ) -> &[i16] {
        let bits = if luma { 2 } else { 3 };
        let at = |corner: isize, part: i16, length: usize, side: usize| {
            let whole = corner + isize::from(part >> bits);
            // Beyond this all that is read is the outermost sample continued.
            let (least, most) = (4 - BORDER.cast_signed(), (length + BORDER - 5 - side).cast_signed());
            (whole.clamp(least, most) + BORDER.cast_signed()).cast_unsigned()
        };
        let first = [at(corner[0], vector.x, plane.width, side[0]), at(corner[1], vector.y, plane.height, side[1])];
        let mask = (1 << bits) - 1;
        let phases = [(vector.x & mask).cast_unsigned(), (vector.y & mask).cast_unsigned()].map(usize::from);
        if luma {
            self.filter(plane, first, side, phases.map(|phase| (phase != 0).then(|| &LUMA[phase])));
        } else {
            self.filter(plane, first, side, phases.map(|phase| (phase != 0).then(|| &CHROMA[phase])));
        }
        &self.samples[..side[0] * side[1]]
    }

    /// Along rows, then along columns; no taps: whole samples.
    fn filter<const TAPS: usize>(
        &mut self,
        plane: &Plane,
        [x, y]: [usize; 2],
        [width, height]: [usize; 2],
        [across, down]: [Option<&[i16; TAPS]>; 2],
    ) {
        let before = TAPS / 2 - 1;
        let (top, rows) = if down.is_some() { (y - before, height + TAPS - 1) } else { (y, height) };
        let out = if down.is_some() { &mut self.between[..width * rows] } else { &mut self.samples[..width * rows] };
        for (row, out) in out.chunks_exact_mut(width).enumerate() {
            let row = &plane.samples[(top + row) * plane.stride..];
            match across {
                Some(taps) => along_row(&row[x - before..][..width + TAPS - 1], taps, out),
                None => out.iter_mut().zip(&row[x..][..width]).for_each(|(out, sample)| *out = sample << 3),
            }
        }
        let Some(taps) = down else { return };
        for (row, out) in self.samples.chunks_exact_mut(width).take(height).enumerate() {
            let rows: [&[i16]; TAPS] = std::array::from_fn(|tap| &self.between[(row + tap) * width..][..width]);
            along_columns(rows, taps, out);
        }
    }
}

/// From eighths to 1/64: the taps' sum is 64 times 1/8, so an eighth of it remains.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "taps of at most 112/64 in all keep 11 bits below 15")]
fn along_row<const TAPS: usize>(row: &[i16], taps: &[i16; TAPS], out: &mut [i16]) {
    let shifted: [&[i16]; TAPS] = std::array::from_fn(|tap| &row[tap..][..out.len()]);
    for (at, out) in out.iter_mut().enumerate() {
        let sum: i32 = (0..TAPS).map(|tap| i32::from(taps[tap]) * i32::from(shifted[tap][at])).sum();
        *out = (sum >> 3) as i16;
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "taps of at most 112/64 in all keep 14 bits below 16")]
fn along_columns<const TAPS: usize>(rows: [&[i16]; TAPS], taps: &[i16; TAPS], out: &mut [i16]) {
    for (at, out) in out.iter_mut().enumerate() {
        let sum: i32 = (0..TAPS).map(|tap| i32::from(taps[tap]) * i32::from(rows[tap][at])).sum();
        *out = (sum >> 6) as i16;
    }
}
