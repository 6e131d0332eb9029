//! Statistics of a coded video frame.

use crate::error::Error;
use crate::motion::side_info;
use crate::training::tally::{Meter, Slope, Tally};
use crate::video::encoder::VideoEncoder;
use crate::video::frame::CodedFrame;

impl VideoEncoder {
    /// Returns the statistics of `frame`, the last one that was coded: its symbols down to its last byte, and the
    /// coefficients that are known after each of `cuts` bytes.
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
        tally.meet_symbols(slices, planes, passes);
        for cut in cuts {
            let prefix = &string[..cut.saturating_sub(frame.side).min(string.len())];
            tally.meet_points(model, coder.bands(), planes, prefix)?;
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
        self.slopes.resize(meter.slopes.len(), Slope::default());
        self.slopes.iter_mut().zip(meter.slopes).for_each(|(own, met)| own.add(met, weight));
    }

    /// Returns better priors for the side information's contexts than those of this build, in 1/65536.
    #[must_use]
    pub fn better_priors(&self) -> Vec<u16> {
        side_info::priors().zip(&self.slopes).map(|(before, slope)| slope.better(before)).collect()
    }
}
