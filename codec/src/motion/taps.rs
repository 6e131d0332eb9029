//! Weighted sums of neighbours along rows and columns, which take most of interpolation's time: in plain Rust, and with
//! the products of pairs of AVX2 and of WebAssembly. All give the same numbers.

/// The two kinds of weighted sums.
pub(super) trait Sums: Copy {
    /// Goes from eighths to 1/64: the taps' sum is 64 times 1/8, so an eighth of it remains, rounded down. A row has
    /// `LENGTH` + `TAPS` - 1 samples of 11 bits.
    fn along_row<const TAPS: usize, const LENGTH: usize>(
        self,
        row: &[i16],
        taps: &[i16; TAPS],
        out: &mut [i16; LENGTH],
    );

    /// As [`Sums::along_row`], for samples of 15 bits: a 64th of the taps' sum.
    fn along_columns<const TAPS: usize, const LENGTH: usize>(
        self,
        rows: &[[i16; LENGTH]; TAPS],
        taps: &[i16; TAPS],
        out: &mut [i16; LENGTH],
    );
}

/// Calls a function that is marked `#[inline(always)]` with the fastest [`Sums`] that the processor has.
macro_rules! with_sums {
    (|$sums:ident| $call:expr) => {{
        #[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
        if let Some($sums) = fearless_simd::Level::new().as_avx2() {
            fearless_simd::Simd::vectorize(
                $sums,
                #[inline(always)]
                || $call,
            )
        } else {
            let $sums = $crate::motion::taps::Plain;
            $call
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        {
            let $sums = $crate::motion::taps::Dots;
            $call
        }
        #[cfg(not(any(
            all(target_arch = "x86_64", not(disable_dispatch_avx2)),
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        {
            let $sums = $crate::motion::taps::Plain;
            $call
        }
    }};
}
pub(super) use with_sums;

/// Sums in 16 bits throughout: the high bits of the samples apart from the low ones, whose sum is divided and rounded
/// down. The result equals that of the whole samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

impl Sums for Plain {
    #[inline(always)]
    fn along_row<const TAPS: usize, const LENGTH: usize>(
        self,
        row: &[i16],
        taps: &[i16; TAPS],
        out: &mut [i16; LENGTH],
    ) {
        let mut above = [0_i16; LENGTH];
        let mut below = [0_i16; LENGTH];
        for (samples, tap) in row.array_windows::<LENGTH>().zip(taps) {
            for ((above, below), sample) in above.iter_mut().zip(&mut below).zip(samples) {
                *above += tap * (sample >> 3);
                *below += tap * (sample & 7);
            }
        }
        out.iter_mut().zip(&above).zip(&below).for_each(|((out, above), below)| *out = above + (below >> 3));
    }

    #[inline(always)]
    fn along_columns<const TAPS: usize, const LENGTH: usize>(
        self,
        rows: &[[i16; LENGTH]; TAPS],
        taps: &[i16; TAPS],
        out: &mut [i16; LENGTH],
    ) {
        let mut above = [0_i16; LENGTH];
        let mut below = [0_i16; LENGTH];
        for (samples, tap) in rows.iter().zip(taps) {
            for ((above, below), sample) in above.iter_mut().zip(&mut below).zip(samples) {
                *above += tap * (sample >> 6);
                *below += tap * (sample & 63);
            }
        }
        out.iter_mut().zip(&above).zip(&below).for_each(|((out, above), below)| *out = above + (below >> 6));
    }
}

/// Sums in 32 bits, sixteen at a time.
#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
mod pairs {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_blend_epi16, _mm256_madd_epi16, _mm256_packs_epi32, _mm256_set1_epi32,
        _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
    };

    use fearless_simd::{Avx2, SimdBase, SimdInto, i16x16, kernel};

    use super::{Plain, Sums};

    /// Samples that are made at a time.
    const GROUP_SAMPLES: usize = 16;

    impl Sums for Avx2 {
        #[inline(always)]
        fn along_row<const TAPS: usize, const LENGTH: usize>(
            self,
            row: &[i16],
            taps: &[i16; TAPS],
            out: &mut [i16; LENGTH],
        ) {
            if LENGTH < GROUP_SAMPLES {
                return Plain.along_row(row, taps, out);
            }
            for first in groups::<LENGTH>() {
                let seen = &row[first..][..GROUP_SAMPLES + TAPS - 1];
                let group = row_group(self, seen, taps);
                out[first..][..GROUP_SAMPLES].copy_from_slice(&stored(self, group));
            }
        }

        #[inline(always)]
        fn along_columns<const TAPS: usize, const LENGTH: usize>(
            self,
            rows: &[[i16; LENGTH]; TAPS],
            taps: &[i16; TAPS],
            out: &mut [i16; LENGTH],
        ) {
            if LENGTH < GROUP_SAMPLES {
                return Plain.along_columns(rows, taps, out);
            }
            for first in groups::<LENGTH>() {
                let seen = rows.each_ref().map(|row| loaded(self, &row[first..]));
                out[first..][..GROUP_SAMPLES].copy_from_slice(&stored(self, column_group(self, &seen, taps)));
            }
        }
    }

    /// The first samples of a row's groups; the last group can overlap the one before.
    #[inline(always)]
    fn groups<const LENGTH: usize>() -> impl Iterator<Item = usize> {
        (0..LENGTH.div_ceil(GROUP_SAMPLES)).map(|group| (group * GROUP_SAMPLES).min(LENGTH - GROUP_SAMPLES))
    }

    #[inline(always)]
    fn loaded(avx2: Avx2, samples: &[i16]) -> __m256i {
        i16x16::from_slice(avx2, &samples[..GROUP_SAMPLES]).into()
    }

    #[inline(always)]
    fn stored(avx2: Avx2, group: __m256i) -> [i16; GROUP_SAMPLES] {
        let group: i16x16<Avx2> = group.simd_into(avx2);
        group.into()
    }

    kernel!(
        /// Computes even and odd sums apart: each pair of samples that begins at an even, or at an odd, place serves
        /// one of them.
        #[inline(always)]
        fn row_group(avx2: Avx2, samples: &[i16], taps: &[i16]) -> __m256i {
            let mut sums = [_mm256_setzero_si256(); 2];
            for (at, pair) in taps.as_chunks::<2>().0.iter().enumerate() {
                for (odd, sum) in sums.iter_mut().enumerate() {
                    let products = _mm256_madd_epi16(loaded(avx2, &samples[2 * at + odd..]), both(pair));
                    *sum = _mm256_add_epi32(*sum, products);
                }
            }
            // Bits 3 to 18 of each.
            let [even, odd] = sums;
            _mm256_blend_epi16::<0xAA>(_mm256_srai_epi32::<3>(even), _mm256_slli_epi32::<13>(odd))
        }
    );

    kernel!(
        #[inline(always)]
        fn column_group(_avx2: Avx2, rows: &[__m256i], taps: &[i16]) -> __m256i {
            let mut low = _mm256_setzero_si256();
            let mut high = _mm256_setzero_si256();
            for (rows, pair) in rows.as_chunks::<2>().0.iter().zip(taps.as_chunks::<2>().0) {
                let taps = both(pair);
                let first = _mm256_madd_epi16(_mm256_unpacklo_epi16(rows[0], rows[1]), taps);
                let second = _mm256_madd_epi16(_mm256_unpackhi_epi16(rows[0], rows[1]), taps);
                (low, high) = (_mm256_add_epi32(low, first), _mm256_add_epi32(high, second));
            }
            _mm256_packs_epi32(_mm256_srai_epi32::<6>(low), _mm256_srai_epi32::<6>(high))
        }
    );

    /// Repeats two taps.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn both([first, second]: &[i16; 2]) -> __m256i {
        _mm256_set1_epi32(i32::from(first.cast_unsigned()) | i32::from(*second) << 16)
    }
}

