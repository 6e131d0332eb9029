//! The search for a picture's colour axes (spec, "Colour": *informative*): along them, neighbouring pixels differ
//! little.

use crate::colour::axes::{ANGLE_RANGE, Axes, HALF_TURN};
use crate::colour::ycbcr;
use crate::picture::{Channels, Format, Size, View};
use crate::scratch::Scratch;

/// The approximate number of points that the search samples in a picture.
const SAMPLED_PIXELS: usize = 1024;
/// Distances, in pixels, over which colours are compared.
const DISTANCES_PIXELS: [usize; 3] = [1, 2, 4];
/// Colours that differ by fewer levels than this in every channel are ignored.
const MIN_DIFFERENCE: i32 = 4;
/// The difference, in levels, from which a difference costs noticeable bits.
const SMALL_DIFFERENCE: f64 = 10.0;
/// The first step of the search; later steps halve.
const FIRST_STEP: i16 = 128;
/// Differences that are processed together.
const CHUNK_DIFFERENCES: usize = 16;
/// The numbers in a chunk of differences.
const CHUNK_NUMBERS: usize = 3 * CHUNK_DIFFERENCES;

impl Axes {
    /// Finds axes along which `picture` needs few bits, because its colours' differences are small in most planes. The
    /// result is the same on every machine, except for the rounding of sines.
    #[must_use]
    pub fn of<'a>(picture: impl Into<View<'a>>) -> Self {
        Self::find(&picture.into(), &Scratch::default())
    }

    /// As [`Axes::of`], in reused memory.
    pub(crate) fn find(picture: &View<'_>, scratch: &Scratch) -> Self {
        let size = picture.size;
        match picture.format {
            Format::Rgb => Self::find_between(size, scratch, |x, y| {
                let row = picture.planes[0].row(y, 3 * size.width());
                [row[3 * x], row[3 * x + 1], row[3 * x + 2]]
            }),
            Format::Ycbcr420(colours) => {
                let rgb = ycbcr::pixels(colours);
                let at = |plane: usize, x: usize, y: usize| picture.planes[plane].row(y, x + 1)[x];
                let pixel = |x: usize, y: usize| rgb([at(0, x, y), at(1, x / 2, y / 2), at(2, x / 2, y / 2)]);
                Self::find_between(size, scratch, pixel)
            }
            Format::Ycbcr420Deep { colours, bits } => {
                let rgb = ycbcr::pixels(colours);
                let at = |plane: usize, x: usize, y: usize| {
                    u8::try_from(picture.deep_sample(plane, x, y) >> (bits.clamp(9, 16) - 8)).unwrap_or(u8::MAX)
                };
                let pixel = |x: usize, y: usize| rgb([at(0, x, y), at(1, x / 2, y / 2), at(2, x / 2, y / 2)]);
                Self::find_between(size, scratch, pixel)
            }
            format => match format.channels() {
                Channels::Grey => Self::default(),
                Channels::Rgb => Self::find_between(size, scratch, |x, y| {
                    let bytes = format.pixel_bytes();
                    let pixel = &picture.planes[0].row(y, (x + 1) * bytes)[x * bytes..];
                    // The upper byte of a sample of 16 bits is that sample in 8 bits.
                    let [first, step] = if format.is_deep() { [1, 2] } else { [0, 1] };
                    [pixel[first], pixel[first + step], pixel[first + 2 * step]]
                }),
            },
        }
    }

    /// Finds the axes of the pixels that `pixel` returns by column and row.
    fn find_between(size: Size, scratch: &Scratch, pixel: impl Fn(usize, usize) -> [u8; 3]) -> Self {
        let chunks = pairs(size).count().div_ceil(CHUNK_DIFFERENCES);
        scratch.lend(chunks * CHUNK_NUMBERS, |floats| {
            let differences = Differences::between(size, pixel, floats);
            if differences.chunks.is_empty() {
                return Self::default();
            }
            let found = differences.search(Self::default(), FIRST_STEP);
            // Luma is the plane with the most energy.
            let energies = found.rows().map(|row| differences.energy(row));
            let most = (0..3).fold(0, |most, i| if energies[i] > energies[most] { i } else { most });
            if most == 0 { found } else { differences.search(found.with_first(most), 1) }
        })
    }

    /// Returns about the same axes, with another one first.
    #[expect(clippy::cast_possible_truncation, reason = "a quarter of a turn at most")]
    fn with_first(self, first: usize) -> Self {
        let mut rows = self.rows();
        rows.swap(0, first);
        let near = |angle: f64| {
            // A direction and its opposite are one axis.
            let within = (angle / std::f64::consts::PI + 0.5).rem_euclid(1.0) - 0.5;
            ((within * HALF_TURN).round() as i16).clamp(-ANGLE_RANGE, ANGLE_RANGE - 1)
        };
        let default = Self::default().rows();
        let across = |row: [f64; 3], axis: usize| dot(row, default[axis]);
        let [x, y, z] = std::array::from_fn(|axis| across(rows[0], axis));
        let a = near(-y.atan2(x));
        // The sign matters, so this is not the root of x * x + y * y: the angle may have been turned to the opposite
        // one.
        let b = near(-z.atan2(dot(rows[0], Self { angles: [a, 0, 0] }.rows()[0])));
        let turned = Self { angles: [a, b, 0] }.rows();
        let c = near(-dot(rows[1], turned[2]).atan2(dot(rows[1], turned[1])));
        Self { angles: [a, b, c] }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Pairs of pixels, across and down, at the points of a grid.
fn pairs(size: Size) -> impl Iterator<Item = [[usize; 2]; 2]> {
    let width = size.width();
    let height = size.height();
    let stride = (width * height / SAMPLED_PIXELS).isqrt().max(1);
    DISTANCES_PIXELS.into_iter().flat_map(move |distance| {
        let rows = (0..height.saturating_sub(distance)).step_by(stride);
        let points = rows.flat_map(move |y| (0..width.saturating_sub(distance)).step_by(stride).map(move |x| [x, y]));
        points.flat_map(move |[x, y]| [[[x, y], [x + distance, y]], [[x, y], [x, y + distance]]])
    })
}

/// Differences between the colours of neighbouring pixels. Each chunk has the differences of all channels, one channel
/// after the other; zeros fill the last chunk.
struct Differences<'a> {
    chunks: &'a [[f32; CHUNK_NUMBERS]],
}

