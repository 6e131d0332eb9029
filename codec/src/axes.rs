//! The colour axes of a picture: three orthogonal directions in RGB, found for it (spec, "Colour").
//!
//! The colours of most pictures vary along few directions of their own. A picture's planes are its colours along such axes,
//! which leaves the planes less in common than a matrix for all pictures does; undoing it is a matrix all the same.

use crate::picture::{Channels, Picture};
use crate::rotation::turned;

/// What the angles 0, 0, 0 stand for: grey, yellow to blue, green to red. Not yet of length 1.
const OPPONENT: [[f64; 3]; 3] = [[1.0, 1.0, 1.0], [-1.0, -1.0, 2.0], [1.0, -1.0, 0.0]];
/// Steps of an angle in half a turn.
const HALF_TURN: f64 = 1024.0;
/// Angles are in `-RANGE..RANGE`: a quarter of a turn each way.
const RANGE: i16 = 512;
/// Bits of an angle in a stream.
const BITS: u32 = 10;
/// About so many points of a picture are looked at.
const POINTS: usize = 1024;
/// Distances, in pixels, over which colours are compared.
const DISTANCES: [usize; 3] = [1, 2, 4];
/// Colours that differ by less than this in every channel say nothing.
const LEAST: i32 = 4;
/// A difference of this many levels is where it begins to cost.
const SMALL: f64 = 10.0;
/// The first step of the search; then they halve.
const FIRST_STEP: i16 = 128;
/// Differences that are looked at together.
const LANES: usize = 16;

/// Three orthogonal directions in RGB, along which a picture's planes hold its colours.
///
/// Grey pictures, and those one pixel wide or high, have the default: the planes of grey, of blue against yellow, of red against green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Axes {
    angles: [i16; 3],
}

impl Axes {
    /// Axes that `picture` takes few bits along: its colours' differences are small in most planes. The same on every
    /// machine but for the rounding of sines.
    #[must_use]
    pub fn of(picture: &Picture) -> Self {
        if picture.channels() == Channels::Grey {
            return Self::default();
        }
        let differences = Differences::of(picture);
        if differences.chunks.is_empty() {
            return Self::default();
        }
        let found = differences.search(Self::default(), FIRST_STEP);
        // Luma is where most is.
        let energies = found.rows().map(|row| differences.energy(row));
        let most = (0..3).fold(0, |most, i| if energies[i] > energies[most] { i } else { most });
        if most == 0 { found } else { differences.search(found.with_first(most), 1) }
    }

    /// The axes of three angles, each -512..=511 in 1/1024 of half a turn; `None` beyond.
    #[must_use]
    pub fn from_angles(angles: [i16; 3]) -> Option<Self> {
        angles.iter().all(|angle| (-RANGE..RANGE).contains(angle)).then_some(Self { angles })
    }

    /// How far the default axes were turned: in the planes of the first and second, first and third, second and third axis.
    #[must_use]
    pub const fn angles(self) -> [i16; 3] {
        self.angles
    }

    /// As a header holds them.
    pub(crate) fn to_bits(self) -> u32 {
        let fields = self.angles.map(|angle| u32::from((angle + RANGE).cast_unsigned()));
        fields[0] | fields[1] << BITS | fields[2] << (2 * BITS)
    }

    /// `None` if a reserved bit is set.
    pub(crate) fn from_bits(bits: u32) -> Option<Self> {
        let field = |index: u32| {
            let [low, high, ..] = (bits >> (index * BITS) & ((1 << BITS) - 1)).to_le_bytes();
            i16::from_le_bytes([low, high]) - RANGE
        };
        (bits >> (3 * BITS) == 0).then(|| Self { angles: [field(0), field(1), field(2)] })
    }

    /// The axes as rows, each of length 1.
    fn rows(self) -> [[f64; 3]; 3] {
        let opponent = OPPONENT.map(|row| {
            let length = row.iter().map(|value| value * value).sum::<f64>().sqrt();
            row.map(|value| value / length)
        });
        turned(opponent, self.angles.map(|angle| f64::from(angle) * std::f64::consts::PI / HALF_TURN))
    }

