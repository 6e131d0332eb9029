//! The linear transform in plain Rust: colour axes, lifting wavelet and post-filter (spec, "Linear transform").

use std::sync::Arc;

use crate::colour::axes::Axes;
use crate::colour::convert::{FromPlanes, ToPlanes};
use crate::colour::planes::Planes;
use crate::error::Error;
use crate::model::Model;
use crate::parallel::{self, Threads};
use crate::picture::{Channels, Format, Size, View, ViewMut};
use crate::post_filter;
use crate::post_filter::table::{Filters, PostFilter};
use crate::scratch::Scratch;
use crate::subband::coefficients::Coefficients;
use crate::transform::{Analysis, Position, Synthesis, TransformError};
use crate::wavelet::strips::Division;
use crate::wavelet::{analysis, synthesis};
use filtered::Memory;

mod filtered;
#[cfg(test)]
mod tests;

/// Pixels that one thread converts at a time: few enough to stay in cache, enough to justify handing them over.
const CHUNK_PIXELS: usize = 1 << 15;

/// Below this position the post-filter has faded, and would only round samples.
const LAST_FILTERED: Position = Position(-2.0);

/// Both halves of a model's linear transform. It needs only this crate.
#[derive(Debug, Clone)]
pub struct Linear {
    model: Arc<Model>,
    threads: Threads,
    scratch: Arc<Scratch>,
    /// The post-filter's taps and samples.
    filter_scratch: Arc<Scratch<i16>>,
}

impl Linear {
    /// Returns the transform of `model` on one thread.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self { model, threads: Threads::new(1), scratch: Arc::default(), filter_scratch: Arc::default() }
    }

    /// Uses up to `threads` threads; the result does not depend on their number.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Threads::new(threads);
        self
    }

    /// Returns the picture's colours along these axes; [`Axes::of`] finds a picture's own axes.
    #[must_use]
    pub fn planes<'a>(&self, picture: impl Into<View<'a>>, axes: Axes) -> Planes {
        let picture = picture.into();
        let size = picture.size;
        let channels = picture.format.channels();
        let width = size.width();
        let height = size.height();
        let mut components = vec![vec![0.0_f32; size.pixels()]; channels.count()];
        let to_planes = ToPlanes::new(picture.format, axes);
        let count = rows_at_a_time(width);
        let mut parts = components.iter_mut();
        let mut parts: [_; 3] = std::array::from_fn(|_| parts.next().map(|plane| plane.chunks_mut(count * width)));
        let jobs = (0..height).step_by(count).map(|top| {
            let planes = parts.each_mut().map(|part| part.as_mut().and_then(Iterator::next).unwrap_or_default());
            (top..(top + count).min(height), planes)
        });
        parallel::for_each(&self.threads, jobs, |(rows, mut planes)| to_planes.rows(&picture, rows, &mut planes));
        Planes { size, channels, axes, components }
    }

    /// Fills `out` with the picture of these planes, rounded and clipped to 8 bits.
    ///
    /// # Errors
    /// [`Error::Argument`] if the planes do not have the samples that their size and channels fix, or if `out` has
    /// another size or other channels.
    pub fn picture<'a>(&self, planes: &Planes, out: impl Into<ViewMut<'a>>) -> Result<(), Error> {
        planes.check()?;
        let mut out = out.into();
        check_same(&out, planes.size, planes.channels.count())?;
        let width = planes.size.width();
        let height = planes.size.height();
        let from_planes = FromPlanes::new(out.format, planes.axes);
        let count = rows_at_a_time(width);
        let jobs = (0..height).step_by(count).map(|top| {
            let rows = top..(top + count).min(height);
            let out = out.split_off(rows.len());
            (rows, out)
        });
        parallel::for_each(&self.threads, jobs, |(rows, mut out)| {
            let mut own = planes.components.iter().map(|plane| &plane[rows.start * width..rows.end * width]);
            let own = std::array::from_fn(|_| own.next().unwrap_or_default());
            from_planes.rows(own, width, 0..rows.len(), &mut out);
        });
        Ok(())
    }

    /// As [`Linear::picture`], through a post-filter. The caller passes the position of the stream's prefix that the
    /// planes were made of, and `significance`, that of their coefficients. Without significance the planes are not
    /// filtered, and neither are those of a position below -2.
    ///
    /// # Errors
    /// As [`Linear::picture`]; [`Error::Argument`] if `significance` is neither empty nor for the picture's blocks.
    pub fn filtered_picture<'a>(
        &self,
        planes: &Planes,
        significance: &[Vec<u8>],
        (post_filter, position): (&PostFilter, Position),
        out: impl Into<ViewMut<'a>>,
    ) -> Result<(), Error> {
        if !is_told(significance, planes.size, planes.channels)? || position < LAST_FILTERED {
            return self.picture(planes, out);
        }
        planes.check()?;
        let out = out.into();
        check_same(&out, planes.size, planes.channels.count())?;
        self.filter(post_filter, position, |filters| {
            filtered::of_planes(planes, (filters, significance), self.division(planes.size), self.memory(), out);
        });
        Ok(())
    }

    /// Lends the filters at a position to `work`.
    fn filter(&self, post_filter: &PostFilter, position: Position, work: impl FnOnce(&Filters<'_>)) {
        let numbers = PostFilter::FILTER_NUMBERS;
        self.filter_scratch.lend(numbers, |memory| work(&post_filter.at(position.fixed_point(), memory)));
    }

    /// Divides a picture of this size among the threads.
    fn division(&self, size: Size) -> (&Threads, Division) {
        (&self.threads, Division::new(size, self.threads.count()))
    }

    fn memory(&self) -> Memory<'_> {
        Memory { floats: &self.scratch, samples: &self.filter_scratch }
    }

    /// Splits planes into the coefficients of the wavelet.
    ///
    /// # Errors
    /// [`Error::Argument`] if the planes do not have the samples that their size and channels fix.
    pub fn decompose(&self, planes: &Planes, out: &mut Coefficients) -> Result<(), Error> {
        planes.check()?;
        out.reset(self.model.id(), planes.size, planes.channels, planes.axes);
        let division = self.division(planes.size);
        analysis::of_planes(&self.model.taps, planes, division, &self.scratch, out);
        Ok(())
    }

    /// Merges coefficients into planes, before the post-filter.
    ///
    /// # Errors
    /// As [`Coefficients::check`].
    pub fn compose(&self, coefficients: &Coefficients) -> Result<Planes, Error> {
        coefficients.check(self.model.id())?;
        let division = self.division(coefficients.size);
        Ok(synthesis::planes(&self.model.taps, coefficients, division, &self.scratch))
    }
}

