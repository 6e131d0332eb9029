//! The filter's corrections of some samples of a row at once.

use std::ops::Range;

use fearless_simd::{Simd, SimdBase as _, SimdInt as _};

use crate::post_filter::BLOCK_SIDE;
use crate::post_filter::products::{Products, with_products};
use crate::post_filter::table::{CHROMA_TAPS, LUMA_TAPS, Runs};

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
        with_products!(|simd| self.set(simd, seen, step));
    }

    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, seen: &Seen<'_>, step: i16) {
        let [a, b, c, d, e, f] = &mut self.0;
        for group in groups::<S>() {
            let samples = Samples::new(simd, seen, group, step);
            store::<S>(&samples.pair::<0, 1>(), a, group);
            store::<S>(&samples.pair::<0, 2>(), b, group);
            store::<S>(&samples.pair::<1, 0>(), c, group);
            store::<S>(&samples.pair::<2, 0>(), d, group);
            store::<S>(&samples.pair::<1, 1>(), e, group);
            store::<S>(&samples.pair::<1, -1>(), f, group);
        }
    }
}

/// Sets `sum` to the correction of luma's filter.
pub(super) fn luma(seen: &Seen<'_>, step: i16, taps: &[Chunk; LUMA_TAPS], sum: &mut Chunk) {
    with_products!(|simd| set_luma(simd, seen, step, taps, sum));
}

/// Written without a loop over the pairs, which the compiler would keep.
#[inline(always)]
fn set_luma<S: Products>(simd: S, seen: &Seen<'_>, step: i16, taps: &[Chunk; LUMA_TAPS], sum: &mut Chunk) {
    for group in groups::<S>() {
        let samples = Samples::new(simd, seen, group, step);
        let times = |differences: S::i16s, tap: usize| simd.products(differences, load(simd, &taps[tap], group));
        let near = times(samples.pair::<0, 1>(), 0)
            + times(samples.pair::<0, 2>(), 1)
            + times(samples.pair::<1, 0>(), 2)
            + times(samples.pair::<2, 0>(), 3)
            + times(samples.pair::<1, 1>(), 4)
            + times(samples.pair::<1, -1>(), 5);
        let far = times(samples.pair::<1, 2>(), 6)
            + times(samples.pair::<1, -2>(), 7)
            + times(samples.pair::<2, 1>(), 8)
            + times(samples.pair::<2, -1>(), 9)
            + times(samples.pair::<2, 2>(), 10)
            + times(samples.pair::<2, -2>(), 11);
        store::<S>(&(near + far), sum, group);
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
    let (halves, others) = taps.as_chunks::<NEAR_PAIRS>();
    with_products!(|simd| {
        set_chroma(simd, &own.0, &halves[0], [&other.0[0], &other.0[2]], others, sum);
        if let Some(luma) = luma {
            add_luma(simd, &luma.0, &halves[1], sum);
        }
    });
}

#[inline(always)]
fn set_chroma<S: Products>(
    simd: S,
    own: &[Chunk; NEAR_PAIRS],
    own_taps: &[Chunk; NEAR_PAIRS],
    others: [&Chunk; 2],
    others_taps: &[Chunk],
    sum: &mut Chunk,
) {
    let [first, second] = others;
    for group in groups::<S>() {
        let of_others = product(simd, first, &others_taps[0], group) + product(simd, second, &others_taps[1], group);
        store::<S>(&(six(simd, own, own_taps, group) + of_others), sum, group);
    }
}

#[inline(always)]
fn add_luma<S: Products>(simd: S, luma: &[Chunk; NEAR_PAIRS], taps: &[Chunk; NEAR_PAIRS], sum: &mut Chunk) {
    for group in groups::<S>() {
        store::<S>(&(load(simd, sum, group) + six(simd, luma, taps, group)), sum, group);
    }
}

/// Sums six products.
#[inline(always)]
fn six<S: Products>(simd: S, differences: &[Chunk; NEAR_PAIRS], taps: &[Chunk; NEAR_PAIRS], group: usize) -> S::i16s {
    let of_pair = |pair: usize| product(simd, &differences[pair], &taps[pair], group);
    (of_pair(0) + of_pair(1)) + (of_pair(2) + of_pair(3)) + (of_pair(4) + of_pair(5))
}

#[inline(always)]
fn product<S: Products>(simd: S, differences: &Chunk, taps: &Chunk, group: usize) -> S::i16s {
    simd.products(load(simd, differences, group), load(simd, taps, group))
}

/// The first samples of a chunk's vectors.
#[inline(always)]
fn groups<S: Simd>() -> impl Iterator<Item = usize> {
    (0..CHUNK_SAMPLES / S::i16s::LEN).map(|group| group * S::i16s::LEN)
}

#[inline(always)]
fn load<S: Simd>(simd: S, chunk: &Chunk, group: usize) -> S::i16s {
    S::i16s::from_slice(simd, &chunk[group..group + S::i16s::LEN])
}

#[inline(always)]
fn store<S: Simd>(numbers: &S::i16s, chunk: &mut Chunk, group: usize) {
    numbers.store_slice(&mut chunk[group..group + S::i16s::LEN]);
}

/// Samples of a group, and the limits to which their neighbours are clipped.
#[derive(Clone, Copy)]
struct Samples<'a, S: Simd> {
    simd: S,
    seen: &'a Seen<'a>,
    group: usize,
    least: S::i16s,
    most: S::i16s,
    doubled: S::i16s,
}

impl<'a, S: Simd> Samples<'a, S> {
    #[inline(always)]
    fn new(simd: S, seen: &'a Seen<'a>, group: usize, step: i16) -> Self {
        let here = load(simd, part(seen, 0, 0), group);
        let step = S::i16s::splat(simd, step);
        let (least, most) = (here.saturating_sub(step), here.saturating_add(step));
        Self { simd, seen, group, least, most, doubled: here + here }
    }

    /// Returns the sums of two opposite neighbours' clipped differences: those below or to the right, and above or to
    /// the left.
    #[inline(always)]
    fn pair<const DOWN: isize, const RIGHT: isize>(&self) -> S::i16s {
        let Self { simd, least, most, .. } = *self;
        let clipped = |samples: S::i16s| samples.max(least).min(most);
        let clipped = |samples: &Chunk| clipped(load(simd, samples, self.group));
        clipped(part(self.seen, DOWN, RIGHT)) + clipped(part(self.seen, -DOWN, -RIGHT)) - self.doubled
    }
}

/// Returns the neighbours of a chunk's samples, `down` rows below them and `right` columns to their right.
#[inline(always)]
fn part<'a>(seen: &Seen<'a>, down: isize, right: isize) -> &'a Chunk {
    let row = seen[FILTER_REACH.wrapping_add_signed(down)];
    row[FILTER_REACH.wrapping_add_signed(right)..].first_chunk().expect("a chunk and what it sees")
}
