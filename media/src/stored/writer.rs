//! Encodes pictures as a stored video, one file for all bit rates.

use std::io::Write;

use nestcast_codec::{VideoHeader, VideoRenditions, VideoWriter, View};

use super::Error;

/// The seconds of video from one random-access frame to the next.
const RANDOM_ACCESS_SECONDS: u64 = 2;
/// The most bytes of a random-access frame: as many as this number of base layers, the largest since the last such
/// frame, because those of a picture that stays have few bytes.
const RANDOM_ACCESS_BASES: usize = 4;
/// A random-access frame may have this many bytes, however small base layers are.
const MIN_RANDOM_ACCESS_BYTES: usize = 1000;

/// Encodes pictures and writes their records.
#[derive(Debug)]
pub struct Writer<W> {
    encoder: VideoRenditions,
    records: VideoWriter,
    /// The header, until it is written.
    start: Vec<u8>,
    output: W,
    /// The number of frames from one random-access frame to the next, and since the last.
    interval: u64,
    since: u64,
    /// The bytes of the largest base layer since then, in any rendition; key frames have none that counts.
    largest_base: usize,
    written: Written,
}

/// Counts of what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Frames.
    pub frames: u64,
    /// Frames that are predicted from nothing.
    pub keys: u64,
    /// Packets of sound.
    pub sound_packets: u64,
    /// All bytes.
    pub bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Takes an encoder and its header, whose tables and rates of loops must be the encoder's. Writes nothing before
    /// the first frame.
    #[must_use]
    pub fn new(encoder: VideoRenditions, header: &VideoHeader, output: W) -> Self {
        let (records, start) = VideoWriter::new(header);
        let [frames, seconds] = [header.rate.frames(), header.rate.seconds()].map(u64::from);
        let interval = (RANDOM_ACCESS_SECONDS * frames).div_ceil(seconds);
        Self { encoder, records, start, output, interval, since: 0, largest_base: 0, written: Written::default() }
    }

    /// Encodes a picture and writes its frame for every loop. Every two seconds it writes random-access frames too, from
    /// which a sender finds a later frame's references in little time.
    ///
    /// # Errors
    /// [`Error::Codec`] if the picture has another size or format; [`Error::Write`] from the system.
    pub fn write<'a>(&mut self, picture: impl Into<View<'a>>) -> Result<(), Error> {
        let coded = self.encoder.encode(picture)?;
        put(&std::mem::take(&mut self.start), &mut self.output, &mut self.written)?;
        let may_begin = !coded[0].key && self.since >= self.interval;
        self.since = if may_begin { 1 } else { self.since + 1 };
        let base = coded.iter().filter(|frame| !frame.key).map(|frame| frame.base).max().unwrap_or(0);
        self.largest_base = self.largest_base.max(base);
        let most = self.largest_base.saturating_mul(RANDOM_ACCESS_BASES).max(MIN_RANDOM_ACCESS_BYTES);
        for (number, frame) in coded.iter().enumerate() {
            if may_begin && let Some(beginning) = self.encoder.random_access_frame(number, most) {
                self.records.random_access(&beginning.bytes);
            }
            let record = self.records.frame(&frame.bytes, frame.key && number == 0);
            put(&record, &mut self.output, &mut self.written)?;
        }
        if may_begin {
            self.largest_base = base;
        }
        self.written.frames += 1;
        self.written.keys += u64::from(coded[0].key);
        Ok(())
    }

    /// Writes the index, by which [`Reader::seek`](super::Reader::seek) finds frames, and returns the output.
    ///
    /// # Errors
    /// [`Error::Write`] from the system.
    pub fn finish(self) -> Result<(W, Written), Error> {
        let Self { records, start, mut output, mut written, .. } = self;
        put(&start, &mut output, &mut written)?;
        put(&records.finish(), &mut output, &mut written)?;
        Ok((output, written))
    }
}

/// Writes a piece and counts it.
fn put(piece: &[u8], output: &mut impl Write, written: &mut Written) -> Result<(), Error> {
    output.write_all(piece).map_err(Error::Write)?;
    written.bytes += piece.len() as u64;
    Ok(())
}
