//! Fits the post-filter's table: least squares over photos as decoders have them at the table's truncation points.

use crate::colour::planes::Planes;
use crate::error::Error;
use crate::linear::{Linear, is_told};
use crate::model::{Model, TABLES_BYTES};
use crate::picture::{Format, Picture, Size};
use crate::post_filter::naive::Samples;
use crate::post_filter::table::{
    BLOCK_CLASSES, Between, COMPONENT_TAPS, MAX_TAP_SUM, PostFilter, SAMPLE_PHASES, TABLE_CUTS,
};
use crate::post_filter::{BLOCK_SIDE, FRACTION_BITS, blocks};
use crate::subband::coefficients::Coefficients;
use crate::transform::Position;
use crate::video::decoder::VideoDecoder;
use crate::video::shown::Unfiltered;

/// A tap of 1 in the table.
const UNIT_TAP: f64 = 256.0;
/// The pull of each filter towards the filter for all classes, as a fraction of the equations of all.
const RIDGE_SHARE: f64 = 1e-5;
/// A small pull that keeps equations without data solvable.
const MIN_RIDGE: f64 = 1e-9;

/// The normal equations of all filters, summed over pictures and truncation points; each is weighted by the inverse of
/// the error before the filter.
#[derive(Debug)]
pub struct FilterFit {
    step: u16,
    /// By component and truncation point.
    equations: [[Vec<Equations>; TABLE_CUTS.len()]; 3],
}

/// The lower triangle of a symmetric matrix, and the right-hand side.
#[derive(Debug, Clone)]
struct Equations {
    square: Vec<f64>,
    product: Vec<f64>,
}

impl FilterFit {
    /// Begins a fit of filters whose differences are clipped to `step` at cut 0, in 1/64 of a sample's step.
    #[must_use]
    pub fn new(step: u16) -> Self {
        let none = |count: usize| vec![Equations::new(count); BLOCK_CLASSES * SAMPLE_PHASES];
        Self { step, equations: COMPONENT_TAPS.map(|count| std::array::from_fn(|_| none(count))) }
    }

    /// Adds the coefficients that a decoder has of a picture, at its position.
    ///
    /// # Errors
    /// [`Error`] if the coefficients do not have the picture's size, or have no significance.
    pub fn add(&mut self, linear: &Linear, known: (&Coefficients, Position), picture: &Picture) -> Result<(), Error> {
        let (coefficients, position) = known;
        let planes = linear.compose(coefficients)?;
        self.add_planes(linear, &planes, (&coefficients.significance, position), picture)
    }

    /// Adds planes of a picture that were made from a decoder's coefficients, with their significance and the position.
    ///
    /// # Errors
    /// [`Error::Argument`] if the planes do not have the picture's size, or the significance belongs to other planes.
    pub fn add_planes(
        &mut self,
        linear: &Linear,
        planes: &Planes,
        (significance, position): (&[Vec<u8>], Position),
        picture: &Picture,
    ) -> Result<(), Error> {
        let target = linear.planes(picture, planes.axes);
        planes.check()?;
        let same = planes.size == target.size && planes.channels == target.channels;
        if !same || !is_told(significance, planes.size, planes.channels)? {
            return Err(Error::Argument("the planes are not what a decoder has of the picture"));
        }
        let samples = Samples::new(planes.size.width(), planes.size.height(), &planes.components);
        let error = squares(planes.components.iter().flatten(), target.components.iter().flatten());
        let weight = planes.size.pixels() as f64 / (error + 1.0);
        for (component, target) in target.components.iter().enumerate() {
            self.add_component(&samples, component, (&significance[component], position), (target, weight));
        }
        Ok(())
    }

    /// Adds the last frame of a video decoder, `weight` times.
    ///
    /// # Errors
    /// [`Error`] unless the picture is planar YCbCr 4:2:0 of the decoder's size.
    pub fn add_frame(&mut self, decoder: &mut VideoDecoder, picture: &Picture, weight: f64) -> Result<(), Error> {
        let wanted = planes_of(picture, decoder.size())?;
        let Some(Unfiltered { planes, significance, position }) = decoder.unfiltered()? else { return Ok(()) };
        let [luma, blue, red] = planes;
        let size = decoder.size();
        let half = decoder.size().halved();
        // Luma has another size, so the filters of colour differences see luma without changes.
        let none = vec![0.0; half.pixels()];
        let groups = [(size, 0..1, vec![luma]), (half, 1..3, vec![none, blue, red])];
        for (size, components, planes) in groups {
            let samples = Samples::new(size.width(), size.height(), &planes);
            for component in components {
                let error = squares(&planes[component], &wanted[component]);
                let weight = weight * size.pixels() as f64 / (error + size.pixels() as f64 / 2.0);
                let known = (&significance[component][..], position);
                self.add_component(&samples, component, known, (&wanted[component], weight));
            }
        }
        Ok(())
    }

    /// Adds one component, `weight` times.
    fn add_component(
        &mut self,
        samples: &Samples,
        component: usize,
        (significance, position): (&[u8], Position),
        (target, weight): (&[f32], f64),
    ) {
        let step = PostFilter::step_at(self.step, position.fixed_point());
        let between = Between::new(position.fixed_point());
        let own = counted(samples, component, (step, significance), target);
        for (cut, share) in [(between.first, 256 - between.share), (between.first + 1, between.share)] {
            let share = weight * f64::from(share) / 256.0;
            self.equations[component][cut].iter_mut().zip(&own).for_each(|(sum, own)| sum.add(own, share));
        }
    }