    /// About the same axes, with another one first.
    #[expect(clippy::cast_possible_truncation, reason = "a quarter of a turn at most")]
    fn with_first(self, first: usize) -> Self {
        let mut rows = self.rows();
        rows.swap(0, first);
        let near = |angle: f64| {
            // A direction and its opposite are one axis.
            let within = (angle / std::f64::consts::PI + 0.5).rem_euclid(1.0) - 0.5;
            ((within * HALF_TURN).round() as i16).clamp(-RANGE, RANGE - 1)
        };
        let default = Self::default().rows();
        let across = |row: [f64; 3], axis: usize| dot(row, default[axis]);
        let [x, y, z] = std::array::from_fn(|axis| across(rows[0], axis));
        let a = near(-y.atan2(x));
        // Not the root of x * x + y * y: the angle may have been turned to the opposite one.
        let b = near(-z.atan2(dot(rows[0], Self { angles: [a, 0, 0] }.rows()[0])));
        let turned = Self { angles: [a, b, 0] }.rows();
        let c = near(-dot(rows[1], turned[2]).atan2(dot(rows[1], turned[1])));
        Self { angles: [a, b, c] }
    }

    /// The matrix from RGB - 128 to planes, row-major.
    #[expect(clippy::cast_possible_truncation, reason = "planes are single precision")]
    pub(crate) fn analysis(self) -> [f32; 9] {
        let rows = self.rows();
        std::array::from_fn(|i| (rows[i / 3][i % 3] / 3_f64.sqrt()) as f32)
    }

    /// The matrix from planes to RGB - 128, row-major.
    #[expect(clippy::cast_possible_truncation, reason = "planes are single precision")]
    pub(crate) fn synthesis(self) -> [f32; 9] {
        let rows = self.rows();
        std::array::from_fn(|i| (rows[i % 3][i / 3] * 3_f64.sqrt()) as f32)
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Differences between the colours of neighbouring pixels, by channel; zeros fill up the last chunk.
struct Differences {
    chunks: Vec<[[f32; LANES]; 3]>,
}

impl Differences {
    /// Those across and down at points of a grid.
    fn of(picture: &Picture) -> Self {
        let (width, height) = (picture.size().width(), picture.size().height());
        let pixels = picture.samples().as_chunks::<3>().0;
        let stride = (width * height / POINTS).isqrt().max(1);
        let mut chunks: Vec<[[f32; LANES]; 3]> = Vec::new();
        let mut count = 0;
        let mut push = |here: [u8; 3], there: [u8; 3]| {
            let difference: [i32; 3] = std::array::from_fn(|i| i32::from(there[i]) - i32::from(here[i]));
            if difference.iter().any(|value| value.abs() >= LEAST) {
                if count % LANES == 0 {
                    chunks.push([[0.0; LANES]; 3]);
                }
                let last = chunks.last_mut().expect("one was pushed");
                for (lanes, value) in last.iter_mut().zip(difference) {
                    lanes[count % LANES] = value as f32;
                }
                count += 1;
            }
        };
        for distance in DISTANCES {
            for y in (0..height.saturating_sub(distance)).step_by(stride) {
                for x in (0..width.saturating_sub(distance)).step_by(stride) {
                    let at = y * width + x;
                    push(pixels[at], pixels[at + distance]);
                    push(pixels[at], pixels[at + distance * width]);
                }
            }
        }
        Self { chunks }
    }

    /// The axes of least cost that are found from `best`, by steps that halve.
    fn search(&self, mut best: Axes, mut step: i16) -> Axes {
        let mut least = self.cost(best);
        while step > 0 {
            let mut moved = false;
            for (angle, change) in (0..3).flat_map(|angle| [(angle, step), (angle, -step)]) {
                let mut other = best;
                other.angles[angle] = (best.angles[angle] + change).clamp(-RANGE, RANGE - 1);
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
        let squares = self
            .chunks
            .iter()
            .flat_map(|[r, g, b]| (0..LANES).map(move |i| dot(direction, [r[i], g[i], b[i]].map(f64::from)).powi(2)));
        squares.sum()
    }

    /// About the bits that these take along `axes`: the sum of log2(1 + (c / `SMALL`)^2) over all and over the three
    /// planes. The bits of a float, read as an integer, are its logarithm closely enough.
    #[expect(clippy::cast_possible_truncation, reason = "single precision is plenty")]
    fn cost(&self, axes: Axes) -> u64 {
        let m = axes.rows().map(|row| row.map(|value| (value / SMALL) as f32));
        let mut sum = [0_u64; LANES];
        for [r, g, b] in &self.chunks {
            for i in 0..LANES {
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
    use crate::picture::Size;

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
            let (there, back) = (axes.analysis(), axes.synthesis());
            for i in 0..9 {
                let product: f32 = (0..3).map(|k| back[i / 3 * 3 + k] * there[3 * k + i % 3]).sum();
                assert!((product - f32::from(u8::from(i % 4 == 0))).abs() < 1e-6, "{angles:?}");
            }
            assert_eq!(Axes::from_bits(axes.to_bits()), Some(axes));
            for first in 1..3 {
                let (before, after) = (axes.rows(), axes.with_first(first).rows());
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
