//! The sound of a video in a WAV file that is in step with it.

use std::io::{self, Seek, Write};
use std::time::Duration;

use bytes::Bytes;
use nestcast_player::{Recording, SoundBlock, SoundContent, SoundMode, SoundPlayout};
use nestcast_proto::{FrameRate, Sound, SoundPacket};

use crate::error::Error;
use crate::render::SoundRenderer;
use crate::wav::WavFile;

/// Silence is written in pieces of this length.
const SILENT_SAMPLES: [i16; 4096] = [0; 4096];

/// Writes the sound of a video to a WAV file. Both are in place by their capture times: the file begins with the first
/// frame.
///
/// ```
/// use std::io::Cursor;
/// use nestcast_proto::{Bitrate, FrameRate, Sound};
/// use nestcast_sound::{PACKET_SAMPLES, SoundEncoder, SoundTrack};
///
/// # fn main() -> Result<(), nestcast_sound::Error> {
/// let mut encoder = SoundEncoder::new(Sound::Mono, Bitrate::from_bits(32_000))?;
/// let mut wav = Cursor::new(Vec::new());
/// let mut track = SoundTrack::default();
/// track.begin(Sound::Mono, || Ok(&mut wav))?;
/// let rate = FrameRate::new(25, 1).expect("a rate");
/// for number in 0..4 {
///     assert_eq!(track.frame(number * 40_000, rate), Some(0), "it follows the frame before");
///     for packet in [0, 20_000] {
///         track.packet(number * 40_000 + packet, encoder.encode(&[0; PACKET_SAMPLES])?)?;
///     }
/// }
/// track.finish()?;
/// assert_eq!(wav.into_inner().len(), 44 + 8 * PACKET_SAMPLES * 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SoundTrack<W: Write + Seek> {
    file: Option<File<W>>,
    place: Option<Recording>,
    /// Finds what is missing between the packets of a file.
    playout: SoundPlayout,
    packets: u64,
}

#[derive(Debug)]
struct File<W: Write + Seek> {
    wav: WavFile<W>,
    renderer: SoundRenderer,
    sound: Sound,
}

impl<W: Write + Seek> Default for SoundTrack<W> {
    fn default() -> Self {
        Self { file: None, place: None, playout: SoundPlayout::new(SoundMode::Recorded), packets: 0 }
    }
}

impl<W: Write + Seek> SoundTrack<W> {
    /// Begins with sound, of the first connection or another. `create` makes the file for the first. The file keeps the
    /// channels of the first: other sound is decoded to them (RFC 6716, section 2.1.2).
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(&mut self, sound: Sound, create: impl FnOnce() -> io::Result<W>) -> Result<(), Error> {
        let (wav, sound) = match self.file.take() {
            Some(file) => (file.wav, file.sound),
            None => (WavFile::new(create()?, sound)?, sound),
        };
        self.file = Some(File { wav, renderer: SoundRenderer::new(sound)?, sound });
        Ok(())
    }

    /// Takes a frame of a video of this rate. Returns how often the picture before it is written again first, so that
    /// both files stay in step; `None` if this one is left out.
    pub fn frame(&mut self, captured: u64, rate: FrameRate) -> Option<u64> {
        self.place.get_or_insert_with(|| Recording::new(rate)).handle_frame(captured)
    }

    /// Writes the next block of a playout that records.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn play(&mut self, block: &SoundBlock) -> Result<(), Error> {
        let Some(File { wav, renderer, sound }) = &mut self.file else { return Ok(()) };
        let samples = renderer.block(block)?;
        let place = self.place.as_mut().and_then(|place| place.handle_sound(block.captured, block.samples));
        let Some(place) = place else { return Ok(()) };
        let channels = sound.channels();
        let mut silence = place.silence * channels;
        while silence > 0 {
            let piece = silence.min(SILENT_SAMPLES.len());
            wav.write(&SILENT_SAMPLES[..piece])?;
            silence -= piece;
        }
        wav.write(&samples[place.skipped * channels..])
    }

    /// Takes the next packet of a stored video. What is missing before it is concealed, or silent.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn packet(&mut self, captured: u64, bytes: Bytes) -> Result<(), Error> {
        let packet = SoundPacket { number: self.packets, captured, bytes };
        self.packets += 1;
        self.playout.handle_packet(Duration::ZERO, packet);
        self.drain()
    }

    /// Writes what waits, when no packet follows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.playout.handle_end();
        self.drain()?;
        self.flush()
    }

    /// Completes the file for what was written so far.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.as_mut().map_or(Ok(()), |file| file.wav.flush())
    }

    fn drain(&mut self) -> Result<(), Error> {
        while let Some(block) = self.playout.poll(Duration::ZERO, None) {
            self.play(&block)?;
        }
        Ok(())
    }
}

