//! Some samples of a row at once: what a filter adds to them. Loops over eight numbers become vector instructions where a
//! function does little else, so the functions below stay apart.

use crate::post_filter::BLOCK;
use crate::post_filter::table::{CHROMA_TAPS, LUMA_TAPS, Runs};

/// Samples of a row that are filtered together, and blocks.
pub(super) const CHUNK: usize = 64;
pub(super) const CHUNK_BLOCKS: usize = CHUNK / BLOCK;
/// Columns and rows that a filter reaches to.
pub(super) const REACH: usize = 2;
/// Samples that a chunk sees in a row.
pub(super) const SEEN: usize = CHUNK + 2 * REACH;
/// Rows that a row sees.
pub(super) const ROWS: usize = 2 * REACH + 1;
/// Numbers of a vector.
const LANES: usize = 8;

pub(super) type Chunk = [i16; CHUNK];
/// What a chunk sees of a plane, from two rows above to two below.
pub(super) type Seen<'a> = [&'a [i16; SEEN]; ROWS];
/// Two opposite neighbours of each sample.
type Pair<'a> = [&'a Chunk; 2];

/// The taps of a chunk's blocks, side by side.
pub(super) fn side_by_side<'a, const N: usize>(filters: impl Iterator<Item = &'a Runs<N>>, taps: &mut [Chunk; N]) {
    for (block, filter) in filters.enumerate().take(CHUNK_BLOCKS) {
        for (chunk, run) in taps.iter_mut().zip(filter) {
            chunk[block * BLOCK..][..BLOCK].copy_from_slice(run);
        }
    }
}

/// Makes `sum` what luma's filter adds.
pub(super) fn luma(own: &Seen<'_>, step: i16, taps: &[Chunk; LUMA_TAPS], sum: &mut Chunk) {
    let [near_taps, far_taps] = halves(taps);
    *sum = [0; CHUNK];
    let own_limits = Limits::new(own, step);
    near(sum, own, &own_limits, near_taps);
    add_two(sum, &own_limits, [pair::<1, 2>(own), pair::<1, -2>(own)], &far_taps[0]);
    add_two(sum, &own_limits, [pair::<2, 1>(own), pair::<2, -1>(own)], &far_taps[1]);
    add_two(sum, &own_limits, [pair::<2, 2>(own), pair::<2, -2>(own)], &far_taps[2]);
}

/// Makes `sum` what a chroma component's filter adds, by itself, luma and the other one.
pub(super) fn chroma([own, luma, other]: [&Seen<'_>; 3], step: i16, taps: &[Chunk; CHROMA_TAPS], sum: &mut Chunk) {
    *sum = [0; CHUNK];
    let [own_taps, luma_taps] = halves(taps);
    near(sum, own, &Limits::new(own, step), own_taps);
    near(sum, luma, &Limits::new(luma, step), luma_taps);
    let (limits, cross) = (Limits::new(other, step), [pair::<0, 1>(other), pair::<1, 0>(other)]);
    add_two(sum, &limits, cross, &taps.as_chunks().0[6]);
}

/// Taps two by two: those of the first six pairs, and of the next six.
fn halves<const N: usize>(taps: &[Chunk; N]) -> [&[[Chunk; 2]]; 2] {
    let (first, rest) = taps.as_chunks().0.split_at(3);
    [first, &rest[..3]]
}

/// The six pairs of neighbours that are nearest.
fn near(sum: &mut Chunk, seen: &Seen<'_>, limits: &Limits, taps: &[[Chunk; 2]]) {
    add_two(sum, limits, [pair::<0, 1>(seen), pair::<0, 2>(seen)], &taps[0]);
    add_two(sum, limits, [pair::<1, 0>(seen), pair::<2, 0>(seen)], &taps[1]);
    add_two(sum, limits, [pair::<1, 1>(seen), pair::<1, -1>(seen)], &taps[2]);
}

/// The neighbours below or to the right, and those opposite.
#[inline(always)]
fn pair<'a, const DOWN: usize, const RIGHT: isize>(seen: &Seen<'a>) -> Pair<'a> {
    let part = |row: usize, column: usize| seen[row][column..].first_chunk().expect("a chunk and what it sees");
    [part(REACH + DOWN, REACH.wrapping_add_signed(RIGHT)), part(REACH - DOWN, REACH.wrapping_add_signed(-RIGHT))]
}

/// What neighbours are clipped to: within a step of the sample in their middle.
struct Limits {
    least: Chunk,
    most: Chunk,
    twice: Chunk,
}

impl Limits {
    fn new(seen: &Seen<'_>, step: i16) -> Self {
        let here: &Chunk = seen[REACH][REACH..].first_chunk().expect("a chunk and what it sees");
        let mut limits = Self { least: [0; CHUNK], most: [0; CHUNK], twice: [0; CHUNK] };
        for (i, &sample) in here.iter().enumerate() {
            limits.least[i] = sample.saturating_sub(step);
            limits.most[i] = sample.saturating_add(step);
            limits.twice[i] = sample.wrapping_add(sample);
        }
        limits
    }
}

/// Adds two taps times the clipped differences of their neighbours to the sample in the middle, each pair summed: in
/// 1/65536, of the first tap rounded down, of the second, which is negated, rounded up.
#[inline(never)]
fn add_two(sum: &mut Chunk, limits: &Limits, [first, second]: [Pair<'_>; 2], [even, odd]: &[Chunk; 2]) {
    for at in (0..CHUNK).step_by(LANES) {
        for i in at..at + LANES {
            let clipped = |sample: i16| sample.max(limits.least[i]).min(limits.most[i]);
            let difference =
                |pair: Pair<'_>| clipped(pair[0][i]).wrapping_add(clipped(pair[1][i])).wrapping_sub(limits.twice[i]);
            let added = product(difference(first), even[i]).wrapping_sub(product(difference(second), odd[i]));
            sum[i] = sum[i].wrapping_add(added);
        }
    }
}

#[inline(always)]
fn product(difference: i16, tap: i16) -> i16 {
    ((i32::from(difference) * i32::from(tap)) >> 16) as i16
}
