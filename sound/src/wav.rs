//! Writes WAV.

use std::io::{Seek, Write};

use hound::{SampleFormat, WavSpec, WavWriter};
use nestcast_proto::Sound;

use crate::codec::SAMPLES_PER_SECOND;
use crate::error::Error;

/// Writes samples of 16 bits as WAV. Its header is right after every [`WavFile::flush`], so a file whose writer was
/// killed is a WAV up to the last flush.
pub struct WavFile<W: Write + Seek>(WavWriter<W>);

impl<W: Write + Seek> std::fmt::Debug for WavFile<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WavFile").field("samples", &self.0.len()).finish_non_exhaustive()
    }
}

impl<W: Write + Seek> WavFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(file: W, sound: Sound) -> Result<Self, Error> {
        let channels = if sound == Sound::Mono { 1 } else { 2 };
        let spec = WavSpec {
            channels,
            sample_rate: SAMPLES_PER_SECOND,
            bits_per_sample: 16,
            sample_format: SampleFormat::Int,
        };
        Ok(Self(WavWriter::new(file, spec)?))
    }

    /// Appends samples, those of the channels in turn.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, samples: &[i16]) -> Result<(), Error> {
        Ok(samples.iter().try_for_each(|sample| self.0.write_sample(*sample))?)
    }

    /// Completes the file for all samples so far.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        Ok(self.0.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn what_was_written_until_the_last_flush_is_a_wav() {
        let mut bytes = Cursor::new(Vec::new());
        let mut file = WavFile::new(&mut bytes, Sound::Stereo).expect("memory");
        file.write(&[1, -1, 2, -2]).expect("memory");
        file.flush().expect("memory");
        file.write(&[3, -3]).expect("memory");
        file.flush().expect("memory");
        drop(file);
        let mut reader = hound::WavReader::new(Cursor::new(bytes.into_inner())).expect("a WAV");
        assert_eq!((reader.spec().channels, reader.spec().sample_rate, reader.duration()), (2, 48_000, 3));
        let samples: Vec<i16> = reader.samples().map(|sample| sample.expect("a sample")).collect();
        assert_eq!(samples, [1, -1, 2, -2, 3, -3]);
    }
}
