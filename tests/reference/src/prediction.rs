//! Sections 24 and 25: samples between samples, and the overlapped prediction, one sample at a time.

use super::motion::{Block, Field, Source, Vector};

const LUMA: [[i64; 8]; 4] = [
    [0, 0, 0, 64, 0, 0, 0, 0],
    [-1, 4, -10, 58, 17, -5, 1, 0],
    [-1, 4, -11, 40, 40, -11, 4, -1],
    [0, 1, -5, 17, 58, -10, 4, -1],
];
const CHROMA: [[i64; 4]; 8] = [
    [0, 64, 0, 0],
    [-2, 58, 10, -2],
    [-4, 54, 16, -2],
    [-6, 46, 28, -4],
    [-4, 36, 36, -4],
    [-4, 28, 46, -6],
    [-2, 16, 54, -4],
    [-2, 10, 58, -2],
];

/// One plane of a picture: samples in 1/8 of a step, less 128.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) samples: Vec<i64>,
}

impl Plane {
    /// Returns the sample at a place, or the nearest one to it.
    fn at(&self, x: i64, y: i64) -> i64 {
        let held = |at: i64, count: usize| usize::try_from(at.max(0)).expect("not negative").min(count - 1);
        self.samples[held(y, self.height) * self.width + held(x, self.width)]
    }

    /// Section 24: returns the value to which a vector leads from a place, in 1/64 of a step.
    fn between(&self, luma: bool, x: usize, y: usize, vector: Vector) -> i64 {
        let (bits, before) = if luma { (2, 3) } else { (3, 1) };
        let taps = |phase: i32| if luma { LUMA[phase as usize].to_vec() } else { CHROMA[phase as usize].to_vec() };
        let place = |at: usize, part: i32| {
            let at = i64::try_from(at).expect("a side is at most 16384");
            (at + i64::from(part >> bits), part & ((1 << bits) - 1))
        };
        let ((x, right), (y, down)) = (place(x, vector.0), place(y, vector.1));
        let along_row = |y: i64| match right {
            0 => self.at(x, y) << 3,
            _ => (-before..).zip(taps(right)).map(|(k, tap)| tap * self.at(x + k, y)).sum::<i64>() >> 3,
        };
        match down {
            0 => along_row(y),
            _ => (-before..).zip(taps(down)).map(|(k, tap)| tap * along_row(y + k)).sum::<i64>() >> 6,
        }
    }
}

/// Section 25: predicts plane `number` from the same plane of these pictures, the last one and the one before.
pub(super) fn predict(
    field: &Field,
    number: usize,
    from_enhancement_reference: [&Plane; 2],
    from_base_reference: [&Plane; 2],
) -> Plane {
    let luma = number == 0;
    let (side, shift) = if luma { (8, 11) } else { (4, 9) };
    let (width, height) = (from_enhancement_reference[0].width, from_enhancement_reference[0].height);
    let mut samples = Vec::new();
    for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
        let mut sum = 0;
        for (row, down) in weights(y, side, 2 * field.down) {
            for (column, across) in weights(x, side, 2 * field.across) {
                let at = row / 2 * field.across + column / 2;
                let from = if field.sources[at] == Source::EnhancementReference {
                    from_enhancement_reference
                } else {
                    from_base_reference
                };
                let value = match field.blocks[at] {
                    Block::Moved(vectors) => from[0].between(luma, x, y, vectors[row % 2 * 2 + column % 2]),
                    Block::Bipredicted([first, second]) => {
                        (from[0].between(luma, x, y, first) + from[1].between(luma, x, y, second)) >> 1
                    }
                    Block::Constant(level) if luma => (i64::from(level) * 4 - 128) * 64,
                    Block::Constant(_) => 0,
                };
                sum += across * down * value;
            }
        }
        samples.push((sum + (1 << (shift - 1))) >> shift);
    }
    Plane { width, height, samples }
}

/// Returns the cells that a sample belongs to along one axis, and their weights.
fn weights(at: usize, side: usize, cells: usize) -> [(usize, i64); 2] {
    let (cell, within) = (at / side, at % side);
    let other = if 2 * within < side { cell.saturating_sub(1) } else { (cell + 1).min(cells - 1) };
    let away = (2 * within + 1).abs_diff(side);
    [(cell, 2 * side - away), (other, away)].map(|(cell, weight)| (cell, i64::try_from(weight).expect("at most 16")))
}
