//! Integer levels of a plane that is held whole, in its own memory: a level's low half of every row comes first, and
//! its low rows are the even ones. So the low band of `l` levels is in every 2^`l`th row, at the left.

use std::ops::Range;

use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::wavelet::lift::{Direction, Sample, Steps, Taps, mirror};

/// The samples beyond the end of a half that a step reads.
const PAD_SAMPLES: usize = 2;
/// The columns that are lifted at a time.
const TILE_COLUMNS: usize = 128;
/// How far from a sample the neighbours of a step are, in its column.
const NEIGHBOUR_ROWS: [isize; 4] = [-3, -1, 1, 3];

/// A level of a plane: the even samples of its columns are in every second of its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    /// From the start of a row to that of the next.
    stride: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
    steps: Steps<i32>,
    direction: Direction,
}

/// Splits a plane of `width` samples a row into levels with these taps, the finest first, or joins them. Analysis works
/// on the rows of each level, then on its columns; synthesis does the reverse.
pub(crate) fn transform(
    plane: &mut [i32],
    width: usize,
    taps: &[Taps<i32>],
    direction: Direction,
    room: &Scratch<i32>,
) {
    let height = plane.len() / width;
    for at in 0..taps.len() {
        let number = if direction == Direction::Analysis { at } else { taps.len() - 1 - at };
        let level = Level::new([width, height], number, &taps[number], direction);
        if direction == Direction::Analysis {
            level.rows(plane, room);
        }
        room.lend(level.height * TILE_COLUMNS, |numbers| {
            for tile in level.tiles() {
                let numbers = &mut numbers[..level.height * tile.len()];
                level.copy_in(plane, &tile, numbers);
                level.columns(numbers);
                for (y, row) in plane.chunks_mut(level.stride).enumerate() {
                    row[tile.clone()].copy_from_slice(&numbers[level.row(y, tile.len())]);
                }
            }
        });
        if direction == Direction::Synthesis {
            level.rows(plane, room);
        }
    }
}

impl Level {
    /// Level `number` of a plane of this width and height; the finest is 0.
    pub(crate) fn new([width, height]: [usize; 2], number: usize, taps: &Taps<i32>, direction: Direction) -> Self {
        let [across, down] = [width, height].map(|side| side.div_ceil(1 << number));
        let steps = Steps::new(taps, direction);
        Self { stride: width << number, width: across, height: down, steps, direction }
    }

    /// Returns the width and height of its low band.
    pub(crate) const fn low(&self) -> [usize; 2] {
        [self.width.div_ceil(2), self.height.div_ceil(2)]
    }

    /// Lifts rows of the level; `rows` begins at the start of one.
    pub(crate) fn rows(&self, rows: &mut [i32], room: &Scratch<i32>) {
        room.lend(self.width + 4 * PAD_SAMPLES, |numbers| {
            for row in rows.chunks_mut(self.stride) {
                along(&mut row[..self.width], self.steps, self.direction, &mut Arena(numbers));
            }
        });
    }

    /// Returns its columns, some at a time: as many as are in a cache while they are lifted.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let width = self.width;
        (0..width).step_by(TILE_COLUMNS).map(move |first| first..width.min(first + TILE_COLUMNS))
    }

    /// Divides numbers for all samples into those of each [tile](Self::tiles).
    pub(crate) fn split<'a>(
        &self,
        mut all: &'a mut [i32],
    ) -> impl Iterator<Item = (Range<usize>, &'a mut [i32])> + use<'a> {
        let height = self.height;
        self.tiles().map(move |tile| {
            let count = height * tile.len();
            (tile, all.split_off_mut(..count).unwrap_or_default())
        })
    }

    /// Returns the place of row `y` in a tile of `columns`: its even rows come before the odd ones.
    pub(crate) const fn row(&self, y: usize, columns: usize) -> Range<usize> {
        let first = (y / 2 + y % 2 * self.height.div_ceil(2)) * columns;
        first..first + columns
    }

    /// Copies the columns of a tile out of their plane.
    pub(crate) fn copy_in(&self, plane: &[i32], tile: &Range<usize>, numbers: &mut [i32]) {
        for (y, row) in plane.chunks(self.stride).enumerate() {
            numbers[self.row(y, tile.len())].copy_from_slice(&row[tile.clone()]);
        }
    }

    /// Lifts the columns of a tile.
    pub(crate) fn columns(&self, tile: &mut [i32]) {
        let height = self.height;
        if height < 2 {
            return;
        }
        let count = tile.len() / height;
        let (even, odd) = tile.split_at_mut(height.div_ceil(2) * count);
        let mut halves = [even, odd];
        for (number, taps) in self.steps.taps.into_iter().enumerate() {
            let parity = (self.steps.first + number) % 2;
            let [even, odd] = &mut halves;
            let (target, source) = if parity == 0 { (even, odd) } else { (odd, even) };
            for y in (parity..height).step_by(2) {
                let around = NEIGHBOUR_ROWS.map(|distance| mirror(y.cast_signed() + distance, height) / 2);
                i32::lift(
                    &mut target[y / 2 * count..][..count],
                    taps,
                    around.map(|row| &source[row * count..][..count]),
                );
            }
        }
    }
}

