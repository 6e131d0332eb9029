//! The filter's corrections of some samples of a row at once. Loops over a chunk become vector instructions where a
//! function does little else and each array that it writes is an argument of its own, so [`widest!`] keeps the
//! functions apart.

use crate::post_filter::BLOCK;
use crate::post_filter::table::{CHROMA_TAPS, LUMA_TAPS, Runs};
use crate::simd::widest;

/// Samples of a row that are filtered together, and their blocks.
pub(super) const CHUNK_SAMPLES: usize = 64;
pub(super) const CHUNK_BLOCKS: usize = CHUNK_SAMPLES / BLOCK;
/// Columns and rows to which a filter reaches.
pub(super) const FILTER_REACH: usize = 2;
/// Samples of a row that a chunk reads.
pub(super) const CHUNK_WITH_BORDER: usize = CHUNK_SAMPLES + 2 * FILTER_REACH;
/// Rows that a row of samples reads.
pub(super) const ROWS: usize = 2 * FILTER_REACH + 1;
/// The nearest pairs of neighbours, and as many farther ones that only luma's filter has.
const NEAR: usize = 6;

pub(super) type Chunk = [i16; CHUNK_SAMPLES];
/// The part of a plane that a chunk reads, from two rows above to two below.
pub(super) type Seen<'a> = [&'a [i16; CHUNK_WITH_BORDER]; ROWS];
/// Two opposite neighbours of each sample.
type Pair<'a> = [&'a Chunk; 2];

/// Lays the taps of a chunk's blocks next to each other.
pub(super) fn side_by_side<'a, const N: usize>(filters: impl Iterator<Item = &'a Runs<N>>, taps: &mut [Chunk; N]) {
    for (block, filter) in filters.enumerate().take(CHUNK_BLOCKS) {
        for (chunk, run) in taps.iter_mut().zip(filter) {
            chunk[block * BLOCK..][..BLOCK].copy_from_slice(run);
        }
    }
}

/// Clipped differences of pairs of opposite neighbours to the sample in their middle, summed for each pair.
#[derive(Debug)]
pub(super) struct Differences {
    near: [Chunk; NEAR],
    far: [Chunk; NEAR],
}

impl Differences {
    pub(super) const NONE: Self = Self { near: [[0; CHUNK_SAMPLES]; NEAR], far: [[0; CHUNK_SAMPLES]; NEAR] };

    /// Computes the six nearest pairs.
    pub(super) fn look_near(&mut self, seen: &Seen<'_>, step: i16) {
        let [a, b, c, d, e, f] = &mut self.near;
        let here = here(seen);
        widest!({
            clip_two(here, step, pair::<0, 1>(seen), pair::<0, 2>(seen), a, b);
            clip_two(here, step, pair::<1, 0>(seen), pair::<2, 0>(seen), c, d);
            clip_two(here, step, pair::<1, 1>(seen), pair::<1, -1>(seen), e, f);
        });
    }

    /// Computes the next six.
    pub(super) fn look_far(&mut self, seen: &Seen<'_>, step: i16) {
        let [a, b, c, d, e, f] = &mut self.far;
        let here = here(seen);
        widest!({
            clip_two(here, step, pair::<1, 2>(seen), pair::<1, -2>(seen), a, b);
            clip_two(here, step, pair::<2, 1>(seen), pair::<2, -1>(seen), c, d);
            clip_two(here, step, pair::<2, 2>(seen), pair::<2, -2>(seen), e, f);
        });
    }
}

/// Sets `sum` to the correction of luma's filter.
pub(super) fn luma(own: &Differences, taps: &[Chunk; LUMA_TAPS], sum: &mut Chunk) {
    let (near, far) = halves(taps);
    widest!({
        *sum = [0; CHUNK_SAMPLES];
        add_six(sum, &own.near, near);
        add_six(sum, &own.far, far);
    });
}

/// Sets `sum` to the correction of a chroma component's filter, from the component itself, luma and the other
/// component.
pub(super) fn chroma([own, luma, other]: [&Differences; 3], taps: &[Chunk; CHROMA_TAPS], sum: &mut Chunk) {
    let (own_taps, luma_taps) = halves(taps);
    widest!({
        *sum = [0; CHUNK_SAMPLES];
        add_six(sum, &own.near, own_taps);
        add_six(sum, &luma.near, luma_taps);
        add_two(sum, [&other.near[0], &other.near[2]], [&taps[2 * NEAR], &taps[2 * NEAR + 1]]);
    });
}

/// Returns the taps of the first six pairs, and of the next six.
fn halves<const N: usize>(taps: &[Chunk; N]) -> (&[Chunk; NEAR], &[Chunk; NEAR]) {
    let (halves, _) = taps.as_chunks();
    (&halves[0], &halves[1])
}

/// Returns the samples themselves.
fn here<'a>(seen: &Seen<'a>) -> &'a Chunk {
    seen[FILTER_REACH][FILTER_REACH..].first_chunk().expect("a chunk and what it sees")
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
        let least = here[i].saturating_sub(step);
        let most = here[i].saturating_add(step);
        let clipped = |sample: i16| sample.max(least).min(most);
        let difference =
            |pair: Pair<'_>| clipped(pair[0][i]).wrapping_add(clipped(pair[1][i])).wrapping_sub(here[i] << 1);
        one[i] = difference(first);
        two[i] = difference(second);
    }
}

/// Adds the products of taps and differences, in 1/65536. Products of even index are rounded down; those of odd index,
/// whose taps are stored negated, are rounded up.
#[inline(always)]
fn add_six(sum: &mut Chunk, [a, b, c, d, e, f]: &[Chunk; NEAR], [ta, tb, tc, td, te, tf]: &[Chunk; NEAR]) {
    for i in 0..CHUNK_SAMPLES {
        let two = |even: &Chunk, even_taps: &Chunk, odd: &Chunk, odd_taps: &Chunk| {
            product(even[i], even_taps[i]).wrapping_sub(product(odd[i], odd_taps[i]))
        };
        let four = two(a, ta, b, tb).wrapping_add(two(c, tc, d, td));
        sum[i] = sum[i].wrapping_add(four).wrapping_add(two(e, te, f, tf));
    }
}

/// As [`add_six`], for two.
#[inline(always)]
fn add_two(sum: &mut Chunk, [even, odd]: [&Chunk; 2], [even_taps, odd_taps]: [&Chunk; 2]) {
    for i in 0..CHUNK_SAMPLES {
        let added = product(even[i], even_taps[i]).wrapping_sub(product(odd[i], odd_taps[i]));
        sum[i] = sum[i].wrapping_add(added);
    }
}

#[inline(always)]
fn product(difference: i16, tap: i16) -> i16 {
    ((i32::from(difference) * i32::from(tap)) >> 16) as i16
}
