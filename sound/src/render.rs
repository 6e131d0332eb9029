//! Blocks of sound as a player wants them: decoded, concealed or silent, and a little longer or shorter than 20 ms.

use nestcast_proto::Sound;

use crate::codec::{PACKET_SAMPLES, SoundDecoder};
use crate::error::Error;
use crate::pcm::to_i16;

/// Makes samples of packets and of their absence.
#[derive(Debug)]
pub struct SoundRenderer {
    decoder: SoundDecoder,
    channels: usize,
    /// The last sample of each channel.
    last: Vec<i16>,
    samples: Vec<i16>,
}

impl SoundRenderer {
    /// Makes a renderer.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder cannot be made.
    pub fn new(sound: Sound) -> Result<Self, Error> {
        let channels = sound.channels();
        Ok(Self { decoder: SoundDecoder::new(sound)?, channels, last: vec![0; channels], samples: Vec::new() })
    }

    /// Returns the samples of a packet, stretched to `samples` of each channel. A packet that is none is concealed.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder fails.
    pub fn packet(&mut self, packet: &[u8], samples: usize) -> Result<&[i16], Error> {
        let Self { decoder, channels, last, samples: out } = self;
        let decoded = match decoder.decode(packet) {
            Ok(decoded) => decoded.to_vec(),
            Err(_) => decoder.conceal()?.to_vec(),
        };
        stretch(&decoded, last, *channels, samples, out);
        Ok(out)
    }

    /// Returns `samples` of each channel in place of a packet that is missing.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder fails.
    pub fn conceal(&mut self, samples: usize) -> Result<&[i16], Error> {
        let Self { decoder, channels, last, samples: out } = self;
        stretch(decoder.conceal()?, last, *channels, samples, out);
        Ok(out)
    }

    /// Returns `samples` of silence of each channel.
    pub fn silence(&mut self, samples: usize) -> &[i16] {
        self.last.fill(0);
        self.samples.clear();
        self.samples.resize(samples * self.channels, 0);
        &self.samples
    }
}

/// Stretches the samples of a packet to `count` of each channel, by lines from one to the next. `last` is the sample
/// before, and after.
fn stretch(samples: &[i16], last: &mut [i16], channels: usize, count: usize, out: &mut Vec<i16>) {
    out.clear();
    for at in 1..=count {
        // The place among the samples, of which the one before the first has number 0.
        let (below, part) = (at * PACKET_SAMPLES / count, at * PACKET_SAMPLES % count);
        let part = part as f32 / count as f32;
        for channel in 0..channels {
            let sample = |index: usize| match index.checked_sub(1) {
                None => f32::from(last[channel]),
                Some(index) => f32::from(samples[index.min(PACKET_SAMPLES - 1) * channels + channel]),
            };
            out.push(to_i16(sample(below) + (sample(below + 1) - sample(below)) * part));
        }
    }
    if let Some(end) = samples.len().checked_sub(channels) {
        last.copy_from_slice(&samples[end..]);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::cast_possible_truncation, reason = "samples of 16 bits")]

    use super::*;

    #[test]
    fn a_packet_of_its_own_length_stays_as_it_is_and_a_stretched_one_has_no_step_at_its_ends() {
        let wave: Vec<i16> = (0..3 * PACKET_SAMPLES).map(|at| ((at as f64 * 0.02).sin() * 10_000.0) as i16).collect();
        let (mut last, mut out) = (vec![0], Vec::new());
        stretch(&wave[..PACKET_SAMPLES], &mut last, 1, PACKET_SAMPLES, &mut out);
        assert_eq!(out, wave[..PACKET_SAMPLES]);
        let mut all = out.clone();
        for (packet, count) in
            wave[PACKET_SAMPLES..].chunks(PACKET_SAMPLES).zip([PACKET_SAMPLES + 19, PACKET_SAMPLES - 19])
        {
            stretch(packet, &mut last, 1, count, &mut out);
            assert_eq!(out.len(), count);
            all.extend(&out);
        }
        let steepest = all.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max();
        assert!(steepest <= Some(206), "{steepest:?}: a step of the wave is 200, and it is 2 % faster");
    }

    #[test]
    fn what_is_no_packet_is_concealed() {
        let mut renderer = SoundRenderer::new(Sound::Stereo).expect("a decoder");
        assert_eq!(renderer.packet(&[0xFF; 3], PACKET_SAMPLES + 4).expect("concealed").len(), 2 * (PACKET_SAMPLES + 4));
        assert_eq!(renderer.conceal(PACKET_SAMPLES).expect("concealed").len(), 2 * PACKET_SAMPLES);
        assert_eq!(renderer.silence(7), [0; 14]);
    }
}