/// The channels of a chunk.
fn channels(chunk: &[f32; CHUNK_NUMBERS]) -> [&[f32; CHUNK_DIFFERENCES]; 3] {
    let (lanes, _) = chunk.as_chunks();
    [&lanes[0], &lanes[1], &lanes[2]]
}

impl<'a> Differences<'a> {
    fn between(size: Size, pixel: impl Fn(usize, usize) -> [u8; 3], floats: &'a mut [f32]) -> Self {
        let (chunks, _) = floats.as_chunks_mut::<CHUNK_NUMBERS>();
        let mut count = 0;
        for [here, there] in pairs(size) {
            let [here, there] = [here, there].map(|[x, y]| pixel(x, y));
            let difference: [i32; 3] = std::array::from_fn(|i| i32::from(there[i]) - i32::from(here[i]));
            if difference.iter().any(|value| value.abs() >= MIN_DIFFERENCE) {
                let chunk = &mut chunks[count / CHUNK_DIFFERENCES];
                if count.is_multiple_of(CHUNK_DIFFERENCES) {
                    chunk.fill(0.0);
                }
                for (lanes, value) in chunk.chunks_mut(CHUNK_DIFFERENCES).zip(difference) {
                    lanes[count % CHUNK_DIFFERENCES] = value as f32;
                }
                count += 1;
            }
        }
        Self { chunks: &chunks[..count.div_ceil(CHUNK_DIFFERENCES)] }
    }

    /// Finds the axes of least cost from `best`, by steps that halve.
    fn search(&self, mut best: Axes, mut step: i16) -> Axes {
        let mut least = self.cost(best);
        while step > 0 {
            let mut moved = false;
            for (angle, change) in (0..3).flat_map(|angle| [(angle, step), (angle, -step)]) {
                let mut other = best;
                other.angles[angle] = (best.angles[angle] + change).clamp(-ANGLE_RANGE, ANGLE_RANGE - 1);
                let cost = self.cost(other);
                if cost < least {
                    (best, least, moved) = (other, cost, true);
                }
            }
            if !moved {
                step /= 2;
            }
        }
        best
    }

