//! An encoder's choice of the regions' rotations (spec, "Encoders"): a few for a slice, along which its regions'
//! coefficients need few bits.
//!
//! Prior art: for every block, HEVC's screen content extensions (Recommendation ITU-T H.265, 2016) choose whether to
//! apply one colour transform. Here a slice has up to eight rotations, found by descent over Givens angles.

use std::ops::Range;

use crate::subband::coefficients::Bands;
use crate::subband::layout::{self, ChromaFormat, SUBBAND_COUNT, Subband};
use crate::subband::quantise::MAX_PLANES;
use crate::subband::regions::{self, REGION_SIDE};
use crate::subband::rotation::{MAX_ROTATIONS, Matrix, Rotation};

/// Squares that are processed together.
const CHUNK_SQUARES: usize = 8;
/// Coefficients of a square.
const SQUARE_COEFFICIENTS: f32 = 4.0;
/// The coarsest level that the search uses: there a region has one square.
const COARSEST_LEVEL: usize = 4;
/// Squares whose components all have a lower mean square, in squared steps, are ignored.
const MIN_MEAN_SQUARE: f32 = 4.0;
/// Bit planes that are evaluated together.
const EVALUATED_PLANES: usize = 3;
/// The finest of them is the first in which a pixel needs, by estimate, at most this many bits.
const MAX_BITS_A_PIXEL: f32 = 0.8;
/// The approximate number of chunks in the sketch for the search, and of groups of regions from which it starts.
const SKETCH_CHUNKS: usize = 1024;
const SEED_ROTATIONS: usize = 32;
/// The first step of the search for a group's rotation, and of the search for all regions that share it.
const FIRST_STEP: i8 = 8;
const LATER_STEP: i8 = 2;
/// Estimated bits that a rotation must save to justify its own.
const MIN_SAVED_BITS: f32 = 30.0;
/// Estimated bits that a region costs for every neighbour with another rotation.
const BITS_AN_UNLIKE_NEIGHBOUR: f32 = 0.5;

/// Finds the rotations of slices, one after another, in the same memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct RotationSearch {
    regions: Squares,
    sketch: Squares,
    /// The best rotation of each group of regions.
    seeds: Vec<Rotation>,
    /// The rotations of the slice; the first is the identity.
    found: Vec<Rotation>,
    /// The cost of each region: under every one of some rotations, one rotation after another; and under the best of
    /// the chosen ones.
    costs: Vec<f32>,
    least: Vec<f32>,
    /// By region: the number of its rotation.
    numbers: Vec<usize>,
    /// Regions that are fitted together.
    group: Vec<usize>,
}

/// Squares of two by two coefficients of one band: the mean products of every two components, and the inverse squared
/// step of each component. Zeros fill the last chunk of a region.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    products: [[f32; CHUNK_SQUARES]; 6],
    inverses: [[f32; CHUNK_SQUARES]; 3],
}

/// The squares of a slice's regions.
#[derive(Debug, Clone, Default)]
struct Squares {
    across: usize,
    chunks: Vec<Chunk>,
    /// Where the chunks of each region end.
    ends: Vec<usize>,
}

/// The bit planes that matter, with their weights.
struct Scale {
    /// By plane: the inverse of its squared step, in squared finest steps.
    inverses: [f32; EVALUATED_PLANES],
    weights: [f32; EVALUATED_PLANES],
}