impl SoundRenderer {
    /// Returns the samples of a block.
    ///
    /// # Errors
    /// [`Error::Opus`] if the decoder fails.
    pub fn block(&mut self, block: &SoundBlock) -> Result<&[i16], Error> {
        match &block.content {
            SoundContent::Packet(bytes) => self.packet(bytes, block.samples),
            SoundContent::Concealed => self.conceal(block.samples),
            SoundContent::Silence => Ok(self.silence(block.samples)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use nestcast_proto::Bitrate;

    use super::*;
    use crate::codec::{PACKET_SAMPLES, SoundEncoder};

    #[test]
    fn sound_of_other_channels_goes_on_in_the_channels_of_the_file() {
        const PACKETS: u64 = 50;
        for [first, second] in [[Sound::Stereo, Sound::Mono], [Sound::Mono, Sound::Stereo]] {
            let mut wav = Cursor::new(Vec::new());
            let (mut track, mut file) = (SoundTrack::default(), Some(&mut wav));
            for (turn, sound) in (0..).zip([first, second]) {
                track.begin(sound, || Ok(file.take().expect("it is made once"))).expect("memory");
                track.frame(turn * PACKETS * 20_000, FrameRate::new(1, 1).expect("a rate"));
                let mut encoder = SoundEncoder::new(sound, Bitrate::from_bits(64_000)).expect("an encoder");
                for at in 0..PACKETS {
                    let tone: Vec<i16> = (0..PACKET_SAMPLES)
                        .flat_map(|it| vec![if it / 48 % 2 == 0 { 8000 } else { -8000 }; sound.channels()])
                        .collect();
                    let captured = (turn * PACKETS + at) * 20_000;
                    track.packet(captured, encoder.encode(&tone).expect("a packet")).expect("memory");
                }
            }
            track.finish().expect("memory");
            let bytes = wav.into_inner();
            let channels = first.channels();
            assert_eq!((usize::from(bytes[22]), bytes.len()), (channels, 44 + 100 * PACKET_SAMPLES * 2 * channels));
            let samples: Vec<i16> =
                bytes[44..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
            // The middle of each half, of each channel: the tone has its power.
            for half in samples.chunks(samples.len() / 2) {
                for channel in 0..channels {
                    let heard = half[half.len() / 4..half.len() * 3 / 4].iter().skip(channel).step_by(channels);
                    let (sum, count) =
                        heard.fold((0.0, 0.0), |(sum, count), sample| (sum + f64::from(*sample).powi(2), count + 1.0));
                    let level = (sum / count).sqrt();
                    assert!((6000.0..10_000.0).contains(&level), "{first:?} to {second:?}: {level}");
                }
            }
        }
    }

    #[test]
    fn packets_that_are_missing_take_their_time() {
        let mut encoder = SoundEncoder::new(Sound::Stereo, Bitrate::from_bits(64_000)).expect("an encoder");
        let mut wav = Cursor::new(Vec::new());
        let mut track = SoundTrack::default();
        track.begin(Sound::Stereo, || Ok(&mut wav)).expect("memory");
        track.frame(1_000_000, FrameRate::new(1, 1).expect("a rate"));
        for at in (0..100).filter(|at| !(30..33).contains(at) && !(50..80).contains(at)) {
            let packet = encoder.encode(&[100; 2 * PACKET_SAMPLES]).expect("a packet");
            track.packet(1_000_000 + at * 20_000, packet).expect("memory");
        }
        track.finish().expect("memory");
        assert_eq!(wav.into_inner().len(), 44 + 100 * PACKET_SAMPLES * 4);
    }
}