/// Separates the even samples of a row from its odd ones, which are as many or one fewer.
#[inline(always)]
fn separate(row: &[i32], even: &mut [i32], odd: &mut [i32]) {
    let (pairs, rest) = row.as_chunks::<2>();
    for ((pair, even), odd) in pairs.iter().zip(&mut *even).zip(odd) {
        [*even, *odd] = *pair;
    }
    if let ([last], Some(even)) = (rest, even.last_mut()) {
        *even = *last;
    }
}

/// Does the reverse of [`separate`].
#[inline(always)]
fn interleave(row: &mut [i32], even: &[i32], odd: &[i32]) {
    let (pairs, rest) = row.as_chunks_mut::<2>();
    for ((pair, even), odd) in pairs.iter_mut().zip(even).zip(odd) {
        *pair = [*even, *odd];
    }
    if let ([last], Some(even)) = (rest, even.last()) {
        *last = *even;
    }
}

/// Lifts along a row. Analysis leaves its even samples before its odd ones, synthesis expects them so.
fn along(row: &mut [i32], steps: Steps<i32>, direction: Direction, arena: &mut Arena<'_, i32>) {
    let width = row.len();
    let counts = [width.div_ceil(2), width / 2];
    let mut halves = counts.map(|count| arena.take(count + 2 * PAD_SAMPLES));
    let [own_even, own_odd] = counts.map(|count| PAD_SAMPLES..PAD_SAMPLES + count);
    let [even, odd] = &mut halves;
    match direction {
        Direction::Analysis => widest!(separate(row, &mut even[own_even.clone()], &mut odd[own_odd.clone()])),
        Direction::Synthesis => {
            even[own_even.clone()].copy_from_slice(&row[..counts[0]]);
            odd[own_odd.clone()].copy_from_slice(&row[counts[0]..]);
        }
    }
    for (number, taps) in steps.taps.into_iter().enumerate().filter(|_| width > 1) {
        let parity = (steps.first + number) % 2;
        let other = 1 - parity;
        for pad in 0..2 * PAD_SAMPLES {
            let at = if pad < PAD_SAMPLES { pad } else { pad + counts[other] };
            let position = (2 * at + other).cast_signed() - (2 * PAD_SAMPLES).cast_signed();
            halves[other][at] = halves[other][PAD_SAMPLES + mirror(position, width) / 2];
        }
        let [even, odd] = &mut halves;
        let (target, source) = if parity == 0 { (even, odd) } else { (odd, even) };
        let target = &mut target[PAD_SAMPLES..][..counts[parity]];
        i32::lift(target, taps, [0, 1, 2, 3].map(|at| &source[at + parity..]));
    }
    let [even, odd] = halves;
    let (even, odd) = (&even[own_even], &odd[own_odd]);
    match direction {
        Direction::Analysis => {
            row[..counts[0]].copy_from_slice(even);
            row[counts[0]..].copy_from_slice(odd);
        }
        Direction::Synthesis => widest!(interleave(row, even, odd)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::video::model::VideoModel;

    #[test]
    fn what_was_split_and_joined_is_nearly_what_it_was() {
        let model = VideoModel::built_in();
        let taps = &model.of(false).integer_wavelet.taps[..4];
        for (width, height) in [(1, 1), (1, 9), (2, 2), (3, 1), (37, 21), (64, 48), (300, 35)] {
            let mut number = 0_i32;
            let next = || {
                number = (number * 7919 + 104) % 4001;
                number - 2000
            };
            let before: Vec<i32> = std::iter::repeat_with(next).take(width * height).collect();
            let (mut plane, room) = (before.clone(), Scratch::default());
            transform(&mut plane, width, taps, Direction::Analysis, &room);
            assert!(width * height < 2 || plane != before);
            transform(&mut plane, width, taps, Direction::Synthesis, &room);
            let most = plane.iter().zip(&before).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            assert!(most <= 8, "{width} x {height}: {most}");
        }
    }
    #[test]
    fn tiles_of_a_level_hold_what_its_plane_would() {
        let model = VideoModel::built_in();
        let taps = &model.of(false).integer_wavelet.taps[..1];
        for [width, height] in [[1, 1], [1, 9], [2, 2], [129, 3], [300, 35], [256, 16]] {
            let room = Scratch::default();
            let sample = |at: usize| i32::try_from(at * 7919 % 4001).expect("small") - 2000;
            let mut rows: Vec<i32> = (0..width * height).map(sample).collect();
            let mut plane = rows.clone();
            transform(&mut plane, width, taps, Direction::Analysis, &room);
            let level = Level::new([width, height], 0, &taps[0], Direction::Analysis);
            level.rows(&mut rows, &room);
            let mut all = vec![0; width * height];
            let mut seen = 0;
            for (columns, tile) in level.split(&mut all) {
                level.copy_in(&rows, &columns, tile);
                level.columns(tile);
                for (y, row) in plane.chunks(width).enumerate() {
                    assert_eq!(tile[level.row(y, columns.len())], row[columns.clone()], "{width} x {height}, row {y}");
                }
                seen += columns.len();
            }
            assert_eq!(seen, width);
        }
    }
}