/// Returns an even number of rows of this width that have about [`CHUNK_PIXELS`] pixels.
fn rows_at_a_time(width: usize) -> usize {
    (CHUNK_PIXELS / width).max(1).next_multiple_of(2)
}

/// Checks that a picture has this size and number of components, and 8 bits if it is planar.
fn check_same(out: &ViewMut<'_>, size: Size, components: usize) -> Result<(), Error> {
    let is_deep = matches!(out.format, Format::Ycbcr420Deep { .. });
    if out.size != size || out.format.channels().count() != components || is_deep {
        let why =
            "the picture to render into has another size or other channels than the stream, or is planar and deep";
        return Err(Error::Argument(why));
    }
    Ok(())
}

/// Returns whether there is significance for a post-filter.
pub(crate) fn is_told(significance: &[Vec<u8>], size: Size, channels: Channels) -> Result<bool, Error> {
    if significance.iter().all(Vec::is_empty) {
        return Ok(false);
    }
    let count = post_filter::blocks(size.width()) * post_filter::blocks(size.height());
    if significance.len() != channels.count() || significance.iter().any(|blocks| blocks.len() != count) {
        return Err(Error::Argument("the significance is not that of the picture's blocks"));
    }
    Ok(true)
}

impl Analysis for Linear {
    fn model(&self) -> &Arc<Model> {
        &self.model
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn analyse(&self, picture: View<'_>, out: &mut Coefficients) -> Result<(), TransformError> {
        out.reset(self.model.id(), picture.size, picture.format.channels(), Axes::find(&picture, &self.scratch));
        let division = self.division(picture.size);
        analysis::of_picture(&self.model.taps, picture, division, &self.scratch, out);
        Ok(())
    }
}

impl Synthesis for Linear {
    fn model(&self) -> &Arc<Model> {
        &self.model
    }

    fn threads(&self) -> &Threads {
        &self.threads
    }

    fn synthesise(
        &self,
        coefficients: &mut Coefficients,
        position: Position,
        out: ViewMut<'_>,
    ) -> Result<(), TransformError> {
        coefficients.check(self.model.id())?;
        check_same(&out, coefficients.size, coefficients.channels.count())?;
        let taps = &self.model.taps;
        let division = self.division(coefficients.size);
        let told = is_told(&coefficients.significance, coefficients.size, coefficients.channels)?;
        match self.model.post_filter.as_ref().filter(|_| told && position >= LAST_FILTERED) {
            Some(post_filter) => self.filter(post_filter, position, |filters| {
                let filter = (filters, coefficients.significance.as_slice());
                filtered::of_coefficients(taps, coefficients, filter, division, self.memory(), out);
            }),
            None => synthesis::picture(taps, coefficients, division, &self.scratch, out),
        }
        Ok(())
    }
}
