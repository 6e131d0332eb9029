//! Statistics of a coded video frame.

use crate::error::Error;
use crate::motion::side_info;
use crate::training::tally::{Meter, Receiver, Slope, Tally};
use crate::video::encoder::VideoEncoder;
use crate::video::frame::CodedFrame;

impl VideoEncoder {
    /// Returns the statistics of `frame`, the last one that was coded, for receivers that get its first `cuts` bytes:
    /// their symbols, and the coefficients that they know. A symbol counts 1 for a receiver of the fewest bytes, and for
    /// the others in inverse proportion to their cuts, so that what it saves is the same share of each rate.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the bytes are no frame.
    pub fn tally(&mut self, frame: &CodedFrame, cuts: &[usize]) -> Result<Tally, Error> {
        let (model, _, coder) = self.last();
        let model = model.of(frame.key);
        let string = &frame.bytes[frame.side..];
        let mut tally = Tally::default();
        if string.is_empty() {
            return Ok(tally);
        }
        let (slices, planes, passes) = coder.uncoded(model);
        let fewest = cuts.iter().min().map_or(1.0, |cut| (*cut).max(1) as f64);
        let receivers: Vec<Receiver> = cuts
            .iter()
            .map(|cut| Receiver {
                string: cut.saturating_sub(frame.side).min(string.len()),
                weight: fewest / (*cut).max(1) as f64,
            })
            .collect();
        tally.meet_symbols(slices, planes, passes, &receivers);
        for receiver in receivers {
            tally.meet_points(model, coder.bands(), planes, &string[..receiver.string])?;
        }
        Ok(tally)
    }
}

/// Statistics of coded motion.
#[derive(Debug, Clone, Default)]
pub struct MotionTally {
    /// The length of the side information in bits, by the probabilities of its symbols.
    pub bits: f64,
    slopes: Vec<Slope>,
}

impl MotionTally {
    /// Adds the motion of the last frame that `encoder` coded, `weight` times.
    pub fn meet(&mut self, encoder: &mut VideoEncoder, weight: f64) {
        let (_, field, _) = encoder.last();
        let meter = side_info::code(field, Meter::new);
        self.bits += weight * meter.bits;
        self.slopes.resize(side_info::priors().count(), Slope::default());
        meter.symbols.iter().for_each(|met| self.slopes[met.context].add(met.slope, weight));
    }

    /// Returns better priors for the side information's contexts than those of this build, in 1/65536.
    #[must_use]
    pub fn better_priors(&self) -> Vec<u16> {
        side_info::priors().zip(&self.slopes).map(|(before, slope)| slope.better(before)).collect()
    }
}
