//! Integer levels of a plane that is held whole, in its own memory: a level's low half of every row comes first, and
//! its low rows are the even ones. So the low band of `l` levels is in every 2^`l`th row, at the left.

use crate::scratch::{Arena, Scratch};
use crate::simd::widest;
use crate::wavelet::lift::{Direction, Sample, Steps, Taps, mirror};

/// The samples beyond the end of a half that a step reads.
const PAD_SAMPLES: usize = 2;
/// The columns that are lifted at a time.
const TILE_COLUMNS: usize = 128;
/// How far from a sample the neighbours of a step are, in its column.
const NEIGHBOUR_ROWS: [isize; 4] = [-3, -1, 1, 3];

/// The samples of a level in its plane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level<'a> {
    /// From the start of a row to that of the next.
    stride: usize,
    width: usize,
    height: usize,
    steps: Steps<i32>,
    room: &'a Scratch<i32>,
    direction: Direction,
}

/// Splits a plane of `width` samples a row into levels, or joins them: all that have taps here, the finest first, from
/// number `first` on. Analysis works on the rows of each level, then on its columns; synthesis does the reverse.
pub(crate) fn transform(
    plane: &mut [i32],
    width: usize,
    (taps, first): (&[Taps<i32>], usize),
    direction: Direction,
    room: &Scratch<i32>,
) {
    for at in first..taps.len() {
        let number = if direction == Direction::Analysis { at } else { first + taps.len() - 1 - at };
        let level = Level::new([width, plane.len() / width], number, &taps[number], direction, room);
        if direction == Direction::Analysis {
            level.rows(plane);
        }
        level.tiles(plane).for_each(|mut tile| level.columns(&mut tile.rows));
        if direction == Direction::Synthesis {
            level.rows(plane);
        }
    }
}

/// Some columns of a level.
pub(crate) struct Tile<'a> {
    /// The number of the first column.
    pub(crate) first: usize,
    pub(crate) rows: Vec<&'a mut [i32]>,
}

impl<'r> Level<'r> {
    /// Level `number` of a plane of this width and height; the finest is 0.
    pub(crate) fn new(
        [width, height]: [usize; 2],
        number: usize,
        taps: &Taps<i32>,
        direction: Direction,
        room: &'r Scratch<i32>,
    ) -> Self {
        let [across, down] = [width, height].map(|side| side.div_ceil(1 << number));
        let steps = Steps::new(taps, direction);
        Self { stride: width << number, width: across, height: down, steps, room, direction }
    }

    /// Lifts some of its rows, which begin with one of them.
    pub(crate) fn rows(&self, rows: &mut [i32]) {
        self.room.lend(self.width + 4 * PAD_SAMPLES, |numbers| {
            for row in rows.chunks_mut(self.stride) {
                along(&mut row[..self.width], self.steps, self.direction, &mut Arena(numbers));
            }
        });
    }

    /// Returns its columns, some at a time: they are in a cache while they are lifted.
    pub(crate) fn tiles<'a>(&self, plane: &'a mut [i32]) -> impl Iterator<Item = Tile<'a>> + use<'a> {
        let tile = |first| Tile { first, rows: Vec::with_capacity(self.height) };
        let mut tiles: Vec<Tile<'a>> = (0..self.width).step_by(TILE_COLUMNS).map(tile).collect();
        for row in plane.chunks_mut(self.stride) {
            let parts = row[..self.width].chunks_mut(TILE_COLUMNS);
            tiles.iter_mut().zip(parts).for_each(|(tile, part)| tile.rows.push(part));
        }
        tiles.into_iter()
    }

    /// Lifts some columns, their even samples apart from their odd ones.
    pub(crate) fn columns(&self, rows: &mut [&mut [i32]]) {
        let height = rows.len();
        if height < 2 {
            return;
        }
        self.room.lend(height.next_multiple_of(2) * TILE_COLUMNS, |numbers| {
            let (even, odd) = numbers.split_at_mut(height.div_ceil(2) * TILE_COLUMNS);
            let mut halves = [even, odd];
            let count = rows[0].len();
            for (y, row) in rows.iter().enumerate() {
                halves[y % 2][y / 2 * count..][..count].copy_from_slice(row);
            }
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
            for (y, row) in rows.iter_mut().enumerate() {
                row.copy_from_slice(&halves[y % 2][y / 2 * count..][..count]);
            }
        });
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
        for (width, height) in [(1, 1), (1, 9), (2, 2), (3, 1), (37, 21), (64, 48)] {
            let mut number = 0_i32;
            let next = || {
                number = (number * 7919 + 104) % 4001;
                number - 2000
            };
            let before: Vec<i32> = std::iter::repeat_with(next).take(width * height).collect();
            let (mut plane, room) = (before.clone(), Scratch::default());
            transform(&mut plane, width, (taps, 0), Direction::Analysis, &room);
            assert!(width * height < 2 || plane != before);
            transform(&mut plane, width, (taps, 0), Direction::Synthesis, &room);
            let most = plane.iter().zip(&before).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            assert!(most <= 8, "{width} x {height}: {most}");
        }
    }
}
