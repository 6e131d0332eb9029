//! Sums of absolute differences of bytes: plain loops, and the instruction of x86-64 that sums eight of them.

use crate::motion::field::{BLOCK_SIDE, PARTITION_SIDE};
use crate::simd::Portable;

/// The sums of a block's four partitions, in their order.
pub(super) type Quadrants = [u32; 4];

/// Compares blocks with the rounded means of two places of a reference, whose rows begin `stride` samples apart. Both
/// places contain the whole block.
pub(super) trait Differences: Copy {
    /// Returns the sum of each partition of a block.
    fn of_block(self, own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE], places: [&[u8]; 2], stride: usize) -> Quadrants;

    /// Returns the sum of one partition.
    fn of_partition(self, own: &[[u8; PARTITION_SIDE]; PARTITION_SIDE], places: [&[u8]; 2], stride: usize) -> u32;
}

impl Differences for Portable {
    #[inline(always)]
    fn of_block(self, own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE], places: [&[u8]; 2], stride: usize) -> Quadrants {
        let mut sums = [0; 4];
        for (half, own) in own.as_chunks::<PARTITION_SIDE>().0.iter().enumerate() {
            let columns = columns(own, places.map(|place| &place[half * PARTITION_SIDE * stride..]), stride);
            for (sum, columns) in sums[2 * half..].iter_mut().zip(columns.as_chunks::<PARTITION_SIDE>().0) {
                *sum = columns.iter().map(|column| u32::from(*column)).sum();
            }
        }
        sums
    }

    #[inline(always)]
    fn of_partition(self, own: &[[u8; PARTITION_SIDE]; PARTITION_SIDE], places: [&[u8]; 2], stride: usize) -> u32 {
        columns(own, places, stride).iter().map(|column| u32::from(*column)).sum()
    }
}

/// Sums the differences of at most 16 rows column by column, in 16 bits.
#[inline(always)]
fn columns<const N: usize>(own: &[[u8; N]; PARTITION_SIDE], [first, second]: [&[u8]; 2], stride: usize) -> [u16; N] {
    let mut columns = [0_u16; N];
    for (y, own) in own.iter().enumerate() {
        let (a, b) = (&first[y * stride..][..N], &second[y * stride..][..N]);
        for i in 0..N {
            columns[i] += u16::from(mean(a[i], b[i]).abs_diff(own[i]));
        }
    }
    columns
}

/// The mean, rounded up.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a mean of bytes")]
pub(super) const fn mean(a: u8, b: u8) -> u8 {
    ((a as u16 + b as u16 + 1) >> 1) as u8
}

