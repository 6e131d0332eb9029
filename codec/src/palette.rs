//! An encoder's choice of the regions' rotations (spec, "Encoders"): a few for a stripe, along which its regions'
//! coefficients take few bits.

use std::ops::Range;

use crate::layout::{self, UNITS, Unit};
use crate::model::{self, Model};
use crate::picture::Channels;
use crate::regions::{MOST, SIDE};
use crate::rotation::{Matrix, Rotation};
use crate::transform::Coefficients;

/// Squares that are looked at together.
const LANES: usize = 8;
/// Coefficients of a square.
const SQUARE: f32 = 4.0;
/// Squares of the coarsest level looked at have a region to themselves.
const COARSEST: usize = 4;
/// Squares whose components all have less than this mean square, in squared steps, say nothing.
const LEAST: f32 = 4.0;
/// Bit planes that are looked at together.
const PLANES: usize = 3;
/// The finest of them is the first in which a pixel takes, by estimate, at most so many bits.
const BITS: f32 = 0.8;
/// About so many chunks of squares are looked at to find rotations, and so many groups of regions to begin with.
const SKETCH: usize = 1024;
const SEEDS: usize = 32;
/// The first step of the search for a group's rotation, and for that of all regions that share it.
const FIRST_STEP: i8 = 8;
const LATER_STEP: i8 = 2;
/// Estimated bits that a rotation must save to be worth its own.
const WORTH: f32 = 30.0;
/// Estimated bits that a region costs for every neighbour rotated otherwise.
const BORDER: f32 = 0.5;
/// How often regions and rotations are fitted to each other.
const ROUNDS: usize = 1;

/// The rotation of every region of the stripe of these rows, row by row; none for grey.
pub(crate) fn rotations(model: &Model, coefficients: &Coefficients, rows: &Range<usize>) -> Vec<Rotation> {
    if coefficients.channels == Channels::Grey {
        return Vec::new();
    }
    let regions = Squares::of(model, coefficients, rows);
    let stride = regions.chunks.len().div_ceil(SKETCH).max(1);
    let sketch = regions.every(stride);
    let pixels = (coefficients.size.width() * rows.len()) as f32 / stride as f32;
    let scale = Scale::of(&sketch, pixels);
    let found = sketch.palette(&scale, stride);
    regions.assign(&found, &scale, BORDER).into_iter().map(|number| found[number]).collect()
}

/// Squares of two by two coefficients of one band: mean products of each two components, and the inverse squared step of
/// each component. Zeros fill up the last of a region.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    products: [[f32; LANES]; 6],
    inverses: [[f32; LANES]; 3],
}

/// What the regions of a stripe hold.
struct Squares {
    across: usize,
    chunks: Vec<Chunk>,
    /// Where the chunks of each region end.
    ends: Vec<usize>,
}

/// The bit planes that matter, and how much.
struct Scale {
    /// By plane: the inverse of its squared step, in squared finest steps.
    inverses: [f32; PLANES],
    weights: [f32; PLANES],
}

impl Scale {
    /// Where the stripe has the rates that matter. That all count alike means that a bit counts the more the coarser
    /// its plane is; the root makes that less.
    fn of(sketch: &Squares, pixels: f32) -> Self {
        let inverse = |plane: usize| 0.25_f32.powi(i32::try_from(plane).unwrap_or(i32::MAX));
        let bits = |plane: usize| {
            let one = Self { inverses: [inverse(plane); PLANES], weights: [1.0, 0.0, 0.0] };
            sketch.cost(0..sketch.chunks.len(), &Rotation::default().matrix(), &one) / pixels
        };
        let first = (0..model::PLANES).find(|&plane| bits(plane) <= BITS).unwrap_or(0);
        let weights: [f32; PLANES] = std::array::from_fn(|plane| bits(first + plane).max(1e-4).sqrt().recip());
        let sum: f32 = weights.iter().sum();
        Self {
            inverses: std::array::from_fn(|plane| inverse(first + plane)),
            weights: weights.map(|weight| weight / sum),
        }
    }
}

