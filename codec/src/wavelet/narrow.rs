//! Lifting in 16 bits, sixteen samples at a time: with AVX2's products of pairs, with those of WebAssembly, and in
//! plain Rust. All give the numbers that 32 bits give, if the samples stay within [`bounds`](super::bounds).

use crate::wavelet::lift::{HALF_UNIT, Sample, TAP_FRACTION};

/// Samples of a group.
const GROUP_SAMPLES: usize = 16;

type Group = [i16; GROUP_SAMPLES];

/// Sums of two neighbours and updates have 16 bits, their products with taps 32.
impl Sample for i16 {
    fn inverse(tap: Self) -> Self {
        tap.wrapping_neg()
    }

    #[inline(always)]
    fn lifted(value: Self, taps: [Self; 2], [a, b, c, d]: [Self; 4]) -> Self {
        let [near, far] = taps.map(i32::from);
        let added = near * i32::from(b.wrapping_add(c)) + far * i32::from(a.wrapping_add(d));
        value.wrapping_sub(low_half((HALF_UNIT - added) >> TAP_FRACTION))
    }

    fn lift(target: &mut [Self], taps: [Self; 2], neighbours: [&[Self]; 4]) {
        with_groups!(|groups| lift(groups, target, taps, neighbours));
    }

    fn lift_along(target: &mut [Self], taps: [Self; 2], source: &[Self]) {
        let neighbours = around(source, target.len());
        with_groups!(|groups| lift(groups, target, taps, neighbours));
    }

    fn lift_from(values: &[Self], taps: [Self; 2], source: &[Self], out: &mut [Self]) {
        let neighbours = around(source, out.len());
        with_groups!(|groups| lift_from(groups, values, taps, neighbours, out));
    }

    fn interleave(even: &[Self], odd: &[Self], taps: [Self; 2], out: &mut [Self]) {
        let neighbours = around(even, odd.len());
        with_groups!(|groups| interleave(groups, &even[1..], odd, taps, neighbours, out));
    }
}

/// Returns the neighbours of `count` samples along a line.
fn around(source: &[i16], count: usize) -> [&[i16]; 4] {
    [0, 1, 2, 3].map(|first| &source[first..first + count])
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "within the bounds it has 16 bits")]
const fn low_half(update: i32) -> i16 {
    update as i16
}

/// Calls a function that is marked `#[inline(always)]` with the fastest [`Groups`] that the processor has.
macro_rules! with_groups {
    (|$groups:ident| $call:expr) => {{
        #[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
        if let Some($groups) = fearless_simd::Level::new().as_avx2() {
            fearless_simd::Simd::vectorize(
                $groups,
                #[inline(always)]
                || $call,
            );
        } else {
            let $groups = Plain;
            $call;
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        {
            let $groups = dots::Dots;
            $call;
        }
        #[cfg(not(any(
            all(target_arch = "x86_64", not(disable_dispatch_avx2)),
            all(target_arch = "wasm32", target_feature = "simd128")
        )))]
        {
            let $groups = Plain;
            $call;
        }
    }};
}
use with_groups;

/// The lifting of one group.
trait Groups: Copy {
    /// Returns `values` after one step; the neighbours are those at the distances -3, -1, 1, 3.
    fn lifted(self, values: &Group, taps: [i16; 2], neighbours: [&Group; 4]) -> Group;

    /// Writes each odd sample after its even one.
    #[inline(always)]
    fn interleave(self, even: &Group, odd: &Group, out: &mut [[i16; 2]; GROUP_SAMPLES]) {
        for at in 0..GROUP_SAMPLES {
            out[at] = [even[at], odd[at]];
        }
    }
}

/// Plain loops.
#[derive(Debug, Clone, Copy)]
struct Plain;

impl Groups for Plain {
    #[inline(always)]
    fn lifted(self, values: &Group, taps: [i16; 2], [a, b, c, d]: [&Group; 4]) -> Group {
        let mut out = *values;
        for (at, out) in out.iter_mut().enumerate() {
            *out = i16::lifted(*out, taps, [a[at], b[at], c[at], d[at]]);
        }
        out
    }
}

