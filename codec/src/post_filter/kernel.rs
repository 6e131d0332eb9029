//! The filter's corrections of some samples of a row at once. Loops over a chunk become vector instructions where a
//! function does little else and each array that it writes is an argument of its own, so [`widest!`] keeps the
//! functions apart.

use std::ops::Range;

use crate::post_filter::BLOCK_SIDE;
use crate::post_filter::table::{CHROMA_TAPS, LUMA_TAPS, Runs};
use crate::simd::widest;

/// Samples of a row that are filtered together, and their blocks.
pub(super) const CHUNK_SAMPLES: usize = 64;
pub(super) const CHUNK_BLOCKS: usize = CHUNK_SAMPLES / BLOCK_SIDE;
/// Columns and rows to which a filter reaches.
pub(super) const FILTER_REACH: usize = 2;
/// Samples of a row that a chunk reads.
pub(super) const CHUNK_WITH_BORDER: usize = CHUNK_SAMPLES + 2 * FILTER_REACH;
/// Rows that a row of samples reads.
pub(super) const FILTER_ROWS: usize = 2 * FILTER_REACH + 1;
/// The nearest pairs of neighbours, and as many farther ones that only luma's filter has.
const NEAR_PAIRS: usize = 6;

pub(super) type Chunk = [i16; CHUNK_SAMPLES];
/// The part of a plane that a chunk reads, from two rows above to two below.
pub(super) type Seen<'a> = [&'a [i16; CHUNK_WITH_BORDER]; FILTER_ROWS];
/// Two opposite neighbours of each sample.
type Pair<'a> = [&'a Chunk; 2];

/// Lays the taps of a chunk's blocks next to each other; leaves those with a number in `without` as they are.
#[inline(always)]
pub(super) fn side_by_side<const N: usize>(
    filters: &[&Runs<N>; CHUNK_BLOCKS],
    without: Range<usize>,
    taps: &mut [Chunk; N],
) {
    // Four blocks at a time: a processor waits if it loads values that overlap several narrower stores just made.
    for (group, [a, b, c, d]) in filters.as_chunks().0.iter().enumerate() {
        for (tap, chunk) in taps.iter_mut().enumerate() {
            if !without.contains(&tap) {
                chunk.as_chunks_mut::<BLOCK_SIDE>().0.as_chunks_mut::<4>().0[group] = [a[tap], b[tap], c[tap], d[tap]];
            }
        }
    }
}

/// The chroma taps for luma's differences.
pub(super) const TAPS_OF_LUMA: Range<usize> = NEAR_PAIRS..2 * NEAR_PAIRS;

/// Clipped differences of the six nearest pairs of opposite neighbours to the sample in their middle, summed for each
/// pair.
#[derive(Debug)]
pub(super) struct Differences([Chunk; NEAR_PAIRS]);

impl Differences {
    pub(super) const NONE: Self = Self([[0; CHUNK_SAMPLES]; NEAR_PAIRS]);

    /// Computes them.
    pub(super) fn look_near(&mut self, seen: &Seen<'_>, step: i16) {
        let [a, b, c, d, e, f] = &mut self.0;
        let here = here(seen);
        widest!({
            clip_two(here, step, pair::<0, 1>(seen), pair::<0, 2>(seen), a, b);
            clip_two(here, step, pair::<1, 0>(seen), pair::<2, 0>(seen), c, d);
            clip_two(here, step, pair::<1, 1>(seen), pair::<1, -1>(seen), e, f);
        });
    }
}

/// Sets `sum` to the correction of luma's filter.
#[inline(always)]
pub(super) fn luma(seen: &Seen<'_>, step: i16, taps: &[Chunk; LUMA_TAPS], sum: &mut Chunk) {
    let here = here(seen);
    let [a, b, c, d, e, f] = [
        pair::<0, 1>(seen),
        pair::<0, 2>(seen),
        pair::<1, 0>(seen),
        pair::<2, 0>(seen),
        pair::<1, 1>(seen),
        pair::<1, -1>(seen),
    ];
    let [g, h, k, l, m, n] = [
        pair::<1, 2>(seen),
        pair::<1, -2>(seen),
        pair::<2, 1>(seen),
        pair::<2, -1>(seen),
        pair::<2, 2>(seen),
        pair::<2, -2>(seen),
    ];
    for (i, sum) in sum.iter_mut().enumerate() {
        let clipped = Clipped::new(here[i], step);
        let two = |even: &Pair<'_>, odd: &Pair<'_>, tap: usize| {
            let even = product(clipped.difference(even, i), taps[tap][i]);
            even.wrapping_sub(product(clipped.difference(odd, i), taps[tap + 1][i]))
        };
        let near = two(&a, &b, 0).wrapping_add(two(&c, &d, 2)).wrapping_add(two(&e, &f, 4));
        let far = two(&g, &h, 6).wrapping_add(two(&k, &l, 8)).wrapping_add(two(&m, &n, 10));
        *sum = near.wrapping_add(far);
    }
}

