//! JPEG at every quality and sampling, to pick the best that fits into a number of bytes.

use anyhow::Result;
use nestcast_codec::Picture;

use crate::jpeg::{self, Sampling, Tables};
use crate::metrics;

/// One picture as JPEG at all qualities.
pub(super) struct Ladder<'a> {
    original: &'a Picture,
    steps: Vec<Step>,
}

/// One quality.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) quality: u8,
    pub(super) sampling: Sampling,
    pub(super) file: Vec<u8>,
}

impl<'a> Ladder<'a> {
    pub(super) fn new(original: &'a Picture) -> Result<Self> {
        let mut steps = Vec::new();
        for sampling in [Sampling::Quarter, Sampling::Full] {
            for quality in 1..=jpeg::BEST_QUALITY {
                let file = jpeg::encode(original, quality, sampling, Tables::Optimised)?;
                steps.push(Step { quality, sampling, file });
            }
        }
        Ok(Self { original, steps })
    }

    /// Returns the better of two candidates: for each sampling, the highest quality of at most `bytes`.
    pub(super) fn fitting(&self, bytes: usize) -> Result<Option<(Step, Picture, f64)>> {
        let mut best: Option<(Step, Picture, f64)> = None;
        for sampling in [Sampling::Quarter, Sampling::Full] {
            let fits = |step: &&Step| step.sampling == sampling && step.file.len() <= bytes;
            let Some(step) = self.steps.iter().rfind(fits) else { continue };
            let (picture, psnr) = self.decode(step)?;
            if best.as_ref().is_none_or(|best| psnr > best.2) {
                best = Some((step.clone(), picture, psnr));
            }
        }
        Ok(best)
    }

    /// Returns all JPEGs of at most `bytes` that are better than every smaller one, with their PSNR in dB, in the order of
    /// their bytes.
    pub(super) fn front(&self, bytes: usize) -> Result<Vec<(&Step, f64)>> {
        let mut front = Vec::new();
        for step in self.steps.iter().filter(|step| step.file.len() <= bytes) {
            front.push((step, self.decode(step)?.1));
        }
        // Among equal sizes the best comes first, and the others are dropped.
        front.sort_by(|a: &(&Step, f64), b| a.0.file.len().cmp(&b.0.file.len()).then(b.1.total_cmp(&a.1)));
        let mut best = f64::NEG_INFINITY;
        front.retain(|&(_, psnr)| {
            let better = psnr > best;
            best = best.max(psnr);
            better
        });
        Ok(front)
    }

    /// Returns the decoded picture, from a file with other tables that has the same pixels and that this crate can
    /// decode.
    fn decode(&self, step: &Step) -> Result<(Picture, f64)> {
        let twin = jpeg::encode(self.original, step.quality, step.sampling, Tables::Fixed)?;
        let picture = jpeg::decode(&twin)?;
        let psnr = metrics::psnr(self.original, &picture);
        Ok((picture, psnr))
    }
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Size};

    use super::*;

    #[test]
    fn the_best_that_fits_is_picked() {
        let size = Size::new(48, 32).expect("a valid size");
        let samples = (0..48 * 32 * 3).map(|i| u8::try_from(i * 7 % 251).expect("a byte")).collect();
        let picture = Picture::new(size, Channels::Rgb, samples).expect("the shape fits");
        let ladder = Ladder::new(&picture).expect("encodes");
        let fitting = |bytes| ladder.fitting(bytes).expect("decodes");
        assert!(fitting(20).is_none());
        let (best, _, psnr) = fitting(usize::MAX).expect("all fit");
        assert_eq!((best.quality, best.sampling), (100, Sampling::Full));
        let budget = best.file.len() - 1;
        let (next, _, less) = fitting(budget).expect("some fit");
        assert!(next.file.len() <= budget && less <= psnr);
        let front = ladder.front(usize::MAX).expect("decodes");
        assert!(front.is_sorted_by(|a, b| a.0.file.len() < b.0.file.len() && a.1 < b.1));
    }
}