    /// The sum of squares along one direction.
    fn energy(&self, direction: [f64; 3]) -> f64 {
        let squares = self.chunks.iter().map(channels).flat_map(|[r, g, b]| {
            (0..CHUNK_DIFFERENCES).map(move |i| dot(direction, [r[i], g[i], b[i]].map(f64::from)).powi(2))
        });
        squares.sum()
    }

    /// Estimates the bits of these differences along `axes`: the sum of log2(1 + (c / [`SMALL_DIFFERENCE`])^2) over all
    /// differences and the three planes. The bits of a float, read as an integer, approximate its logarithm closely
    /// enough.
    #[expect(clippy::cast_possible_truncation, reason = "single precision is plenty")]
    fn cost(&self, axes: Axes) -> u64 {
        let m = axes.rows().map(|row| row.map(|value| (value / SMALL_DIFFERENCE) as f32));
        let mut sum = [0_u64; CHUNK_DIFFERENCES];
        for [r, g, b] in self.chunks.iter().map(channels) {
            for i in 0..CHUNK_DIFFERENCES {
                let along = m.map(|row| row[0] * r[i] + row[1] * g[i] + row[2] * b[i]);
                let [x, y, z] = along.map(|c| 1.0 + c * c);
                sum[i] += u64::from((x * y * z).to_bits());
            }
        }
        sum.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Channels, Picture};

    fn picture(colour: impl Fn(u32) -> [u8; 3]) -> Picture {
        let mut state = 7_u32;
        let samples = (0..64 * 48).flat_map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            colour(state >> 8)
        });
        let size = Size::new(64, 48).expect("a valid size");
        Picture::new(size, Channels::Rgb, samples.collect()).expect("all samples")
    }

    fn byte(value: u32) -> u8 {
        value.to_le_bytes()[0]
    }

    #[test]
    fn what_varies_along_one_direction_has_one_plane() {
        for direction in [[1, 1, 1], [3, 2, 1], [1, 3, 0], [0, 1, 4]] {
            let picture = picture(|state| direction.map(|part| byte(60 + state % 40 * part)));
            let length = f64::from(direction.iter().map(|part| part * part).sum::<u32>()).sqrt();
            let rows = Axes::of(&picture).rows();
            for row in &rows[1..] {
                let along = dot(*row, direction.map(f64::from)) / length;
                assert!(along.abs() < 0.005, "{direction:?}: {rows:?}");
            }
        }
    }

    #[test]
    fn grey_in_three_channels_and_what_says_nothing_have_the_default() {
        assert_eq!(Axes::of(&picture(|state| [byte(state); 3])), Axes::default());
        assert_eq!(Axes::of(&picture(|_| [9, 200, 31])), Axes::default());
    }

    #[test]
    fn the_axes_are_orthonormal_and_both_matrices_are_each_others_inverse() {
        for angles in [[0, 0, 0], [0, 0, 200], [0, 0, -200], [511, -512, 17], [-300, 5, 400]] {
            let axes = Axes::from_angles(angles).expect("angles within their range");
            let there = axes.analysis();
            let back = axes.synthesis();
            for i in 0..9 {
                let product: f64 = (0..3).map(|k| back[i / 3 * 3 + k] * there[3 * k + i % 3]).sum();
                assert!((product - f64::from(u8::from(i % 4 == 0))).abs() < 1e-6, "{angles:?}");
            }
            assert_eq!(Axes::from_bits(axes.to_bits()), Some(axes));
            for first in 1..3 {
                let before = axes.rows();
                let after = axes.with_first(first).rows();
                for (now, was) in [(0, first), (first, 0), (3 - first, 3 - first)] {
                    let along = dot(after[now], before[was]).abs();
                    assert!(along > 0.9999, "{angles:?}, {first} first: {now} is {along} along what {was} was");
                }
            }
        }
        assert_eq!(Axes::from_angles([0, 512, 0]), None);
        assert_eq!(Axes::from_bits(1 << 30), None);
    }
}
