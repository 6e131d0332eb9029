//! Products of differences and taps: one instruction for many of them where processors have it, else lane by lane. All
//! give the same numbers.

use fearless_simd::{Simd, SimdBase as _};

/// Fraction bits of a tap.
const TAP_FRACTION: u32 = 15;

/// Vector instructions, and the product that taps need.
pub(super) trait Products: Simd {
    /// Returns the products of a vector of numbers and one of taps, rounded to the nearest, half up.
    #[inline(always)]
    fn products(self, mut numbers: Self::i16s, taps: Self::i16s) -> Self::i16s {
        for (number, tap) in numbers.as_mut_slice().iter_mut().zip(taps.as_slice()) {
            *number = product_of(*number, *tap);
        }
        numbers
    }
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "taps are below 1")]
const fn product_of(number: i16, tap: i16) -> i16 {
    ((number as i32 * tap as i32 + (1 << (TAP_FRACTION - 1))) >> TAP_FRACTION) as i16
}

/// Calls a function that is marked `#[inline(always)]` with the fastest [`Products`] that the processor has.
macro_rules! with_products {
    (|$simd:ident| $call:expr) => {{
        #[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
        match fearless_simd::Level::new().as_avx2() {
            Some($simd) => fearless_simd::Simd::vectorize(
                $simd,
                #[inline(always)]
                || $call,
            ),
            None => {
                let $simd = $crate::post_filter::products::least();
                fearless_simd::Simd::vectorize(
                    $simd,
                    #[inline(always)]
                    || $call,
                )
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(disable_dispatch_avx2))))]
        {
            let $simd = $crate::post_filter::products::least();
            fearless_simd::Simd::vectorize(
                $simd,
                #[inline(always)]
                || $call,
            )
        }
    }};
}
pub(super) use with_products;

#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
mod avx2 {
    use std::arch::x86_64::{__m256i, _mm256_mulhrs_epi16};

    use fearless_simd::{Avx2, SimdInto, kernel};

    use super::Products;

    impl Products for Avx2 {
        #[inline(always)]
        fn products(self, numbers: Self::i16s, taps: Self::i16s) -> Self::i16s {
            products(self, numbers.into(), taps.into()).simd_into(self)
        }
    }

    kernel!(
        #[inline(always)]
        fn products(_avx2: Avx2, numbers: __m256i, taps: __m256i) -> __m256i {
            _mm256_mulhrs_epi16(numbers, taps)
        }
    );
}

#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
mod sse2 {
    use fearless_simd::{Level, Sse2};

    use super::Products;

    impl Products for Sse2 {}

    /// Returns the instructions that every such processor has.
    #[inline(always)]
    pub(in crate::post_filter) fn least() -> Sse2 {
        Level::baseline().as_sse2().expect("the build has SSE2")
    }
}
#[cfg(all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"))]
pub(super) use sse2::least;

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm {
    use std::arch::wasm32::{i16x8_q15mulr_sat, v128};

    use fearless_simd::{Level, SimdInto, WasmSimd128, kernel};

    use super::Products;

    impl Products for WasmSimd128 {
        #[inline(always)]
        fn products(self, numbers: Self::i16s, taps: Self::i16s) -> Self::i16s {
            products(self, numbers.into(), taps.into()).simd_into(self)
        }
    }

    kernel!(
        #[inline(always)]
        fn products(_simd: WasmSimd128, numbers: v128, taps: v128) -> v128 {
            i16x8_q15mulr_sat(numbers, taps)
        }
    );

    /// Returns the vector instructions of WebAssembly.
    #[inline(always)]
    pub(in crate::post_filter) fn least() -> WasmSimd128 {
        Level::baseline().as_wasm_simd128().expect("the module has vector instructions")
    }
}
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
pub(super) use wasm::least;

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod arm {
    use std::arch::aarch64::{int16x8_t, vqrdmulhq_s16};

    use fearless_simd::{Level, Neon, SimdInto, kernel};

    use super::Products;

    impl Products for Neon {
        #[inline(always)]
        fn products(self, numbers: Self::i16s, taps: Self::i16s) -> Self::i16s {
            products(self, numbers.into(), taps.into()).simd_into(self)
        }
    }

    kernel!(
        #[inline(always)]
        fn products(_neon: Neon, numbers: int16x8_t, taps: int16x8_t) -> int16x8_t {
            vqrdmulhq_s16(numbers, taps)
        }
    );

    /// Returns the vector instructions that every such processor has.
    #[inline(always)]
    pub(in crate::post_filter) fn least() -> Neon {
        Level::baseline().as_neon().expect("the build has Neon")
    }
}
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub(super) use arm::least;

#[cfg(not(any(
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"),
    all(target_arch = "wasm32", target_feature = "simd128"),
    all(target_arch = "aarch64", target_feature = "neon")
)))]
mod plain {
    use fearless_simd::{Fallback, Level};

    use super::Products;

    impl Products for Fallback {}

    /// Returns plain loops.
    #[inline(always)]
    pub(in crate::post_filter) fn least() -> Fallback {
        let Level::Fallback(plain) = Level::baseline() else { unreachable!("this build has no other instructions") };
        plain
    }
}
#[cfg(not(any(
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse2"),
    all(target_arch = "wasm32", target_feature = "simd128"),
    all(target_arch = "aarch64", target_feature = "neon")
)))]
pub(super) use plain::least;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_multiply_gives_what_the_definition_gives() {
        let mut seed = 1_u32;
        let mut random = |bits: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(seed.cast_signed() >> (32 - bits)).expect("at most 16 bits")
        };
        for _ in 0..100 {
            let numbers: [i16; 64] = std::array::from_fn(|_| random(15));
            let taps: [i16; 64] = std::array::from_fn(|_| random(15));
            let expected: [i16; 64] = std::array::from_fn(|at| {
                let product = i32::from(numbers[at]) * i32::from(taps[at]);
                let rounded = product.div_euclid(32_768) + i32::from(product.rem_euclid(32_768) >= 16_384);
                i16::try_from(rounded).expect("no more than the number")
            });
            let mut out = [0; 64];
            with_products!(|simd| multiply(simd, &numbers, &taps, &mut out));
            assert_eq!(out, expected);
            multiply(least(), &numbers, &taps, &mut out);
            assert_eq!(out, expected);
            assert_eq!(std::array::from_fn(|at| product_of(numbers[at], taps[at])), expected);
        }
    }

    #[inline(always)]
    fn multiply<S: Products>(simd: S, numbers: &[i16; 64], taps: &[i16; 64], out: &mut [i16; 64]) {
        let parts = numbers.chunks(S::i16s::LEN).zip(taps.chunks(S::i16s::LEN));
        for ((numbers, taps), out) in parts.zip(out.chunks_mut(S::i16s::LEN)) {
            simd.products(S::i16s::from_slice(simd, numbers), S::i16s::from_slice(simd, taps)).store_slice(out);
        }
    }
}