#[inline(always)]
fn lift(groups: impl Groups, target: &mut [i16], taps: [i16; 2], neighbours: [&[i16]; 4]) {
    let [a, b, c, d] = neighbours.map(|row| &row[..target.len()]);
    let (target, rest) = target.as_chunks_mut();
    let [(a, of_a), (b, of_b), (c, of_c), (d, of_d)] = [a, b, c, d].map(<[i16]>::as_chunks);
    for ((((target, a), b), c), d) in target.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        *target = groups.lifted(target, taps, [a, b, c, d]);
    }
    for (at, value) in rest.iter_mut().enumerate() {
        *value = i16::lifted(*value, taps, [of_a[at], of_b[at], of_c[at], of_d[at]]);
    }
}

#[inline(always)]
fn lift_from(groups: impl Groups, values: &[i16], taps: [i16; 2], neighbours: [&[i16]; 4], out: &mut [i16]) {
    let values = &values[..out.len()];
    let [a, b, c, d] = neighbours.map(|row| &row[..out.len()]);
    let (out, rest) = out.as_chunks_mut();
    let (values, of_values) = values.as_chunks();
    let [(a, of_a), (b, of_b), (c, of_c), (d, of_d)] = [a, b, c, d].map(<[i16]>::as_chunks);
    for (((((out, values), a), b), c), d) in out.iter_mut().zip(values).zip(a).zip(b).zip(c).zip(d) {
        *out = groups.lifted(values, taps, [a, b, c, d]);
    }
    for (at, out) in rest.iter_mut().enumerate() {
        *out = i16::lifted(of_values[at], taps, [of_a[at], of_b[at], of_c[at], of_d[at]]);
    }
}

#[inline(always)]
fn interleave(
    groups: impl Groups,
    even: &[i16],
    odd: &[i16],
    taps: [i16; 2],
    neighbours: [&[i16]; 4],
    out: &mut [i16],
) {
    let even = &even[..odd.len()];
    let [a, b, c, d] = neighbours.map(|row| &row[..odd.len()]);
    let (out, rest) = out[..2 * odd.len()].as_chunks_mut::<2>().0.as_chunks_mut::<GROUP_SAMPLES>();
    let [(even, of_even), (odd, of_odd)] = [even, odd].map(<[i16]>::as_chunks);
    let [(a, of_a), (b, of_b), (c, of_c), (d, of_d)] = [a, b, c, d].map(<[i16]>::as_chunks);
    for ((((((out, even), odd), a), b), c), d) in out.iter_mut().zip(even).zip(odd).zip(a).zip(b).zip(c).zip(d) {
        groups.interleave(even, &groups.lifted(odd, taps, [a, b, c, d]), out);
    }
    for (at, out) in rest.iter_mut().enumerate() {
        *out = [of_even[at], i16::lifted(of_odd[at], taps, [of_a[at], of_b[at], of_c[at], of_d[at]])];
    }
}