/// Sets `sum` to the correction of a chroma component's filter, from the component itself, the other component, and
/// luma if it has the same size.
pub(super) fn chroma(
    [own, other]: [&Differences; 2],
    luma: Option<&Differences>,
    taps: &[Chunk; CHROMA_TAPS],
    sum: &mut Chunk,
) {
    let (halves, _) = taps.as_chunks();
    let [own_taps, luma_taps]: [&[Chunk; NEAR_PAIRS]; 2] = [&halves[0], &halves[1]];
    let others = [&taps[2 * NEAR_PAIRS], &taps[2 * NEAR_PAIRS + 1]];
    widest!(set_eight(sum, &own.0, own_taps, [&other.0[0], &other.0[2]], others));
    if let Some(luma) = luma {
        widest!(add_six(sum, &luma.0, luma_taps));
    }
}

/// Returns the samples themselves.
fn here<'a>(seen: &Seen<'a>) -> &'a Chunk {
    seen[FILTER_REACH][FILTER_REACH..].first_chunk().expect("a chunk and what it sees")
}

/// A sample and the limits to which its neighbours are clipped.
#[derive(Clone, Copy)]
struct Clipped {
    least: i16,
    most: i16,
    doubled: i16,
}

impl Clipped {
    #[inline(always)]
    const fn new(here: i16, step: i16) -> Self {
        Self { least: here.saturating_sub(step), most: here.saturating_add(step), doubled: here << 1 }
    }

    /// Returns the sum of two opposite neighbours' differences.
    #[inline(always)]
    fn difference(self, pair: &Pair<'_>, i: usize) -> i16 {
        let clipped = |sample: i16| sample.max(self.least).min(self.most);
        clipped(pair[0][i]).wrapping_add(clipped(pair[1][i])).wrapping_sub(self.doubled)
    }
}

/// Returns the neighbours below or to the right, and the opposite ones.
#[inline(always)]
fn pair<'a, const DOWN: usize, const RIGHT: isize>(seen: &Seen<'a>) -> Pair<'a> {
    let part = |row: usize, column: usize| seen[row][column..].first_chunk().expect("a chunk and what it sees");
    [
        part(FILTER_REACH + DOWN, FILTER_REACH.wrapping_add_signed(RIGHT)),
        part(FILTER_REACH - DOWN, FILTER_REACH.wrapping_add_signed(-RIGHT)),
    ]
}

/// Sets `one` and `two` to the clipped differences of two pairs.
#[inline(always)]
fn clip_two(here: &Chunk, step: i16, first: Pair<'_>, second: Pair<'_>, one: &mut Chunk, two: &mut Chunk) {
    for i in 0..CHUNK_SAMPLES {
        let clipped = Clipped::new(here[i], step);
        one[i] = clipped.difference(&first, i);
        two[i] = clipped.difference(&second, i);
    }
}

/// Sets `sum` to the products of taps and differences, in 1/65536. Products of even index are rounded down; those of
/// odd index, whose taps are stored negated, are rounded up.
#[inline(always)]
fn set_eight(
    sum: &mut Chunk,
    own: &[Chunk; NEAR_PAIRS],
    own_taps: &[Chunk; NEAR_PAIRS],
    [even, odd]: [&Chunk; 2],
    [even_taps, odd_taps]: [&Chunk; 2],
) {
    for (i, sum) in sum.iter_mut().enumerate() {
        let others = product(even[i], even_taps[i]).wrapping_sub(product(odd[i], odd_taps[i]));
        *sum = others.wrapping_add(six(own, own_taps, i));
    }
}

/// Adds as [`set_eight`] does.
#[inline(always)]
fn add_six(sum: &mut Chunk, differences: &[Chunk; NEAR_PAIRS], taps: &[Chunk; NEAR_PAIRS]) {
    for (i, sum) in sum.iter_mut().enumerate() {
        *sum = sum.wrapping_add(six(differences, taps, i));
    }
}

#[inline(always)]
fn six(differences: &[Chunk; NEAR_PAIRS], taps: &[Chunk; NEAR_PAIRS], i: usize) -> i16 {
    let two = |tap: usize| {
        product(differences[tap][i], taps[tap][i]).wrapping_sub(product(differences[tap + 1][i], taps[tap + 1][i]))
    };
    two(0).wrapping_add(two(2)).wrapping_add(two(4))
}

#[inline(always)]
fn product(difference: i16, tap: i16) -> i16 {
    ((i32::from(difference) * i32::from(tap)) >> 16) as i16
}
