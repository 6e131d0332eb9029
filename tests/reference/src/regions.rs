//! Section 11, "regions()", and the inverse rotations and gains of section 12.

use super::layout::{component, level, sibling, subband_size};
use super::slice::{Ended, Slice};

/// Three angles in 1/64 of half a turn.
pub(super) type Angles = [i32; 3];

/// The rotations and gains of a whole picture's regions.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    pub(super) width: usize,
    /// The first row of every slice, and finally the height.
    pub(super) borders: Vec<usize>,
    /// The rotations by slice and region.
    pub(super) rotations: Vec<Vec<Angles>>,
    /// The regions with a gain and their gains, by slice.
    pub(super) gains: Vec<Vec<(usize, i32)>>,
}

impl Regions {
    /// Returns whether any region is rotated or scaled.
    pub fn change(&self) -> bool {
        let rotate = self.rotations.iter().flatten().any(|angles| *angles != [0; 3]);
        rotate || self.gains.iter().flatten().any(|(_, gain)| *gain != 0)
    }

    /// Reverses the rotations and gains in the values of all 57 subbands, each of the whole picture, row by row.
    pub fn undo(&self, values: &mut [Vec<f64>]) {
        self.undo_rotations(values);
        self.undo_gains(values);
    }

    /// Reverses the gains alone.
    pub fn undo_gains(&self, values: &mut [Vec<f64>]) {
        let height = self.borders.last().copied().unwrap_or(0);
        let across = self.width.div_ceil(32);
        for (subband, values) in values.iter_mut().enumerate().skip(3) {
            if level(subband) > 4 || values.is_empty() {
                continue;
            }
            let (w, h) = subband_size(subband, self.width, height);
            let side = 32 >> level(subband);
            for (slice, gains) in self.gains.iter().enumerate() {
                let [first, last] = [0, 1].map(|more| self.borders[slice + more]);
                let end = if last == height { h } else { last >> level(subband) };
                for &(region, gain) in gains {
                    let (left, top) = (region % across * side, (first >> level(subband)) + region / across * side);
                    let rows = top..(top + side).min(end);
                    for (x, y) in rows.flat_map(|y| (left..(left + side).min(w)).map(move |x| (x, y))) {
                        values[y * w + x] *= (-f64::from(gain) / 4.0).exp2();
                    }
                }
            }
        }
    }

    fn undo_rotations(&self, values: &mut [Vec<f64>]) {
        let height = self.borders.last().copied().unwrap_or(0);
        let across = self.width.div_ceil(32);
        let of_slice = |rotations: &Vec<Angles>| rotations.iter().map(|&angles| matrix(angles)).collect();
        let matrices: Vec<Vec<_>> = self.rotations.iter().map(of_slice).collect();
        for luma in (12..57).filter(|&subband| component(subband) == 0) {
            let (w, h) = subband_size(luma, self.width, height);
            for (x, y) in (0..h).flat_map(|y| (0..w).map(move |x| (x, y))) {
                let first = |slice: usize| self.borders[slice] >> level(luma);
                let slice = (0..self.rotations.len()).rev().find(|&slice| first(slice) <= y).unwrap_or(0);
                let side = 32 >> level(luma);
                let region = (y - first(slice)) / side * across + x / side;
                let Some(r) = matrices[slice].get(region) else { continue };
                let three = [0, 1, 2].map(|c| values[sibling(luma, c)][y * w + x]);
                for c in 0..3 {
                    values[sibling(luma, c)][y * w + x] = (0..3).map(|k| r[k][c] * three[k]).sum();
                }
            }
        }
    }
}

fn matrix(angles: Angles) -> [[f64; 3]; 3] {
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    turned(identity, angles.map(|angle| f64::from(angle) * std::f64::consts::PI / 64.0))
}

/// Applies `turn` of sections 12 and 13 three times, by angles in radians.
pub(super) fn turned(mut rows: [[f64; 3]; 3], angles: [f64; 3]) -> [[f64; 3]; 3] {
    for ((i, j), angle) in [(0, 1), (0, 2), (1, 2)].into_iter().zip(angles) {
        let before = rows;
        for k in 0..3 {
            rows[i][k] = angle.cos() * before[i][k] - angle.sin() * before[j][k];
            rows[j][k] = angle.sin() * before[i][k] + angle.cos() * before[j][k];
        }
    }
    rows
}

/// A slice's numbers of its regions.
#[derive(Debug)]
pub(super) struct Numbers {
    across: usize,
    rotations: Vec<Angles>,
    of: Vec<Option<usize>>,
}

impl Numbers {
    pub(super) fn new(width: usize, height: usize, colour: bool) -> Self {
        let (across, down) = (width.div_ceil(32), height.div_ceil(32));
        Self { across, rotations: vec![[0; 3]], of: if colour { vec![None; across * down] } else { Vec::new() } }
    }

    fn at(&self, column: Option<usize>, row: Option<usize>) -> usize {
        let (Some(column), Some(row)) = (column, row) else { return 0 };
        self.of[row * self.across + column].unwrap_or(0)
    }
}

impl Slice<'_> {
    pub(super) fn regions(&mut self) -> Result<(), Ended> {
        for i in 0..self.numbers.of.len() {
            if self.numbers.of[i].is_none() && self.shows(i) {
                let number = self.region(i)?;
                self.numbers.of[i] = Some(number);
                self.journal.rotations.push((i, self.numbers.rotations[number]));
            }
        }
        Ok(())
    }

    fn shows(&self, i: usize) -> bool {
        let (column, row) = (i % self.numbers.across, i / self.numbers.across);
        (12..57).any(|subband| {
            let side = 32 >> level(subband);
            let of = &self.subbands[subband];
            let inside = |at: usize| i32::try_from(at).expect("a side is at most 16384");
            (0..side * side).any(|at| of.significant(inside(column * side + at % side), inside(row * side + at / side)))
        })
    }

    fn region(&mut self, i: usize) -> Result<usize, Ended> {
        let (column, row) = (i % self.numbers.across, i / self.numbers.across);
        let left = self.numbers.at(column.checked_sub(1), Some(row));
        let above = self.numbers.at(Some(column), row.checked_sub(1));
        let between = self.numbers.at(column.checked_sub(1), row.checked_sub(1));
        let odd = if between == left {
            1
        } else if between == above {
            2
        } else {
            0
        };
        let like_left = if left == above { 3 + usize::from(between == left) } else { odd };
        if self.code(7071 + like_left)? {
            return Ok(left);
        }
        if left != above && self.code(7076 + odd)? {
            return Ok(above);
        }
        let n = self.numbers.rotations.len();
        if n < 8 && self.code(7079 + n - 1)? {
            let mut angles = [0; 3];
            for (axis, angle) in angles.iter_mut().enumerate() {
                *angle = i32::try_from(self.tree(6, 7093 + 63 * axis)?).expect("six bits") - 32;
            }
            self.numbers.rotations.push(angles);
            return Ok(n);
        }
        let number = self.tree(3, 7086)?;
        Ok(if number < n { number } else { 0 })
    }

    fn tree(&mut self, bits: usize, contexts: usize) -> Result<usize, Ended> {
        let mut node = 1;
        for _ in 0..bits {
            node = 2 * node + usize::from(self.code(contexts + node - 1)?);
        }
        Ok(node - (1 << bits))
    }
}