    /// Returns `tables` with the best-fitting post-filter in place of their own.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn with_post_filter(&self, tables: &[u8]) -> Result<Vec<u8>, Error> {
        Model::from_bytes(tables)?;
        let mut out = tables[..TABLES_BYTES].to_vec();
        out.extend(self.post_filter());
        Model::from_bytes(&out)?;
        Ok(out)
    }

    /// Returns the best-fitting post-filter, in the form that [`PostFilter::from_bytes`] reads.
    #[must_use]
    pub fn post_filter(&self) -> Vec<u8> {
        let mut out = self.step.to_le_bytes().to_vec();
        for of_cuts in &self.equations {
            for equations in of_cuts {
                let mut all = Equations::new(equations[0].product.len());
                equations.iter().for_each(|own| all.add(own, 1.0));
                let for_all = all.solved(&all, &vec![0.0; all.product.len()]);
                out.extend(equations.iter().flat_map(|own| in_bytes(own.solved(&all, &for_all))));
            }
        }
        out
    }
}

/// Returns the planes of a video frame, less 128.
fn planes_of(picture: &Picture, size: Size) -> Result<[Vec<f32>; 3], Error> {
    if picture.size() != size || !matches!(picture.format(), Format::Ycbcr420(_)) {
        return Err(Error::Argument("the picture is no planar YCbCr 4:2:0 of the decoder's size"));
    }
    let mut rest = picture.samples();
    Ok([size, size.halved(), size.halved()].map(|size| {
        let (own, after) = rest.split_at(size.pixels());
        rest = after;
        own.iter().map(|sample| f32::from(*sample) - 128.0).collect()
    }))
}

fn squares<'a>(one: impl IntoIterator<Item = &'a f32>, other: impl IntoIterator<Item = &'a f32>) -> f64 {
    one.into_iter().zip(other).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

/// Returns the equations of a component at one truncation point, by class and phase, from every second block, as on a
/// chessboard: adjacent blocks give nearly the same equations.
fn counted(samples: &Samples, component: usize, (step, significance): (i16, &[u8]), target: &[f32]) -> Vec<Equations> {
    let mut out = vec![Equations::new(COMPONENT_TAPS[component]); BLOCK_CLASSES * SAMPLE_PHASES];
    let unit = f64::from(1_u32 << FRACTION_BITS);
    let across = blocks(samples.width);
    for (bx, by) in (0..blocks(samples.height)).flat_map(|by| (by % 2..across).step_by(2).map(move |bx| (bx, by))) {
        let class = samples.class(component, [bx, by], step, significance);
        for y in by * BLOCK_SIDE..((by + 1) * BLOCK_SIDE).min(samples.height) {
            for x in bx * BLOCK_SIDE..((bx + 1) * BLOCK_SIDE).min(samples.width) {
                let at = y * samples.width + x;
                let missing = f64::from(target[at]) * unit - f64::from(samples.components[component][at]);
                out[class * SAMPLE_PHASES + y % 2 * 2 + x % 2]
                    .count(&samples.differences(component, [x, y], step), missing);
            }
        }
    }
    out
}

/// Returns taps in the table's format.
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn in_bytes(taps: Vec<f64>) -> impl Iterator<Item = u8> {
    let sum: f64 = taps.iter().map(|tap| tap.abs() * UNIT_TAP).sum();
    // Rounding adds at most half of one to each tap.
    let most = f64::from(MAX_TAP_SUM) - taps.len() as f64 / 2.0;
    let scale = UNIT_TAP * (most / sum).min(1.0);
    taps.into_iter().map(move |tap| ((tap * scale).round().clamp(-127.0, 127.0) as i8).cast_unsigned())
}

impl Equations {
    fn new(count: usize) -> Self {
        Self { square: vec![0.0; count * (count + 1) / 2], product: vec![0.0; count] }
    }

    fn count(&mut self, given: &[i16], missing: f64) {
        let mut square = self.square.iter_mut();
        for (i, &a) in given.iter().enumerate() {
            self.product[i] += f64::from(a) * missing;
            for (&b, sum) in given[..=i].iter().zip(&mut square) {
                *sum += f64::from(i32::from(a) * i32::from(b));
            }
        }
    }

    fn add(&mut self, other: &Self, weight: f64) {
        self.square.iter_mut().zip(&other.square).for_each(|(sum, value)| *sum += weight * value);
        self.product.iter_mut().zip(&other.product).for_each(|(sum, value)| *sum += weight * value);
    }

    /// Solves these equations with a pull of [`RIDGE_SHARE`] of `all` towards `centre`, by Cholesky's decomposition.
    fn solved(&self, all: &Self, centre: &[f64]) -> Vec<f64> {
        let count = self.product.len();
        let at = |i: usize, j: usize| i.max(j) * (i.max(j) + 1) / 2 + i.min(j);
        let pull = |i: usize, j: usize| RIDGE_SHARE * all.square[at(i, j)] + if i == j { MIN_RIDGE } else { 0.0 };
        let mut factor = vec![0.0; self.square.len()];
        let mut solution = vec![0.0; count];
        for i in 0..count {
            for j in 0..=i {
                let done: f64 = (0..j).map(|k| factor[at(i, k)] * factor[at(j, k)]).sum();
                let rest = self.square[at(i, j)] + pull(i, j) - done;
                factor[at(i, j)] =
                    if i == j { rest.max(MIN_RIDGE * MIN_RIDGE).sqrt() } else { rest / factor[at(j, j)] };
            }
            let pulled: f64 = (0..count).map(|j| pull(i, j) * centre[j]).sum();
            let done: f64 = (0..i).map(|k| factor[at(i, k)] * solution[k]).sum();
            solution[i] = (self.product[i] + pulled - done) / factor[at(i, i)];
        }
        for i in (0..count).rev() {
            let done: f64 = (i + 1..count).map(|k| factor[at(k, i)] * solution[k]).sum();
            solution[i] = (solution[i] - done) / factor[at(i, i)];
        }
        solution
    }
}
