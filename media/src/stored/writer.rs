//! Encodes pictures as a stored video, one file for all bit rates.

use std::io::Write;

use nestcast_codec::{
    Error as CodecError, MIN_RANDOM_ACCESS_BYTES, Size, VideoHeader, VideoRenditions, VideoWriter, View,
};

use super::Error;

/// The seconds of video from one random-access frame to the next.
const RANDOM_ACCESS_SECONDS: u64 = 2;
/// The least number of frames from one random-access frame of a stored video to the next. A sender that begins between
/// two of them decodes at most 7 base layers, so more of them help no viewer, and each has the bytes of several base
/// layers. At 4 frames a second this number takes two seconds.
pub(crate) const MIN_RANDOM_ACCESS_FRAMES: u64 = 8;
/// The most bytes of a random-access frame: as many as this number of base layers, the largest since the last such
/// frame, because those of a picture that stays have few bytes. [`MIN_RANDOM_ACCESS_BYTES`] are allowed in any case.
const RANDOM_ACCESS_BASES: usize = 4;

/// Encodes pictures and writes their records.
#[derive(Debug)]
pub struct Writer<W> {
    encoder: VideoRenditions,
    records: VideoWriter,
    /// The size that the header states.
    size: Size,
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
    /// Takes an encoder and a header, whose tables and rate of frames must be the encoder's. Its renditions become the
    /// encoder's; [`Writer::write`] checks its size. Writes nothing before the first frame.
    #[must_use]
    pub fn new(encoder: VideoRenditions, header: &VideoHeader, output: W) -> Self {
        let (records, start) = VideoWriter::new(&VideoHeader { renditions: encoder.rates(), ..*header });
        let size = header.size;
        let [frames, seconds] = [header.rate.frames(), header.rate.seconds()].map(u64::from);
        let interval = (RANDOM_ACCESS_SECONDS * frames).div_ceil(seconds).max(MIN_RANDOM_ACCESS_FRAMES);
        Self { encoder, records, size, start, output, interval, since: 0, largest_base: 0, written: Written::default() }
    }

    /// Encodes a picture and writes its frame for every rendition. Every two seconds, and at most with one in 8 frames, it
    /// writes random-access frames too, from which a sender finds a later frame's references in little time.
    ///
    /// # Errors
    /// [`Error::Codec`] if the picture has another format, or another size than the encoder or the header states;
    /// [`Error::Write`] from the system.
    pub fn write<'a>(&mut self, picture: impl Into<View<'a>>) -> Result<(), Error> {
        let picture = picture.into();
        if picture.size() != self.size {
            return Err(CodecError::Argument("the picture has another size than the video's header").into());
        }
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use nestcast_codec::{
        Bitrate, Display, Format, FrameHead, FrameRate, Picture, Population, RenditionRates, VideoModel, VideoSettings,
        Ycbcr,
    };

    use super::*;
    use crate::stored::Reader;

    /// Returns a stored video of noise that stays, with this number of frames.
    fn still(rate: FrameRate, frames: u64) -> Vec<u8> {
        let (size, model) = (Size::new(96, 64).expect("a size"), VideoModel::built_in());
        let population = Population::log_uniform(Bitrate::from_bits(10_000)..=Bitrate::from_bits(1_000_000));
        let encoder =
            VideoRenditions::new(&model, VideoSettings { size, rate, population, threads: 1 }, 1).expect("one");
        let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
        let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
        let mut writer = Writer::new(encoder, &header, Vec::new());
        let mut seed = 1_u32;
        let noise = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed.to_be_bytes()[0]
        });
        let samples = noise.take(size.pixels() * 3 / 2).collect();
        let picture = Picture::new(size, Format::Ycbcr420(colours), samples).expect("a picture");
        (0..frames).try_for_each(|_| writer.write(&picture)).expect("memory");
        writer.finish().expect("memory").0
    }

    /// Returns the numbers of the frames that have a random-access frame.
    fn begins(video: &[u8]) -> Vec<u64> {
        let positions = Reader::new(Cursor::new(video), u64::MAX).expect("a video").positions().expect("it seeks");
        positions.iter().filter(|position| position.has_random_access()).map(|position| position.number).collect()
    }

    #[test]
    fn a_header_has_the_renditions_of_the_encoder_and_one_of_another_size_is_refused() {
        let [size, other] = [[96, 64], [32, 16]].map(|[width, height]| Size::new(width, height).expect("a size"));
        let (rate, model) = (FrameRate::new(30, 1).expect("a rate"), VideoModel::built_in());
        let population = Population::log_uniform(Bitrate::from_bits(10_000)..=Bitrate::from_bits(1_000_000));
        let settings = VideoSettings { size, rate, population, threads: 1 };
        let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), RenditionRates::ONE);
        let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
        let encoder = || VideoRenditions::new(&model, settings.clone(), 3).expect("three");
        let picture = |size| Picture::zero(size, Format::Ycbcr420(colours));

        let mut writer = Writer::new(encoder(), &header, Vec::new());
        (0..5).try_for_each(|_| writer.write(&picture(size))).expect("memory");
        let video = writer.finish().expect("memory").0;
        let mut reader = Reader::new(Cursor::new(&video), u64::MAX).expect("a video");
        assert_eq!(*reader.header(), VideoHeader { renditions: encoder().rates(), ..header });
        let mut frames = 0;
        while let Some(renditions) = reader.next_renditions().expect("whole") {
            assert_eq!(renditions.len(), 3);
            frames += 1;
        }
        assert_eq!((frames, reader.is_whole()), (5, true));

        let mut wrong = Writer::new(encoder(), &VideoHeader { size: other, ..header }, Vec::new());
        for size in [size, other] {
            assert!(matches!(wrong.write(&picture(size)), Err(Error::Codec(CodecError::Argument(_)))));
        }
        assert_eq!(wrong.finish().expect("memory").1.frames, 0);
    }

    #[test]
    fn random_access_frames_come_every_two_seconds_but_at_most_one_in_eight_frames() {
        for (frames, seconds, apart) in [(30, 1, 60), (30_000, 1001, 60), (5, 1, 10), (4, 1, 8), (1, 1, 8), (1, 4, 8)] {
            let video = still(FrameRate::new(frames, seconds).expect("a rate"), 2 * apart + 1);
            assert_eq!(begins(&video), [apart, 2 * apart], "{frames}/{seconds}");
        }
    }

    #[test]
    fn random_access_frames_of_a_picture_that_stays_have_bytes_enough_to_show_it() {
        let video = still(FrameRate::new(30, 1).expect("a rate"), 121);
        let mut reader = Reader::new(Cursor::new(&video), u64::MAX).expect("a video");
        let positions = reader.positions().expect("it seeks");
        reader.go_to(&positions[60]).expect("it seeks");
        let frames: Vec<_> = std::iter::from_fn(|| reader.next_frame().expect("whole")).take(60).collect();
        let base = |bytes: &[u8]| FrameHead::parse(bytes).expect("a head").map_or(0, |head| head.base);
        let largest = frames.iter().map(|bytes| base(bytes)).max().expect("frames");
        reader.begin_at(&positions[120]).expect("it seeks");
        let begins = reader.next_frame().expect("whole").expect("a frame").len();
        assert!(RANDOM_ACCESS_BASES * largest < MIN_RANDOM_ACCESS_BYTES / 2, "base layers of {largest} bytes");
        assert!((MIN_RANDOM_ACCESS_BYTES * 9 / 10..=MIN_RANDOM_ACCESS_BYTES).contains(&begins), "{begins} bytes");
    }
}