impl RotationSearch {
    /// Returns the rotation of every region of the slice of these rows, row by row; none if there are no regions.
    /// `steps`: the finest steps of the subbands.
    pub(crate) fn run<'a>(
        &'a mut self,
        steps: &[f32; SUBBAND_COUNT],
        bands: Bands<'_>,
        rows: &Range<usize>,
    ) -> impl Iterator<Item = Rotation> + use<'a> {
        self.numbers.clear();
        if bands.chroma == ChromaFormat::Full {
            self.regions.fill(steps, bands, rows);
            let stride = self.regions.chunks.len().div_ceil(SKETCH_CHUNKS).max(1);
            self.sketch.thin(&self.regions, stride);
            let pixels = (bands.size.width() * rows.len()) as f32 / stride as f32;
            let scale = Scale::of(&self.sketch, pixels);
            self.choose(&scale, stride);
            self.regions.assign(&self.found, &scale, BITS_AN_UNLIKE_NEIGHBOUR, &mut self.costs, &mut self.numbers);
        }
        self.numbers.iter().map(|&number| self.found[number])
    }

    /// Finds the rotations that are worth their bits, the identity first. Each chunk of the sketch represents `stride`
    /// chunks.
    fn choose(&mut self, scale: &Scale, stride: usize) {
        let share = 1.0 / stride as f32;
        self.found.clear();
        self.found.push(Rotation::default());
        self.seed(scale);
        let Self { sketch, seeds, found, costs, least, .. } = self;
        costs.clear();
        seeds.iter().for_each(|&seed| sketch.add_costs(seed, scale, costs));
        least.clear();
        sketch.add_costs(found[0], scale, least);
        let count = least.len().max(1);
        while found.len() < MAX_ROTATIONS {
            let gain = |costs: &[f32]| -> f32 {
                let saved = costs.iter().zip(&*least);
                saved.map(|(cost, least)| (least - cost - BITS_AN_UNLIKE_NEIGHBOUR * share).max(0.0)).sum()
            };
            let gains = costs.chunks(count).map(gain).enumerate();
            let Some((best, most)) = gains.max_by(|(_, a), (_, b)| a.total_cmp(b)) else { break };
            if most < MIN_SAVED_BITS * share {
                break;
            }
            found.push(seeds[best]);
            least.iter_mut().zip(&costs[best * count..]).for_each(|(least, cost)| *least = least.min(*cost));
        }
        self.fit(scale, share);
    }

    /// Fits each rotation to the regions that use it.
    fn fit(&mut self, scale: &Scale, share: f32) {
        let Self { sketch, found, costs, numbers, group, .. } = self;
        sketch.assign(found, scale, BITS_AN_UNLIKE_NEIGHBOUR * share, costs, numbers);
        for (number, rotation) in found.iter_mut().enumerate().skip(1) {
            group.clear();
            group.extend((0..numbers.len()).filter(|&region| numbers[region] == number));
            *rotation = sketch.search(group, *rotation, LATER_STEP, scale);
        }
    }

    /// Finds the rotations of some groups of two by two regions, spread over the slice.
    fn seed(&mut self, scale: &Scale) {
        let Self { sketch, seeds, group, .. } = self;
        let across = sketch.across;
        let down = sketch.ends.len() / sketch.across;
        let corners = || (0..down).step_by(2).flat_map(|y| (0..across).step_by(2).map(move |x| (x, y)));
        let members = |(x, y): (usize, usize)| {
            let own = (y..(y + 2).min(down)).flat_map(move |y| (x..(x + 2).min(across)).map(move |x| y * across + x));
            own.filter(|&region| !sketch.range(region).is_empty())
        };
        let groups = || corners().filter(|&corner| members(corner).next().is_some());
        let stride = groups().count().div_ceil(SEED_ROTATIONS).max(1);
        seeds.clear();
        for corner in groups().step_by(stride) {
            group.clear();
            group.extend(members(corner));
            seeds.push(sketch.search(group, Rotation::default(), FIRST_STEP, scale));
        }
    }
}

impl Scale {
    /// Finds the planes that the slice's important rates reach. If all planes weighed alike, a bit would count more in
    /// a coarser plane; the square root reduces this effect.
    fn of(sketch: &Squares, pixels: f32) -> Self {
        let inverse = |plane: u8| 0.25_f32.powi(i32::from(plane));
        let bits = |plane: u8| {
            let one = Self { inverses: [inverse(plane); EVALUATED_PLANES], weights: [1.0, 0.0, 0.0] };
            sketch.cost(0..sketch.chunks.len(), &Rotation::default().matrix(), &one) / pixels
        };
        let first = (0..MAX_PLANES).find(|&plane| bits(plane) <= MAX_BITS_A_PIXEL).unwrap_or(0);
        let planes = [first, first + 1, first + 2];
        let weights = planes.map(|plane| bits(plane).max(1e-4).sqrt().recip());
        let sum: f32 = weights.iter().sum();
        Self { inverses: planes.map(inverse), weights: weights.map(|weight| weight / sum) }
    }
}

