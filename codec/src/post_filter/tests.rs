//! Compares the filter of eight samples at a time with its slow twin: not one bit may differ, for any size, table and
//! first row.

#![expect(clippy::cast_possible_truncation, reason = "small numbers")]

use std::ops::Range;

use proptest::prelude::*;

use super::naive::Samples;
use super::table::{BLOCK_CLASSES, COMPONENT_TAPS, MAX_TAP_SUM, PostFilter, SAMPLE_PHASES, TABLE_BYTES, TABLE_CUTS};
use super::window::{FilteredRows, PlaneRows, Window};
use super::{BLOCK_SIDE, TOLD_LEVELS, blocks};
use crate::scratch::Arena;

/// A linear congruential generator.
struct Random(u32);

impl Random {
    fn below(&mut self, count: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % count
    }
}

/// Filters with taps up to `most`; a filter that would be too large has none.
fn table_bytes(random: &mut Random, step: u16, most: u8) -> Box<[u8; TABLE_BYTES]> {
    let mut bytes = Box::new([0; TABLE_BYTES]);
    bytes[..2].copy_from_slice(&step.to_le_bytes());
    let mut at = 2;
    for count in COMPONENT_TAPS {
        for _ in 0..TABLE_CUTS.len() * BLOCK_CLASSES * SAMPLE_PHASES {
            let taps: Vec<u8> =
                (0..count).map(|_| random.below(2 * u32::from(most) + 1).to_le_bytes()[0].wrapping_sub(most)).collect();
            if taps.iter().map(|tap| u32::from(tap.cast_signed().unsigned_abs())).sum::<u32>() <= MAX_TAP_SUM {
                bytes[at..at + count].copy_from_slice(&taps);
            }
            at += count;
        }
    }
    bytes
}

struct Rows<'a>(&'a Samples);

impl PlaneRows for Rows<'_> {
    fn row(&mut self, component: usize, y: usize, out: &mut [i16]) {
        out.copy_from_slice(&self.0.components[component][y * out.len()..][..out.len()]);
    }
}

/// The filtered rows of a row of blocks, by component, in 1/64.
struct Tile {
    width: usize,
    planes: Vec<Vec<i32>>,
}

impl FilteredRows for Tile {
    fn take(&mut self, component: usize, row: usize, first: usize, samples: &[i16], corrections: &[i16]) {
        let out = &mut self.planes[component][row * self.width + first..];
        for ((out, sample), correction) in out.iter_mut().zip(samples).zip(corrections) {
            *out = i32::from(*sample) + i32::from(*correction);
        }
    }
}

/// Noise of `change` over edges, beyond the range of 16 bits if `wild`.
fn planes(random: &mut Random, [width, height]: [usize; 2], count: usize, change: u32, wild: bool) -> Vec<Vec<f32>> {
    let value = |random: &mut Random, x: usize, y: usize| {
        let edge = if (x / 5 + y / 7).is_multiple_of(2) { -40.0 } else { 60.0 };
        let noise = random.below(64 * change + 1) as f32 / 64.0 - change as f32 / 2.0;
        if wild && random.below(9) == 0 { (noise - 3.0) * 1e4 } else { edge + noise }
    };
    let plane = |random: &mut Random| (0..width * height).map(|at| value(random, at % width, at / width)).collect();
    (0..count).map(|_| plane(random)).collect()
}

/// Compares all of `present`, which may lack luma; then the filter sees luma without changes.
fn check(size: [usize; 2], present: Range<usize>, seed: u32, position: i32) {
    let ([width, height], mut random) = (size, Random(seed));
    let step = 1 + random.below(700) as u16;
    let most = [3, 30, 127][random.below(3) as usize];
    let table = PostFilter::read(&table_bytes(&mut random, step, most)).expect("a valid table");
    let change = 1 << random.below(8);
    let wild = random.below(4) == 0;
    let mut planes = planes(&mut random, size, present.end, change, wild);
    planes[..present.start].iter_mut().for_each(|plane| plane.fill(0.0));
    let across = blocks(width);
    let marks = TOLD_LEVELS as u32 + 1;
    let significance: Vec<Vec<u8>> =
        (0..present.end).map(|_| (0..across * blocks(height)).map(|_| random.below(marks) as u8).collect()).collect();
    let samples = Samples::new(width, height, &planes);
    let expected: Vec<_> = (0..present.end)
        .map(|component| samples.filtered(&table, position, component, &significance[component]))
        .collect();

    let mut memory = vec![0; PostFilter::FILTER_NUMBERS];
    let filters = table.at(position, &mut memory);
    let mut short = vec![i16::MIN; Window::numbers(width, &present)];
    let start = random.below(blocks(height) as u32) as usize * BLOCK_SIDE;
    let mut rows = Rows(&samples);
    let mut out = Tile { width, planes: vec![vec![0; BLOCK_SIDE * width]; present.end] };
    let mut window = Window::new(size, present.clone(), start, &mut rows, &mut Arena(&mut short));
    for top in (start..height).step_by(BLOCK_SIDE) {
        if top > start {
            window.descend(&mut rows);
        }
        let own = |component: usize| {
            significance.get(component).map_or(&[][..], |all| &all[top / BLOCK_SIDE * across..][..across])
        };
        window.filter(&filters, [own(0), own(1), own(2)], &mut out);
        for (component, out) in out.planes.iter().enumerate().skip(present.start) {
            let rows = BLOCK_SIDE.min(height - top) * width;
            let expected = &expected[component][top * width..][..rows];
            assert!(
                out[..rows] == *expected,
                "{size:?}, component {component}, rows from {top}, seed {seed}, at {position}"
            );
        }
    }
}