impl Squares {
    fn of(model: &Model, coefficients: &Coefficients, rows: &Range<usize>) -> Self {
        let (width, height) = (coefficients.size.width(), coefficients.size.height());
        let (across, down) = (width.div_ceil(SIDE), rows.len().div_ceil(SIDE));
        let mut out = Self { across, chunks: Vec::new(), ends: Vec::with_capacity(across * down) };
        for (y, x) in (0..down).flat_map(|y| (0..across).map(move |x| (y, x))) {
            let mut count = 0;
            for index in 3..UNITS {
                let unit = Unit::at(index);
                if unit.component > 0 || unit.level > COARSEST {
                    continue;
                }
                let kin = [0, 1, 2].map(|component| layout::sibling(index, component));
                let inverses = kin.map(|index| model.units[index].step.powi(-2));
                let bands = kin.map(|index| coefficients.units[index].as_slice());
                let (stride, _) = unit.size(width, height);
                let (own, side) = (layout::rows(unit, height, rows), SIDE >> unit.level);
                let (left, top) = ((x * side).min(stride), own.start + y * side);
                let columns = left..(left + side).min(stride);
                for y in (top..(top + side).min(own.end).saturating_sub(1)).step_by(2) {
                    let [a, b, c] = bands.map(|band| squares(band, stride, &columns, y));
                    for ((a, b), c) in a.zip(b).zip(c) {
                        let own = [product(a, a), product(b, b), product(c, c)];
                        if own.iter().zip(inverses).all(|(own, inverse)| own * inverse < LEAST) {
                            continue;
                        }
                        if count % LANES == 0 {
                            out.chunks.push(Chunk { products: [[0.0; LANES]; 6], inverses: [[0.0; LANES]; 3] });
                        }
                        let chunk = out.chunks.last_mut().expect("one was pushed");
                        let products = [own[0], own[1], own[2], product(a, b), product(a, c), product(b, c)];
                        for (lanes, value) in chunk.products.iter_mut().zip(products) {
                            lanes[count % LANES] = value;
                        }
                        for (lanes, value) in chunk.inverses.iter_mut().zip(inverses) {
                            lanes[count % LANES] = value;
                        }
                        count += 1;
                    }
                }
            }
            out.ends.push(out.chunks.len());
        }
        out
    }

    /// Every so many chunks of each region.
    fn every(&self, stride: usize) -> Self {
        let mut out = Self { across: self.across, chunks: Vec::new(), ends: Vec::with_capacity(self.ends.len()) };
        for region in 0..self.ends.len() {
            out.chunks.extend(self.chunks[self.range(region)].iter().step_by(stride));
            out.ends.push(out.chunks.len());
        }
        out
    }

    /// The chunks of a region.
    fn range(&self, region: usize) -> Range<usize> {
        region.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[region]
    }

    /// About the bits that these chunks take when rotated: half of log2(1 + mean square) for each coefficient, over
    /// the planes. The bits of a float, read as an integer, are its logarithm closely enough.
    fn cost(&self, chunks: Range<usize>, matrix: &Matrix, scale: &Scale) -> f32 {
        let mut sums = [0.0; LANES];
        for Chunk { products: [aa, bb, cc, ab, ac, bc], inverses } in &self.chunks[chunks] {
            for lane in 0..LANES {
                let energies: [f32; 3] = std::array::from_fn(|component| {
                    let [a, b, c] = matrix[component];
                    let own = a * a * aa[lane] + b * b * bb[lane] + c * c * cc[lane];
                    let mixed = a * b * ab[lane] + a * c * ac[lane] + b * c * bc[lane];
                    (own + 2.0 * mixed).max(0.0) * inverses[component][lane]
                });
                for (inverse, weight) in scale.inverses.iter().zip(scale.weights) {
                    let [a, b, c] = energies.map(|energy| 1.0 + energy * inverse);
                    sums[lane] += weight * (a * b * c).to_bits().wrapping_sub(1.0_f32.to_bits()).cast_signed() as f32;
                }
            }
        }
        sums.iter().sum::<f32>() * (SQUARE / 2.0 / (1 << 23) as f32)
    }

