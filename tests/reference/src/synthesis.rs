//! Sections 12 and 13: values and the linear synthesis, in doubles.

use super::layout::low;
use super::post_filter::{self, Planes};
use super::regions::turned;
use super::tables::Filter;
use super::{Header, Levels, Prefix, Tables};

/// Returns the planes before the post-filter.
pub(super) fn planes(tables: &Tables, header: &Header, prefix: &Prefix) -> Vec<Vec<f64>> {
    let components = if header.colour { 3 } else { 1 };
    let mut values: Vec<Vec<f64>> =
        (0..57).map(|subband| values(tables, header.fine, &prefix.subbands, subband)).collect();
    prefix.regions.undo(&mut values);
    (0..components).map(|c| plane(tables, header, &values, c)).collect()
}

/// Makes the picture from planes before the post-filter.
pub(super) fn picture(tables: &Tables, header: &Header, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<u8> {
    values_of(tables, header, prefix, planes).into_iter().map(sample).collect()
}

/// Does the same in 16 bits a sample.
pub(super) fn deep_picture(tables: &Tables, header: &Header, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<u16> {
    values_of(tables, header, prefix, planes).into_iter().map(deep_sample).collect()
}

/// Returns the values that become samples.
fn values_of(tables: &Tables, header: &Header, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<f64> {
    let planes = match &tables.filter {
        Some(filter) if prefix.t >= -2 << 20 => filtered(filter, header, prefix, planes),
        _ => planes.to_vec(),
    };
    let axes = axes(header.axes);
    let mut samples = Vec::new();
    for pixel in 0..header.width * header.height {
        let yuv: Vec<f64> = planes.iter().map(|plane| plane[pixel]).collect();
        if !header.colour {
            samples.push(yuv[0]);
            continue;
        }
        samples.extend([0, 1, 2].map(|channel| {
            let value: f64 = axes.iter().zip(&yuv).map(|(axis, value)| axis[channel] * value).sum();
            3_f64.sqrt() * value
        }));
    }
    samples
}

/// Section 13, "Post-filter".
fn filtered(filter: &Filter, header: &Header, prefix: &Prefix, planes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let samples = planes.iter().map(|plane| post_filter::rounded(plane)).collect();
    let bands = |component: usize, level: usize| &prefix.subbands[3 + 9 * (6 - level) + 3 * component..][..3];
    let significance = (0..planes.len())
        .map(|c| post_filter::significance([header.width, header.height], [1, 2, 3].map(|level| bands(c, level))))
        .collect();
    let planes = Planes { width: header.width, height: header.height, samples, significance };
    let filtered = (0..planes.samples.len()).map(|component| planes.filtered(filter, component, prefix.t));
    filtered.map(|plane| plane.into_iter().map(|sample| sample as f64 / 64.0).collect()).collect()
}

/// Returns the rows of A.
fn axes([a, b, c]: [i32; 3]) -> [[f64; 3]; 3] {
    let rows = [
        [1.0, 1.0, 1.0].map(|value: f64| value / 3_f64.sqrt()),
        [-1.0, -1.0, 2.0].map(|value: f64| value / 6_f64.sqrt()),
        [1.0, -1.0, 0.0].map(|value: f64| value / 2_f64.sqrt()),
    ];
    turned(rows, [a, b, c].map(|angle| f64::from(angle) * std::f64::consts::PI / 1024.0))
}

#[expect(clippy::cast_possible_truncation, reason = "it is clamped to 0..=255")]
fn sample(value: f64) -> u8 {
    (value + 128.5).floor().clamp(0.0, 255.0) as u8
}

#[expect(clippy::cast_possible_truncation, reason = "it is clamped to 0..=65535")]
fn deep_sample(value: f64) -> u16 {
    (257.0 * (value + 128.0) + 0.5).floor().clamp(0.0, 65535.0) as u16
}

/// Section 12: the value of a coefficient.
fn value(tables: &Tables, fine: i32, subband: usize, level: i32, known: i32) -> f64 {
    if level == 0 {
        return 0.0;
    }
    let record = &tables.subbands[subband];
    let of_plane = usize::try_from(known - fine).map_or(0.5, |plane| record.offsets[plane]);
    let offset = of_plane * f64::from(1 << known);
    f64::from(level.signum()) * (f64::from(level.abs()) + offset) * record.step / f64::from(1 << fine)
}

fn values(tables: &Tables, fine: i32, subbands: &[Levels], subband: usize) -> Vec<f64> {
    let of = &subbands[subband];
    of.levels.iter().zip(&of.known).map(|(&level, &known)| value(tables, fine, subband, level, known)).collect()
}

fn plane(tables: &Tables, header: &Header, values: &[Vec<f64>], component: usize) -> Vec<f64> {
    let values = |subband: usize| values[subband].clone();
    let mut lowest = values(component);
    for level in (1..=6).rev() {
        let first = 3 + 9 * (6 - level) + 3 * component;
        let bands = [lowest, values(first), values(first + 1), values(first + 2)];
        let size = (low(header.width, level - 1), low(header.height, level - 1));
        let steps: Vec<_> = (0..4).map(|step| tables.tap(level, step)).collect();
        lowest = join(&bands, size, |line| unlift(line, &steps));
    }
    lowest
}

/// `join`, for floats and for integers.
pub(super) fn join<T: Copy + Default>(
    bands: &[Vec<T>; 4],
    (width, height): (usize, usize),
    unlift: impl Fn(Vec<T>) -> Vec<T>,
) -> Vec<T> {
    let mut plane = vec![T::default(); width * height];
    for y in 0..height {
        for x in 0..width {
            let across = if x % 2 == 0 { width.div_ceil(2) } else { width / 2 };
            plane[y * width + x] = bands[x % 2 + 2 * (y % 2)][y / 2 * across + x / 2];
        }
    }
    for x in 0..width {
        let column: Vec<T> = (0..height).map(|y| plane[y * width + x]).collect();
        for (y, value) in unlift(column).into_iter().enumerate() {
            plane[y * width + x] = value;
        }
    }
    for y in 0..height {
        let row = plane[y * width..][..width].to_vec();
        plane[y * width..][..width].copy_from_slice(&unlift(row));
    }
    plane
}

/// Does the reverse of [`join`]: lifts every row, then every column.
pub(super) fn split(
    plane: &[i64],
    (width, height): (usize, usize),
    lift: impl Fn(Vec<i64>) -> Vec<i64>,
) -> [Vec<i64>; 4] {
    let mut plane = plane.to_vec();
    for y in 0..height {
        let row = plane[y * width..][..width].to_vec();
        plane[y * width..][..width].copy_from_slice(&lift(row));
    }
    for x in 0..width {
        let column = (0..height).map(|y| plane[y * width + x]).collect();
        for (y, value) in lift(column).into_iter().enumerate() {
            plane[y * width + x] = value;
        }
    }
    [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(left, top)| {
        let rows = plane.chunks(width).skip(top).step_by(2);
        rows.flat_map(|row| row.iter().skip(left).step_by(2).copied()).collect()
    })
}

fn unlift(mut line: Vec<f64>, steps: &[(f64, f64)]) -> Vec<f64> {
    if line.len() < 2 {
        return line;
    }
    for step in (0..4).rev() {
        let (near, far) = steps[step];
        for k in ((step + 1) % 2..line.len()).step_by(2) {
            let at = |offset: isize| line[mirrored(k.cast_signed() + offset, line.len())];
            line[k] -= near * (at(-1) + at(1)) + far * (at(-3) + at(3));
        }
    }
    line
}

/// `m` for an index in a line of `count` samples, at least 2.
pub(super) fn mirrored(index: isize, count: usize) -> usize {
    let period = 2 * (count.cast_signed() - 1);
    let rest = index.rem_euclid(period);
    rest.min(period - rest).cast_unsigned()
}
