//! The frame to encode, and the part of its motion search that does not depend on the references.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::motion::field::CONSTANT_CYCLE;
use crate::motion::reference::{FRACTION_BITS, widen_deep};
use crate::motion::search::Search;
use crate::motion::search::search_parameters::Effort;
use crate::observer::Stage;
use crate::parallel::{self, Threads};
use crate::picture::{Size, View};
use crate::residual::planes::Planes420;
use crate::simd::widest;
use crate::video::shown;

/// Rows that a thread takes in at a time.
const BAND_ROWS: usize = 64;
/// Fewer pixels take less time than another thread needs to wake.
const MIN_PARALLEL_PIXELS: usize = 1 << 17;

/// What a frame has that the one before it had not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// All of it: it is the first, or a scene begins.
    Scene,
    /// Some of it.
    Changes,
    /// Nothing: every sample is the same.
    Nothing,
}

/// The samples of the current frame.
pub(super) struct Source {
    size: Size,
    /// The samples in 1/8 of a step, less 128.
    pub(super) planes: Planes420<i16>,
    /// Luma in 8 bits.
    luma: Vec<u8>,
    /// Whether luma has rounded the last frame.
    is_rounded: bool,
    pub(super) search: Search,
    /// Number of frames before this one.
    count: usize,
}

impl Source {
    pub(super) fn new(size: Size) -> Self {
        let (planes, search) = (Planes420::new(size), Search::default());
        Self { size, planes, luma: Vec::new(), is_rounded: false, search, count: 0 }
    }

    /// Copies the next frame's samples, and returns what is new in them.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub(super) fn take(&mut self, view: &View<'_>, effort: Effort, threads: &Threads) -> Result<News, Error> {
        if view.size() != self.size {
            return Err(Error::Argument("the frame has another size than those before"));
        }
        let Some((_, bits)) = view.format().ycbcr420() else {
            return Err(Error::Argument("frames of video are planar YCbCr 4:2:0"));
        };
        let is_new = if bits > 8 { self.copy_deep(view, bits, threads) } else { self.copy(view, threads) };
        if !is_new {
            threads.end(Stage::Take);
            return Ok(News::Nothing);
        }
        let is_cut = self.search.begin(self.size, &self.luma, effort, threads);
        Ok(if is_cut || self.count == 0 { News::Scene } else { News::Changes })
    }

    /// Copies the samples of a frame of 8 bits. Returns whether it is the first or another than the last one.
    fn copy(&mut self, view: &View<'_>, threads: &Threads) -> bool {
        if self.count > 0 && self.is_same(view) {
            return false;
        }
        self.is_rounded = false;
        self.luma.resize(self.size.pixels(), 0);
        let mut luma = self.luma.as_mut_slice();
        let jobs = self.planes.planes_mut().into_iter().enumerate().flat_map(|(plane, out)| {
            let [width, _] = view.format().plane(self.size, plane);
            let luma = if plane == 0 { std::mem::take(&mut luma) } else { Default::default() };
            // Empty parts go on and on for the colour differences.
            let luma = luma.chunks_mut(BAND_ROWS * width).map(Some).chain(std::iter::repeat_with(|| None));
            let bands = out.chunks_mut(BAND_ROWS * width).zip(luma).enumerate();
            bands.map(move |(number, (out, luma))| (plane, width, number * BAND_ROWS, out, luma))
        });
        let taking = threads.at_most(self.size.pixels() / MIN_PARALLEL_PIXELS);
        parallel::for_each(&taking, jobs, |(plane, width, top, out, luma)| {
            let plane = &view.planes[plane];
            let rows = || (top..).map(|y| plane.row(y, width));
            for (out, row) in out.chunks_exact_mut(width).zip(rows()) {
                widest!(widen(row, out));
            }
            for (out, row) in luma.into_iter().flat_map(|luma| luma.chunks_exact_mut(width)).zip(rows()) {
                out.copy_from_slice(row);
            }
        });
        true
    }

    /// As [`Self::copy`], of samples of more than 8 bits. Motion is searched in samples of 8.
    fn copy_deep(&mut self, view: &View<'_>, bits: u8, threads: &Threads) -> bool {
        let differs = AtomicBool::new(self.count == 0);
        let jobs = self.planes.planes_mut().into_iter().enumerate().flat_map(|(plane, out)| {
            let width = view.format().plane(self.size, plane)[0] / 2;
            let bands = out.chunks_mut(BAND_ROWS * width).enumerate();
            bands.map(move |(number, out)| (plane, width, number * BAND_ROWS, out))
        });
        let taking = threads.at_most(self.size.pixels() / MIN_PARALLEL_PIXELS);
        parallel::for_each(&taking, jobs, |(plane, width, top, out)| {
            for (y, out) in (top..).zip(out.chunks_exact_mut(width)) {
                let row = view.planes[plane].row(y, 2 * width).as_chunks().0;
                if !widest!(widen_deep(row, bits, out)) {
                    differs.store(true, Ordering::Relaxed);
                }
            }
        });
        let is_new = differs.into_inner();
        if is_new {
            self.is_rounded = true;
            self.luma.resize(self.size.pixels(), 0);
            widest!(shown::bytes(&self.planes.planes()[0], &mut self.luma));
        }
        is_new
    }

    /// Returns whether a frame of this size and format has the samples of the last one.
    fn is_same(&self, view: &View<'_>) -> bool {
        let luma = &view.planes[0];
        let width = self.size.width();
        let is_same_luma = self.luma.chunks_exact(width).enumerate().all(|(y, row)| luma.row(y, width) == row);
        is_same_luma
            && (usize::from(!self.is_rounded)..3).all(|plane| {
                let [width, _] = view.format().plane(self.size, plane);
                let mut rows = self.planes.planes()[plane].chunks_exact(width).enumerate();
                let of_view = &view.planes[plane];
                rows.all(|(y, row)| widest!(is_widened(of_view.row(y, width), row)))
            })
    }

    /// Ends the frame: the next one follows.
    pub(super) const fn finish(&mut self) {
        self.count += 1;
    }

    /// Returns the frame's place in the refresh cycle.
    pub(super) fn phase(&self) -> u8 {
        phase(self.count)
    }

    /// Returns the place of the frame before it.
    pub(super) fn last_phase(&self) -> u8 {
        phase(self.count.saturating_sub(1))
    }
}

#[inline(always)]
fn widen(samples: &[u8], out: &mut [i16]) {
    out.iter_mut().zip(samples).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION_BITS);
}

#[inline(always)]
fn is_widened(samples: &[u8], row: &[i16]) -> bool {
    let differs = |(row, sample): (&i16, &u8)| ((i16::from(*sample) - 128) << FRACTION_BITS) ^ *row;
    row.iter().zip(samples).map(differs).fold(0, |all, differs| all | differs) == 0
}

fn phase(count: usize) -> u8 {
    u8::try_from(count % CONSTANT_CYCLE).unwrap_or_default()
}