impl Squares {
    fn fill(
        &mut self,
        steps: &[f32; SUBBAND_COUNT],
        Bands { size, chroma, subbands, .. }: Bands<'_>,
        rows: &Range<usize>,
    ) {
        let (across, down) = regions::count(chroma, size.width(), rows.len());
        let height = size.height();
        self.across = across;
        self.chunks.clear();
        self.ends.clear();
        for (y, x) in (0..down).flat_map(|y| (0..across).map(move |x| (y, x))) {
            let mut count = 0;
            for index in 3..SUBBAND_COUNT {
                let subband = Subband::at(index);
                if subband.component > 0 || subband.level > COARSEST_LEVEL {
                    continue;
                }
                let components = [0, 1, 2].map(|component| layout::sibling(index, component));
                let inverses = components.map(|index| steps[index].powi(-2));
                let bands = components.map(|index| subbands[index].as_slice());
                let (stride, _) = subband.size(size.width(), height);
                let own = layout::rows(subband, height, rows);
                let side = REGION_SIDE >> subband.level;
                let left = (x * side).min(stride);
                let top = own.start + y * side;
                let columns = left..(left + side).min(stride);
                for y in (top..(top + side).min(own.end).saturating_sub(1)).step_by(2) {
                    let [a, b, c] = bands.map(|band| squares(band, stride, &columns, y));
                    a.zip(b).zip(c).for_each(|((a, b), c)| self.push([a, b, c], inverses, &mut count));
                }
            }
            self.ends.push(self.chunks.len());
        }
    }