#[test]
fn every_small_size_is_as_the_slow_twin() {
    for (width, height) in (1..=19).flat_map(|height| (1..=19).map(move |width| (width, height))) {
        let seed = (width * 64 + height) as u32;
        check([width, height], 0..1, seed, (seed << 14).cast_signed());
        check([width, height], 0..3, seed + 7, (seed << 14).cast_signed());
        check([width, height], 1..3, seed + 11, (seed << 14).cast_signed());
    }
}

#[test]
fn a_table_of_zeros_changes_nothing_but_rounds_to_a_64th() {
    let mut bytes = [0; TABLE_BYTES];
    bytes[0] = 1;
    let table = PostFilter::read(&bytes).expect("a valid table");
    let planes = planes(&mut Random(5), [23, 14], 3, 40, false);
    let samples = Samples::new(23, 14, &planes);
    let same: Vec<i32> = samples.components[1].iter().map(|&sample| sample.into()).collect();
    assert_eq!(samples.filtered(&table, 3 << 20, 1, &[3; 24]), same);
}

#[test]
fn tables_out_of_range_are_refused() {
    let with = |at: usize, bytes: &[u8]| {
        let mut table = [0; TABLE_BYTES];
        table[0] = 1;
        table[at..at + bytes.len()].copy_from_slice(bytes);
        PostFilter::read(&table).map(|_| ())
    };
    assert_eq!(with(0, &[0xff, 0x1f]), Ok(()));
    for step in [[0, 0], [0, 0x20]] {
        assert_eq!(with(0, &step), Err("the post-filter's step is out of range"));
    }
    assert_eq!(with(2, &[127, 0x81, 127, 127, 3]), Ok(()));
    for taps in [&[0x80][..], &[127, 0x81, 127, 127, 4]] {
        assert_eq!(with(2, taps), Err("a filter of the post-filter is out of range"));
    }
    assert!(with(TABLE_BYTES - 14, &[127, 127, 127, 127, 4]).is_err(), "the last filter is looked at too");
}

#[test]
fn taps_lie_between_those_of_the_cuts_around() {
    let mut bytes = [0; TABLE_BYTES];
    bytes[0] = 64;
    let of_cut = BLOCK_CLASSES * SAMPLE_PHASES * COMPONENT_TAPS[0];
    for (cut, tap) in [100, 20, -60_i8].into_iter().enumerate() {
        bytes[2 + cut * of_cut] = tap.cast_unsigned();
    }
    let table = PostFilter::read(&bytes).expect("a valid table");
    let at = |planes: f64| {
        let (taps, step) = table.filter((planes * f64::from(1 << 20)) as i32, [0, 0, 0]);
        (taps[0], step)
    };
    assert_eq!([at(-6.0), at(-0.5), at(-1.0)], [(12800, 0), (12800, 34), (12800, 4)]);
    assert_eq!([at(0.0), at(1.0)], [(12800, 64), (12800, 128)]);
    assert_eq!([at(2.0), at(3.5), at(5.0), at(15.0)], [(7680, 256), (0, 768), (-7680, 2048), (-7680, 8191)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_size_is_as_the_slow_twin(
        width in 1..150_usize, height in 1..60_usize, present in 0..3_usize, seed: u32, position in -6 * (1 << 20)..16_i32 << 20,
    ) {
        check([width, height], [0..1, 0..3, 1..3][present].clone(), seed, position);
    }
}