#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi64, _mm_avg_epu8, _mm_cvtsi128_si64, _mm_sad_epu8, _mm_set_epi64x, _mm_setzero_si128,
        _mm_unpackhi_epi64,
    };

    use fearless_simd::{Avx2, SimdInto, kernel, u8x16};

    use crate::motion::field::{BLOCK_SIDE, PARTITION_SIDE};
    use crate::motion::search::difference::{Differences, Quadrants};

    impl Differences for Avx2 {
        #[inline(always)]
        fn of_block(
            self,
            own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
            [first, second]: [&[u8]; 2],
            stride: usize,
        ) -> Quadrants {
            of_block(self, own, first, second, stride)
        }

        #[inline(always)]
        fn of_partition(
            self,
            own: &[[u8; PARTITION_SIDE]; PARTITION_SIDE],
            [first, second]: [&[u8]; 2],
            stride: usize,
        ) -> u32 {
            of_partition(self, own, first, second, stride)
        }
    }

    kernel!(
        #[inline(always)]
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "64 differences of bytes")]
        fn of_block(
            avx2: Avx2,
            own: &[[u8; BLOCK_SIDE]; BLOCK_SIDE],
            first: &[u8],
            second: &[u8],
            stride: usize,
        ) -> Quadrants {
            let load = |row: &[u8; BLOCK_SIDE]| -> __m128i {
                let row: u8x16<Avx2> = (*row).simd_into(avx2);
                row.into()
            };
            let length = (BLOCK_SIDE - 1) * stride + BLOCK_SIDE;
            let (first, second) = (&first[..length], &second[..length]);
            let (mut upper, mut lower) = (_mm_setzero_si128(), _mm_setzero_si128());
            let mut at = 0;
            // Eight rows of each half in turn: both sums stay in registers.
            for y in 0..PARTITION_SIDE {
                let below = at + PARTITION_SIDE * stride;
                let (Some(a), Some(b)) = (first.get(at..at + BLOCK_SIDE), second.get(at..at + BLOCK_SIDE)) else {
                    break;
                };
                let (Some(c), Some(d)) = (first.get(below..below + BLOCK_SIDE), second.get(below..below + BLOCK_SIDE))
                else {
                    break;
                };
                let (Some(a), Some(b)) = (a.first_chunk(), b.first_chunk()) else { break };
                let (Some(c), Some(d)) = (c.first_chunk(), d.first_chunk()) else { break };
                upper = _mm_add_epi64(upper, _mm_sad_epu8(_mm_avg_epu8(load(a), load(b)), load(&own[y])));
                lower =
                    _mm_add_epi64(lower, _mm_sad_epu8(_mm_avg_epu8(load(c), load(d)), load(&own[y + PARTITION_SIDE])));
                at += stride;
            }
            [upper, _mm_unpackhi_epi64(upper, upper), lower, _mm_unpackhi_epi64(lower, lower)]
                .map(|sum| _mm_cvtsi128_si64(sum) as u32)
        }
    );

    kernel!(
        #[inline(always)]
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "64 differences of bytes")]
        fn of_partition(
            avx2: Avx2,
            own: &[[u8; PARTITION_SIDE]; PARTITION_SIDE],
            first: &[u8],
            second: &[u8],
            stride: usize,
        ) -> u32 {
            let _ = avx2;
            let load = |row: &[u8; PARTITION_SIDE]| _mm_set_epi64x(0, i64::from_le_bytes(*row));
            let length = (PARTITION_SIDE - 1) * stride + PARTITION_SIDE;
            let (first, second) = (&first[..length], &second[..length]);
            let mut sum = _mm_setzero_si128();
            let mut at = 0;
            for own in own {
                let row = at..at + PARTITION_SIDE;
                let (Some(a), Some(b)) = (first.get(row.clone()), second.get(row)) else { break };
                let (Some(a), Some(b)) = (a.first_chunk(), b.first_chunk()) else { break };
                sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_avg_epu8(load(a), load(b)), load(own)));
                at += stride;
            }
            _mm_cvtsi128_si64(sum) as u32
        }
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::with_instructions;

    #[test]
    fn every_instruction_set_gives_the_sums_of_the_definition() {
        let mut random = fastrand(7);
        let stride = 40;
        let (first, second): (Vec<u8>, Vec<u8>) = (0..stride * 20).map(|_| (random(), random())).unzip();
        let own: [[u8; BLOCK_SIDE]; BLOCK_SIDE] = std::array::from_fn(|_| std::array::from_fn(|_| random()));
        for place in 0..24 {
            let places = [&first[place..], &second[stride + place..]];
            let definition = |partition: usize| -> u32 {
                let sample = |at: usize| {
                    let x = partition % 2 * PARTITION_SIDE + at % PARTITION_SIDE;
                    let y = partition / 2 * PARTITION_SIDE + at / PARTITION_SIDE;
                    let [a, b] = places.map(|place| u32::from(place[y * stride + x]));
                    (a + b).div_ceil(2).abs_diff(own[y][x].into())
                };
                (0..PARTITION_SIDE * PARTITION_SIDE).map(sample).sum()
            };
            let definition: Quadrants = std::array::from_fn(definition);
            let corner = std::array::from_fn(|y| std::array::from_fn(|x| own[y][x]));
            assert_eq!(Portable.of_block(&own, places, stride), definition);
            assert_eq!(Portable.of_partition(&corner, places, stride), definition[0]);
            assert_eq!(with_instructions!(|all| all.of_block(&own, places, stride)), definition);
            assert_eq!(with_instructions!(|all| all.of_partition(&corner, places, stride)), definition[0]);
        }
    }

    /// Returns bytes without a pattern.
    fn fastrand(mut seed: u32) -> impl FnMut() -> u8 {
        move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        }
    }
}