    /// Adds the square at one place in all components, unless it is ignored; `count` squares of its region were added
    /// before.
    #[inline]
    fn push(&mut self, [a, b, c]: [[f32; 4]; 3], inverses: [f32; 3], count: &mut usize) {
        let own = [product(a, a), product(b, b), product(c, c)];
        if own.iter().zip(inverses).all(|(own, inverse)| own * inverse < MIN_MEAN_SQUARE) {
            return;
        }
        if count.is_multiple_of(CHUNK_SQUARES) {
            self.chunks.push(Chunk { products: [[0.0; CHUNK_SQUARES]; 6], inverses: [[0.0; CHUNK_SQUARES]; 3] });
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        let products = [own[0], own[1], own[2], product(a, b), product(a, c), product(b, c)];
        for (lanes, value) in chunk.products.iter_mut().zip(products) {
            lanes[*count % CHUNK_SQUARES] = value;
        }
        for (lanes, value) in chunk.inverses.iter_mut().zip(inverses) {
            lanes[*count % CHUNK_SQUARES] = value;
        }
        *count += 1;
    }

    /// Makes this every `stride`th chunk of each region of `all`.
    fn thin(&mut self, all: &Self, stride: usize) {
        self.across = all.across;
        self.chunks.clear();
        self.ends.clear();
        for region in 0..all.ends.len() {
            self.chunks.extend(all.chunks[all.range(region)].iter().step_by(stride));
            self.ends.push(self.chunks.len());
        }
    }

    /// The chunks of a region.
    fn range(&self, region: usize) -> Range<usize> {
        region.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[region]
    }

    /// Estimates the bits of these rotated chunks: half of log2(1 + mean square) for each coefficient, over the planes.
    /// The bits of a float, read as an integer, approximate its logarithm closely enough.
    fn cost(&self, chunks: Range<usize>, matrix: &Matrix, scale: &Scale) -> f32 {
        let mut sums = [0.0; CHUNK_SQUARES];
        for Chunk { products: [aa, bb, cc, ab, ac, bc], inverses } in &self.chunks[chunks] {
            for lane in 0..CHUNK_SQUARES {
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
        sums.iter().sum::<f32>() * (SQUARE_COEFFICIENTS / 2.0 / (1 << 23) as f32)
    }

    /// Finds the rotation of least cost for these regions from `best`, by steps that halve.
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

    /// Appends the cost of each region under a rotation.
    fn add_costs(&self, rotation: Rotation, scale: &Scale, costs: &mut Vec<f32>) {
        let matrix = rotation.matrix();
        costs.extend((0..self.ends.len()).map(|region| self.cost(self.range(region), &matrix, scale)));
    }

    /// Sets `numbers` to the number of each region's rotation: one of low cost that mostly equals its neighbours'.
    fn assign(
        &self,
        rotations: &[Rotation],
        scale: &Scale,
        border: f32,
        costs: &mut Vec<f32>,
        numbers: &mut Vec<usize>,
    ) {
        costs.clear();
        rotations.iter().for_each(|&rotation| self.add_costs(rotation, scale, costs));
        let across = self.across;
        let count = self.ends.len();
        numbers.clear();
        numbers.resize(count, 0);
        for region in (0..count).chain(0..count) {
            let neighbours = [
                (region % across > 0).then(|| region - 1),
                (region % across + 1 < across).then_some(region + 1),
                region.checked_sub(across),
                Some(region + across),
            ];
            let around = neighbours.map(|other| other.and_then(|other| numbers.get(other).copied()));
            let cost = |number: usize| {
                let unlike = around.iter().flatten().filter(|&&other| other != number).count();
                costs[number * count + region] + border * unlike as f32
            };
            numbers[region] = (0..rotations.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0);
        }
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
    (a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]) / SQUARE_COEFFICIENTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis as _, Channels, Coefficients, Encoder, Linear, Model, Picture, Size};

    fn rotations(model: &Model, coefficients: &Coefficients, rows: &Range<usize>) -> Vec<Rotation> {
        RotationSearch::default().run(&model.steps(), coefficients.bands(), rows).collect()
    }

    fn coefficients(linear: &Linear, picture: &Picture) -> Coefficients {
        linear.coefficients_of(picture.into()).expect("linear never fails")
    }

    /// Grain along one direction of colour on the left, along another on the right.
    fn picture(left: [u32; 3], right: [u32; 3]) -> Picture {
        let width = 256;
        let height = 128;
        let mut state = 5_u32;
        let samples = (0..width * height).flat_map(|at| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let colour = if at % width < width / 2 { left } else { right };
            colour.map(|part| (60 + part * (state >> 8 & 31)).to_le_bytes()[0])
        });
        let size = Size::new(width, height).expect("a valid size");
        Picture::new(size, Channels::Rgb, samples.collect()).expect("all samples")
    }

    #[test]
    fn parts_of_other_colours_have_rotations_of_their_own_and_take_fewer_bytes() {
        let model = Model::photo();
        let picture = picture([3, 3, 3], [1, 0, 4]);
        let linear = Linear::new(model.clone());
        let coefficients = coefficients(&linear, &picture);
        let found = rotations(&model, &coefficients, &(0..128));
        assert_eq!(found.len(), 8 * 4);
        for row in found.chunks(8) {
            assert!(row[..3].iter().all(|rotation| *rotation == row[0]), "{row:?}");
            assert!(row[5..].iter().all(|rotation| *rotation == row[7]), "{row:?}");
            assert_ne!(row[0], row[7]);
        }
        let bytes = |rotations: bool| {
            let mut encoder = Encoder::new(linear.clone()).with_rotations(rotations);
            encoder.encode(&picture).expect("a stream").bytes().len()
        };
        let with = bytes(true);
        let without = bytes(false);
        assert!(with * 10 < without * 9, "{with} bytes with rotations, {without} without");
    }

    #[test]
    fn a_picture_of_one_direction_and_a_grey_one_need_none() {
        let model = Model::photo();
        let linear = Linear::new(model.clone());
        let one = coefficients(&linear, &picture([3, 2, 1], [3, 2, 1]));
        assert!(rotations(&model, &one, &(0..128)).iter().all(|rotation| *rotation == Rotation::default()));
        let size = Size::new(64, 64).expect("a valid size");
        let grey = Picture::new(size, Channels::Grey, vec![7; 64 * 64]).expect("all samples");
        assert!(rotations(&model, &coefficients(&linear, &grey), &(0..64)).is_empty());
    }
}
