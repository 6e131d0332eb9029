//! Samples of any rate, in blocks of 20 ms at 48 kHz.

use nestcast_proto::Sound;
use resampler::{Attenuation, Latency, ResamplerFir};

use crate::codec::{PACKET_SAMPLES, SAMPLES_PER_SECOND};
use crate::error::Error;

/// The rates that are read.
const SAMPLE_RATES: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// Collects samples into blocks of 20 ms, and converts their rate.
pub(crate) struct Blocks {
    sound: Sound,
    resampler: Option<(ResamplerFir, Vec<f32>)>,
    /// Samples at 48 kHz that are not in a block yet.
    ready: Vec<i16>,
}

impl Blocks {
    pub(crate) fn new(rate: u32, channels: u16) -> Result<Self, Error> {
        let sound = Sound::with_channels(channels.into()).filter(|_| SAMPLE_RATES.contains(&rate));
        let sound = sound.ok_or(Error::Format { rate, channels })?;
        let resampler = (rate != SAMPLES_PER_SECOND).then(|| {
            let resampler = ResamplerFir::new_from_hz(
                sound.channels(),
                rate,
                SAMPLES_PER_SECOND,
                Latency::default(),
                Attenuation::default(),
            );
            let buffer = vec![0.0; resampler.buffer_size_output()];
            (resampler, buffer)
        });
        Ok(Self { sound, resampler, ready: Vec::new() })
    }

    pub(crate) const fn sound(&self) -> Sound {
        self.sound
    }

    /// Adds samples, one of each channel in turn.
    pub(crate) fn push(&mut self, samples: &[i16]) -> Result<(), Error> {
        let Some((resampler, buffer)) = &mut self.resampler else {
            self.ready.extend_from_slice(samples);
            return Ok(());
        };
        let samples: Vec<f32> = samples.iter().map(|sample| f32::from(*sample)).collect();
        let mut left = &samples[..];
        while !left.is_empty() {
            let (used, made) =
                resampler.resample(left, buffer).map_err(|error| Error::Opus(format!("resampling: {error:?}")))?;
            self.ready.extend(buffer[..made].iter().map(|sample| to_i16(*sample)));
            left = &left[used..];
        }
        Ok(())
    }

    /// Returns how many samples of each channel wait for their block.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() / self.sound.channels()
    }

    /// Fills the last block with silence.
    pub(crate) fn finish(&mut self) {
        let block = PACKET_SAMPLES * self.sound.channels();
        self.ready.resize(self.ready.len().next_multiple_of(block), 0);
    }

    /// Returns the next block, if it is whole.
    pub(crate) fn pop(&mut self) -> Option<Vec<i16>> {
        let block = PACKET_SAMPLES * self.sound.channels();
        (self.ready.len() >= block).then(|| self.ready.drain(..block).collect())
    }
}

/// Rounds to the nearest sample, the greatest or the least.
#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
pub(crate) fn to_i16(sample: f32) -> i16 {
    sample.round() as i16
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]

    use super::*;

    #[test]
    fn a_second_of_any_rate_is_fifty_blocks_and_its_tone_keeps_its_pitch() {
        for rate in [8_000, 44_100, 48_000, 96_000] {
            let mut blocks = Blocks::new(rate, 2).expect("a rate");
            let angle = std::f64::consts::TAU * 440.0 / f64::from(rate);
            let samples: Vec<i16> =
                (0..rate).flat_map(|at| [((angle * f64::from(at)).sin() * 10_000.0) as i16; 2]).collect();
            samples.chunks(882).for_each(|chunk| blocks.push(chunk).expect("samples"));
            blocks.finish();
            let all: Vec<i16> = std::iter::from_fn(|| blocks.pop()).flatten().step_by(2).collect();
            assert!((49..=50).contains(&(all.len() / PACKET_SAMPLES)), "{} samples of {rate}", all.len());
            let rises = all.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
            assert!((431..=441).contains(&rises), "{rises} periods of {rate}");
        }
    }

    #[test]
    fn formats_out_of_range_are_refused() {
        for (rate, channels) in [(48_000, 0), (48_000, 3), (7_999, 1), (192_001, 1), (0, 1)] {
            assert!(matches!(Blocks::new(rate, channels), Err(Error::Format { .. })), "{rate} {channels}");
        }
    }
}
