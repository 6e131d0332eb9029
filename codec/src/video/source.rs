//! The frame to encode, and the part of its motion search that does not depend on the references.

use crate::error::Error;
use crate::motion::field::CONSTANT_CYCLE;
use crate::motion::reference::FRACTION;
use crate::motion::search::Search;
use crate::motion::search::search_parameters::Effort;
use crate::parallel::Threads;
use crate::picture::{Format, Size, View};
use crate::residual::planes::Planes420;

/// The samples of the current frame.
pub(super) struct Source {
    size: Size,
    /// The samples in 1/8 of a step, less 128.
    pub(super) planes: Planes420<i16>,
    luma: Vec<u8>,
    pub(super) search: Search,
    /// Number of frames before this one.
    count: usize,
}

impl Source {
    pub(super) fn new(size: Size) -> Self {
        Self { size, planes: Planes420::new(size), luma: Vec::new(), search: Search::default(), count: 0 }
    }

    /// Copies the next frame's samples, and returns whether a scene begins with them.
    ///
    /// # Errors
    /// [`Error::Argument`] for another size or format.
    pub(super) fn take(&mut self, view: &View<'_>, effort: Effort, threads: &Threads) -> Result<bool, Error> {
        if view.size() != self.size {
            return Err(Error::Argument("the frame has another size than those before"));
        }
        if !matches!(view.format(), Format::Ycbcr420(_)) {
            return Err(Error::Argument("frames of video are planar YCbCr 4:2:0"));
        }
        self.luma.clear();
        for (index, plane) in self.planes.planes_mut().into_iter().enumerate() {
            let [width, height] = view.format().plane(self.size, index);
            for (y, out) in plane.chunks_exact_mut(width).enumerate().take(height) {
                let row = view.planes[index].row(y, width);
                if index == 0 {
                    self.luma.extend_from_slice(row);
                }
                out.iter_mut().zip(row).for_each(|(out, sample)| *out = (i16::from(*sample) - 128) << FRACTION);
            }
        }
        Ok(self.search.begin(self.size, &self.luma, effort, threads) || self.count == 0)
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

fn phase(count: usize) -> u8 {
    u8::try_from(count % CONSTANT_CYCLE).unwrap_or_default()
}