#[cfg(all(target_arch = "x86_64", not(disable_dispatch_avx2)))]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi16, _mm256_add_epi32, _mm256_madd_epi16, _mm256_packs_epi32, _mm256_set1_epi32,
        _mm256_srai_epi32, _mm256_sub_epi16, _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
    };

    use fearless_simd::{Avx2, SimdInto, i16x16, kernel};

    use crate::wavelet::lift::{HALF_UNIT, TAP_FRACTION};
    use crate::wavelet::narrow::{Group, Groups};

    impl Groups for Avx2 {
        #[inline(always)]
        fn lifted(self, values: &Group, taps: [i16; 2], [a, b, c, d]: [&Group; 4]) -> Group {
            lifted(self, values, taps, a, b, c, d)
        }
    }

    kernel!(
        #[inline(always)]
        fn lifted(avx2: Avx2, values: &Group, taps: [i16; 2], a: &Group, b: &Group, c: &Group, d: &Group) -> Group {
            let load = |group: &Group| -> __m256i {
                let group: i16x16<Avx2> = (*group).simd_into(avx2);
                group.into()
            };
            let [near, far] = taps.map(i16::wrapping_neg);
            let taps = _mm256_set1_epi32(i32::from(near.cast_unsigned()) | i32::from(far) << 16);
            let half = _mm256_set1_epi32(HALF_UNIT);
            let near = _mm256_add_epi16(load(b), load(c));
            let far = _mm256_add_epi16(load(a), load(d));
            let low = _mm256_madd_epi16(_mm256_unpacklo_epi16(near, far), taps);
            let high = _mm256_madd_epi16(_mm256_unpackhi_epi16(near, far), taps);
            let low = _mm256_srai_epi32::<{ TAP_FRACTION.cast_signed() }>(_mm256_add_epi32(low, half));
            let high = _mm256_srai_epi32::<{ TAP_FRACTION.cast_signed() }>(_mm256_add_epi32(high, half));
            let lifted: i16x16<Avx2> = _mm256_sub_epi16(load(values), _mm256_packs_epi32(low, high)).simd_into(avx2);
            lifted.into()
        }
    );
}

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod dots {
    use fearless_simd::{Bytes, Level, SimdBase, SimdIntWiden, SimdNarrow, WasmSimd128, i16x8, i32x4};

    use crate::wavelet::lift::{HALF_UNIT, TAP_FRACTION};
    use crate::wavelet::narrow::{GROUP_SAMPLES, Group, Groups, Plain};

    /// Eight samples at a time.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Dots;

    impl Groups for Dots {
        #[inline(always)]
        fn lifted(self, values: &Group, taps: [i16; 2], neighbours: [&Group; 4]) -> Group {
            let Some(simd) = Level::new().as_wasm_simd128() else { return Plain.lifted(values, taps, neighbours) };
            let [near, far] = taps.map(i16::wrapping_neg);
            let pair = i32::from(near.cast_unsigned()) | i32::from(far) << 16;
            let taps: i16x8<WasmSimd128> = i32x4::splat(simd, pair).bitcast();
            let half = i32x4::splat(simd, HALF_UNIT);
            let mut out = *values;
            for (number, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let part = |row: &Group| i16x8::from_slice(simd, &row[8 * number..][..8]);
                let [a, b, c, d] = neighbours;
                let (near, far) = (part(b) + part(c), part(a) + part(d));
                let low = near.zip_low(far).pairwise_dot_product(taps) + half >> TAP_FRACTION;
                let high = near.zip_high(far).pairwise_dot_product(taps) + half >> TAP_FRACTION;
                *out = (i16x8::from_slice(simd, &*out) - low.saturating_narrow(high)).into();
            }
            out
        }

        #[inline(always)]
        fn interleave(self, even: &Group, odd: &Group, out: &mut [[i16; 2]; GROUP_SAMPLES]) {
            let Some(simd) = Level::new().as_wasm_simd128() else { return Plain.interleave(even, odd, out) };
            for (number, out) in out.as_flattened_mut().as_chunks_mut::<16>().0.iter_mut().enumerate() {
                let part = |row: &Group| i16x8::from_slice(simd, &row[8 * number..][..8]);
                let (even, odd) = (part(even), part(odd));
                let (first, second) = out.split_at_mut(8);
                even.zip_low(odd).store_slice(first);
                even.zip_high(odd).store_slice(second);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_lift_gives_what_thirty_two_bits_give() {
        let mut seed = 1_u32;
        let mut random = |bits: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            i16::try_from(seed.cast_signed() >> (32 - bits)).expect("at most 16 bits")
        };
        for length in [0, 1, 7, 16, 31, 100] {
            let taps = [random(14), random(11)];
            let rows: [Vec<i16>; 6] = std::array::from_fn(|_| (0..length).map(|_| random(12)).collect());
            let [values, even, around @ ..] = &rows;
            let expected: Vec<i32> = (0..length)
                .map(|at| {
                    let wide = |row: &Vec<i16>| i32::from(row[at]);
                    i32::lifted(wide(values), taps.map(i32::from), around.each_ref().map(wide))
                })
                .collect();
            let around = around.each_ref().map(Vec::as_slice);
            let mut lifted = values.clone();
            i16::lift(&mut lifted, taps, around);
            let mut plain = values.clone();
            lift(Plain, &mut plain, taps, around);
            let mut from = vec![0; length];
            with_groups!(|groups| lift_from(groups, values, taps, around, &mut from));
            let mut pairs = vec![0; 2 * length];
            with_groups!(|groups| interleave(groups, even, values, taps, around, &mut pairs));
            for out in [lifted, from, plain, pairs.iter().skip(1).step_by(2).copied().collect()] {
                assert!(out.into_iter().map(i32::from).eq(expected.iter().copied()), "{length} samples, {taps:?}");
            }
            assert!(pairs.iter().step_by(2).eq(even));
        }
    }
}