    /// The rotation of least cost for these regions that is found from `best`, by steps that halve.
    fn search(&self, regions: &[usize], mut best: Rotation, mut step: i8, scale: &Scale) -> Rotation {
        let cost = |rotation: Rotation| -> f32 {
            let matrix = rotation.matrix();
            regions.iter().map(|&region| self.cost(self.range(region), &matrix, scale)).sum()
        };
        let mut least = cost(best);
        while step > 0 {
            let mut moved = false;
            for (angle, by) in (0..3).flat_map(|angle| [(angle, step), (angle, -step)]) {
                let Some(other) = best.changed(angle, by) else { continue };
                let cost = cost(other);
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

    /// The rotations worth their bits, the one that does nothing among them; squares here stand for `stride` of them each.
    fn palette(&self, scale: &Scale, stride: usize) -> Vec<Rotation> {
        let share = 1.0 / stride as f32;
        let mut palette = vec![Rotation::default()];
        let seeds: Vec<Rotation> =
            self.groups().iter().map(|group| self.search(group, palette[0], FIRST_STEP, scale)).collect();
        let costs: Vec<Vec<f32>> = seeds.iter().map(|&seed| self.costs(seed, scale)).collect();
        let mut least = self.costs(palette[0], scale);
        while palette.len() < MOST {
            let gain = |costs: &[f32]| -> f32 {
                costs.iter().zip(&least).map(|(cost, least)| (least - cost - BORDER * share).max(0.0)).sum()
            };
            let gains = costs.iter().map(|costs| gain(costs)).enumerate();
            let Some((best, most)) = gains.max_by(|(_, a), (_, b)| a.total_cmp(b)) else { break };
            if most < WORTH * share {
                break;
            }
            palette.push(seeds[best]);
            least.iter_mut().zip(&costs[best]).for_each(|(least, cost)| *least = least.min(*cost));
        }
        for _ in 0..ROUNDS {
            let numbers = self.assign(&palette, scale, BORDER * share);
            for (number, rotation) in palette.iter_mut().enumerate().skip(1) {
                let own: Vec<usize> = (0..numbers.len()).filter(|&region| numbers[region] == number).collect();
                *rotation = self.search(&own, *rotation, LATER_STEP, scale);
            }
        }
        palette
    }

    /// Squares of two by two regions, spread over the stripe.
    fn groups(&self) -> Vec<Vec<usize>> {
        let (across, down) = (self.across, self.ends.len() / self.across);
        let corners = (0..down).step_by(2).flat_map(|y| (0..across).step_by(2).map(move |x| (x, y)));
        let group = |(x, y): (usize, usize)| {
            let own = (y..(y + 2).min(down)).flat_map(|y| (x..(x + 2).min(across)).map(move |x| y * across + x));
            own.filter(|&region| !self.range(region).is_empty()).collect::<Vec<_>>()
        };
        let groups: Vec<_> = corners.map(group).filter(|group| !group.is_empty()).collect();
        let stride = groups.len().div_ceil(SEEDS).max(1);
        groups.into_iter().step_by(stride).collect()
    }

    /// What each region costs under a rotation.
    fn costs(&self, rotation: Rotation, scale: &Scale) -> Vec<f32> {
        let matrix = rotation.matrix();
        (0..self.ends.len()).map(|region| self.cost(self.range(region), &matrix, scale)).collect()
    }

    /// The number of each region's rotation: of little cost, and mostly its neighbours'.
    fn assign(&self, palette: &[Rotation], scale: &Scale, border: f32) -> Vec<usize> {
        let costs: Vec<Vec<f32>> = palette.iter().map(|&rotation| self.costs(rotation, scale)).collect();
        let across = self.across;
        let mut numbers = vec![0; self.ends.len()];
        for region in (0..numbers.len()).chain(0..numbers.len()) {
            let beside = [
                (region % across > 0).then(|| region - 1),
                (region % across + 1 < across).then_some(region + 1),
                region.checked_sub(across),
                Some(region + across),
            ];
            let around: Vec<usize> =
                beside.into_iter().flatten().filter_map(|other| numbers.get(other).copied()).collect();
            let cost = |number: usize| {
                costs[number][region] + border * around.iter().filter(|&&other| other != number).count() as f32
            };
            numbers[region] = (0..palette.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
        }
        numbers
    }
}

/// The squares of a band in these columns of the rows `y` and `y + 1`.
fn squares<'a>(
    band: &'a [f32],
    stride: usize,
    columns: &Range<usize>,
    y: usize,
) -> impl Iterator<Item = [f32; 4]> + use<'a> {
    let row = |y: usize| band[y * stride..][columns.clone()].as_chunks::<2>().0;
    row(y).iter().zip(row(y + 1)).map(|(&[a, b], &[c, d])| [a, b, c, d])
}

/// The mean product of two squares.
fn product(a: [f32; 4], b: [f32; 4]) -> f32 {
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]) / SQUARE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis as _, Encoder, Linear, Picture, Size};

    /// Grain along one direction of colour on the left, along another on the right.
    fn picture(left: [u32; 3], right: [u32; 3]) -> Picture {
        let (width, height, mut state) = (256, 128, 5_u32);
        let samples = (0..width * height).flat_map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let colour = if at % width < width / 2 { left } else { right };
            colour.map(|part| (60 + part * (state >> 8 & 31)).to_le_bytes()[0])
        });
        let size = Size::new(width, height).expect("a valid size");
        Picture::new(size, Channels::Rgb, samples.collect()).expect("all samples")
    }

    fn model() -> Model {
        Model::from_bytes(include_bytes!("../../models/artifacts/photo/tables.bin")).expect("the tables")
    }

    #[test]
    fn parts_of_other_colours_have_rotations_of_their_own_and_take_fewer_bytes() {
        let (model, picture) = (model(), picture([3, 3, 3], [1, 0, 4]));
        let linear = Linear::new(model.clone());
        let coefficients = linear.analyse(&picture).expect("linear");
        let found = rotations(&model, &coefficients, &(0..128));
        assert_eq!(found.len(), 8 * 4);
        for row in found.chunks(8) {
            assert!(row[..3].iter().all(|rotation| *rotation == row[0]), "{row:?}");
            assert!(row[5..].iter().all(|rotation| *rotation == row[7]), "{row:?}");
            assert_ne!(row[0], row[7]);
        }
        let bytes = |rotations: bool| {
            let encoder = Encoder::new(model.clone()).with_rotations(rotations);
            encoder.encode(&picture, &linear).expect("a stream").bytes().len()
        };
        let (with, without) = (bytes(true), bytes(false));
        assert!(with * 10 < without * 9, "{with} bytes with rotations, {without} without");
    }

    #[test]
    fn a_picture_of_one_direction_and_a_grey_one_need_none() {
        let model = model();
        let linear = Linear::new(model.clone());
        let one = linear.analyse(&picture([3, 2, 1], [3, 2, 1])).expect("linear");
        assert!(rotations(&model, &one, &(0..128)).iter().all(|rotation| *rotation == Rotation::default()));
        let size = Size::new(64, 64).expect("a valid size");
        let grey = Picture::new(size, Channels::Grey, vec![7; 64 * 64]).expect("all samples");
        assert!(rotations(&model, &linear.analyse(&grey).expect("linear"), &(0..64)).is_empty());
    }
}