/// Sums in 32 bits, eight at a time.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Dots;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod dots {
    use fearless_simd::{Bytes, Level, SimdBase, SimdIntWiden, SimdNarrow, WasmSimd128, i16x8, i32x4};

    use super::{Dots, Plain, Sums};

    /// Pairs of taps, four or two.
    type Pairs = [i16x8<WasmSimd128>; 4];

    impl Sums for Dots {
        /// Computes even and odd sums apart: each pair of samples that begins at an even, or at an odd, place serves
        /// one of them.
        #[inline(always)]
        fn along_row<const TAPS: usize, const LENGTH: usize>(
            self,
            row: &[i16],
            taps: &[i16; TAPS],
            out: &mut [i16; LENGTH],
        ) {
            let Some(simd) = Level::new().as_wasm_simd128() else { return Plain.along_row(row, taps, out) };
            let pairs = pairs(simd, taps);
            for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let seen = &row[8 * group..][..7 + TAPS];
                let product = |first: usize, pair: usize| {
                    i16x8::from_slice(simd, &seen[first + 2 * pair..][..8]).pairwise_dot_product(pairs[pair])
                };
                let even = sum::<TAPS>(|pair| product(0, pair));
                let odd = sum::<TAPS>(|pair| product(1, pair));
                // Bits 3 to 18 of each.
                let words = (even >> 3) & i32x4::splat(simd, 0xFFFF) | (odd << 13) & i32x4::splat(simd, -0x1_0000);
                *out = words.bitcast::<i16x8<WasmSimd128>>().into();
            }
        }

        #[inline(always)]
        fn along_columns<const TAPS: usize, const LENGTH: usize>(
            self,
            rows: &[[i16; LENGTH]; TAPS],
            taps: &[i16; TAPS],
            out: &mut [i16; LENGTH],
        ) {
            let Some(simd) = Level::new().as_wasm_simd128() else { return Plain.along_columns(rows, taps, out) };
            let pairs = pairs(simd, taps);
            for (group, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let row = |number: usize| i16x8::from_slice(simd, &rows[number][8 * group..][..8]);
                let low = |pair: usize| row(2 * pair).zip_low(row(2 * pair + 1)).pairwise_dot_product(pairs[pair]);
                let high = |pair: usize| row(2 * pair).zip_high(row(2 * pair + 1)).pairwise_dot_product(pairs[pair]);
                *out = (sum::<TAPS>(low) >> 6).saturating_narrow(sum::<TAPS>(high) >> 6).into();
            }
        }
    }

    /// Sums the products of all pairs of taps. Written without a loop, which the compiler would keep.
    #[inline(always)]
    fn sum<const TAPS: usize>(product: impl Fn(usize) -> i32x4<WasmSimd128>) -> i32x4<WasmSimd128> {
        const { assert!(TAPS == 8 || TAPS == 4) };
        let near = product(0) + product(1);
        if TAPS == 8 { near + (product(2) + product(3)) } else { near }
    }

    /// Repeats each pair of taps.
    #[inline(always)]
    fn pairs(simd: WasmSimd128, taps: &[i16]) -> Pairs {
        let pair =
            |number: usize| taps.as_chunks().0.get(number).map_or(i16x8::splat(simd, 0), |pair| both(simd, pair));
        [pair(0), pair(1), pair(2), pair(3)]
    }

    /// Repeats two taps.
    #[inline(always)]
    fn both(simd: WasmSimd128, &[first, second]: &[i16; 2]) -> i16x8<WasmSimd128> {
        i32x4::splat(simd, i32::from(first.cast_unsigned()) | i32::from(second) << 16).bitcast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the formula, a sample at a time.
    fn check<const TAPS: usize, const LENGTH: usize>(seed: &mut u32) {
        let mut random = |bits: u32| {
            *seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(seed.cast_signed() >> (32 - bits)).expect("at most 16 bits")
        };
        // Absolute taps add up to 112 at most.
        let taps: [i16; TAPS] = std::array::from_fn(|_| random(7) % (112 / i16::try_from(TAPS).expect("few")));
        let row: Vec<i16> = (0..LENGTH + TAPS - 1).map(|_| random(11)).collect();
        let rows: [[i16; LENGTH]; TAPS] = std::array::from_fn(|_| std::array::from_fn(|_| random(15)));
        let sum = |samples: &mut dyn Iterator<Item = i16>| {
            samples.zip(taps).map(|(sample, tap)| i32::from(sample) * i32::from(tap)).sum::<i32>()
        };
        let mut along = [0; LENGTH];
        let mut down = [0; LENGTH];
        with_sums!(|sums| {
            sums.along_row(&row, &taps, &mut along);
            sums.along_columns(&rows, &taps, &mut down);
        });
        let mut plain_along = [0; LENGTH];
        let mut plain_down = [0; LENGTH];
        Plain.along_row(&row, &taps, &mut plain_along);
        Plain.along_columns(&rows, &taps, &mut plain_down);
        assert_eq!((along, down), (plain_along, plain_down));
        for at in 0..LENGTH {
            assert_eq!(i32::from(along[at]), sum(&mut row[at..].iter().copied()) >> 3);
            assert_eq!(i32::from(down[at]), sum(&mut rows.iter().map(|row| row[at])) >> 6);
        }
    }

    #[test]
    fn every_way_to_sum_gives_what_the_formula_gives() {
        let mut seed = 1;
        for _ in 0..200 {
            check::<8, 8>(&mut seed);
            check::<8, 16>(&mut seed);
            check::<8, 24>(&mut seed);
            check::<4, 8>(&mut seed);
            check::<4, 16>(&mut seed);
            check::<4, 24>(&mut seed);
        }
    }
}
