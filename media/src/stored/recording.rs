//! Writes frames as they arrive, so that the file is a video at any moment.

use std::io::Write;

use bytes::Bytes;
use nestcast_codec::{Error as CodecError, FrameHead, RenditionRates, SoundRecord, VideoHeader, VideoWriter};

use super::reader::most_bytes;
use super::{Error, StoredSound, Written};

/// The most missing frames in a row that a recording states, one record each; a longer gap shows in the times alone. A
/// player shows a picture for each, so a sender that leaves numbers out must not make a file that never ends.
const MAX_MISSING_FRAMES: u64 = 1000;

/// A frame that was encoded elsewhere, or a prefix of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFrame {
    /// Its number in its source. A number that is left out is a missing frame.
    pub number: u64,
    /// When it was captured, in microseconds since 1970-01-01 UTC.
    pub captured: u64,
    /// Its bytes.
    pub bytes: Bytes,
    /// A random-access frame that can stand for it, if there is one.
    pub random_access: Option<Bytes>,
}

/// Writes frames with their capture times. Each is one write, so the output loses no more than the last frame if the
/// process is killed; [`Recording::finish`] adds an index.
///
/// ```
/// use bytes::Bytes;
/// use nestcast_codec::{Display, FrameRate, RenditionRates, Size, VideoHeader, VideoModel, Ycbcr};
/// use nestcast_media::stored::{Reader, RecordedFrame, Recording};
///
/// let header = VideoHeader {
///     size: Size::new(64, 48)?,
///     rate: FrameRate::new(30, 1)?,
///     colours: Ycbcr::BT601,
///     bits: 8,
///     display: Display::default(),
///     models: VideoModel::built_in().ids(),
///     renditions: RenditionRates::ONE,
/// };
/// let mut recording = Recording::begin(&header, Vec::new())?;
/// for number in [7, 9] {
///     let bytes = Bytes::from_static(b"a frame");
///     recording.write(&RecordedFrame { number, captured: 1_000_000 + number * 33_333, bytes, random_access: None })?;
/// }
/// let (bytes, written) = recording.finish()?;
/// assert_eq!((written.frames, written.bytes), (2, bytes.len() as u64)); // frame 8 is missing, and does not count
///
/// let mut reader = Reader::new(&bytes[..], 64 * 48)?;
/// assert_eq!(reader.next_frame()?.as_deref(), Some(&b"a frame"[..]));
/// assert_eq!(reader.captured(), Some(1_233_331));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recording<W> {
    records: VideoWriter,
    output: W,
    /// The most bytes of a frame that a reader accepts.
    most_bytes: usize,
    /// The number of the next frame, if none is missing; `None` before the first.
    next: Option<u64>,
    /// The channels of its sound, 1 or 2, if it has some.
    channels: Option<u8>,
    written: Written,
}

impl<W: Write> Recording<W> {
    /// Writes the header, for one rendition.
    ///
    /// # Errors
    /// [`Error::Write`] from the system.
    pub fn begin(header: &VideoHeader, mut output: W) -> Result<Self, Error> {
        let (records, start) = VideoWriter::new(&VideoHeader { renditions: RenditionRates::ONE, ..*header });
        output.write_all(&start).map_err(Error::Write)?;
        let written = Written { bytes: start.len() as u64, ..Written::default() };
        let most_bytes = usize::try_from(most_bytes(header.size)).unwrap_or(usize::MAX);
        Ok(Self { records, output, most_bytes, next: None, channels: None, written })
    }

    /// States that the video has sound with this number of channels, 1 or 2. Call it once, before the first frame: a
    /// reader looks no further.
    ///
    /// # Errors
    /// [`Error::Codec`] for another number of channels, for a second call and after a frame, because a reader would
    /// drop the sound; [`Error::Write`] from the system.
    pub fn begin_sound(&mut self, channels: usize) -> Result<(), Error> {
        if self.next.is_some() || self.channels.is_some() {
            return Err(CodecError::Argument("sound begins once, before the first frame").into());
        }
        let channels = u8::try_from(channels).ok().filter(|channels| [1, 2].contains(channels));
        self.channels = Some(channels.ok_or(CodecError::Argument("sound has one or two channels"))?);
        self.put_sound(None)
    }

    /// Writes a packet of sound, between the frames before and after it. Without [`Recording::begin_sound`] it writes
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Codec`] if the packet is empty, or longer than a packet of Opus of 20 ms can be: its body would have
    /// more than [`SoundRecord::MAX_BYTES`]. Otherwise as [`Recording::write`].
    pub fn write_sound(&mut self, sound: &StoredSound) -> Result<(), Error> {
        if !sound.can_be_stored() {
            return Err(CodecError::Argument("a packet of sound has 1 to 1276 bytes").into());
        }
        self.put_sound(Some((sound.captured, &sound.bytes)))?;
        self.written.sound_packets += u64::from(self.channels.is_some());
        Ok(())
    }

    fn put_sound(&mut self, packet: Option<(u64, &[u8])>) -> Result<(), Error> {
        let Some(channels) = self.channels else { return Ok(()) };
        let block = self.records.sound(&SoundRecord { channels, packet });
        self.output.write_all(&block).map_err(Error::Write)?;
        self.written.bytes += block.len() as u64;
        Ok(())
    }

    /// Writes a frame, after an empty record for each frame that is missing before it.
    ///
    /// # Errors
    /// [`Error::Write`] from the system. Then [`Recording::written`] says where the last whole record ends, and no
    /// other frame can follow.
    pub fn write(&mut self, frame: &RecordedFrame) -> Result<(), Error> {
        let missing = self.next.map_or(0, |next| frame.number.saturating_sub(next));
        let missing = if missing > MAX_MISSING_FRAMES { 0 } else { missing };
        let mut records: Vec<u8> = (0..missing).flat_map(|_| self.records.frame(&[], false)).collect();
        // No frame of this size has more bytes, and a prefix is as good.
        let bytes = &frame.bytes[..frame.bytes.len().min(self.most_bytes)];
        let key = FrameHead::parse(bytes).ok().flatten().is_some_and(|head| head.key);
        self.records.captured(frame.captured);
        if let Some(beginning) = frame.random_access.as_ref().filter(|_| !key) {
            self.records.random_access(&beginning[..beginning.len().min(self.most_bytes)]);
        }
        records.extend(self.records.frame(bytes, key));
        self.output.write_all(&records).map_err(Error::Write)?;
        self.next = Some(frame.number.saturating_add(1));
        self.written.frames += 1;
        self.written.keys += u64::from(key);
        self.written.bytes += records.len() as u64;
        Ok(())
    }

    /// Returns the counts of what was written, without missing frames.
    #[must_use]
    pub const fn written(&self) -> Written {
        self.written
    }

    /// Returns the output.
    #[must_use]
    pub const fn get_ref(&self) -> &W {
        &self.output
    }

    /// Writes the index, and returns the output.
    ///
    /// # Errors
    /// [`Error::Write`] from the system.
    pub fn finish(self) -> Result<(W, Written), Error> {
        let Self { records, mut output, mut written, .. } = self;
        let index = records.finish();
        output.write_all(&index).map_err(Error::Write)?;
        written.bytes += index.len() as u64;
        Ok((output, written))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Cursor};

    use nestcast_codec::{Display, FrameRate, Size, VideoModel, Ycbcr};

    use super::*;
    use crate::stored::Reader;

    fn header() -> VideoHeader {
        VideoHeader {
            size: Size::new(64, 48).expect("a size"),
            rate: FrameRate::new(30, 1).expect("a rate"),
            colours: Ycbcr::BT601,
            bits: 8,
            display: Display::default(),
            models: VideoModel::built_in().ids(),
            renditions: RenditionRates::ONE,
        }
    }

    fn frame(number: u64) -> RecordedFrame {
        RecordedFrame {
            number,
            captured: 1_000_000 + number * 40_000,
            bytes: Bytes::from(vec![7; 90]),
            random_access: None,
        }
    }

    /// Returns the lengths and capture times of all frames, and whether the video has its end.
    fn read(bytes: &[u8]) -> (Vec<(usize, Option<u64>)>, bool) {
        let mut reader = Reader::new(Cursor::new(bytes), u64::MAX).expect("a video");
        let mut frames = Vec::new();
        while let Some(frame) = reader.next_frame().expect("only short") {
            frames.push((frame.len(), reader.captured()));
        }
        (frames, reader.is_whole())
    }

    #[test]
    fn missing_frames_have_empty_records_and_long_gaps_and_new_beginnings_have_none() {
        let mut recording = Recording::begin(&header(), Vec::new()).expect("memory");
        for number in [5, 6, 9, 1 << 40, 0, u64::MAX] {
            let frame = RecordedFrame { captured: number, ..frame(0) };
            recording.write(&RecordedFrame { number, ..frame }).expect("memory");
        }
        let (bytes, written) = recording.finish().expect("memory");
        let (frames, whole) = read(&bytes);
        let there = |time| (90, Some(time));
        let expected = [there(5), there(6), (0, None), (0, None), there(9), there(1 << 40), there(0), there(u64::MAX)];
        assert_eq!((frames, whole), (expected.to_vec(), true));
        assert_eq!((written.frames, written.keys, written.bytes), (6, 0, bytes.len() as u64));
    }

    #[test]
    fn sound_that_a_reader_would_drop_is_refused_and_nothing_of_it_is_written() {
        let refused = |outcome| matches!(outcome, Err(Error::Codec(CodecError::Argument(_))));
        let packet = |bytes: usize| StoredSound { captured: 5, bytes: vec![1; bytes].into() };
        let begin = || Recording::begin(&header(), Vec::new()).expect("memory");
        for channels in [0, 3, 255, 256, 257, usize::MAX] {
            let mut recording = begin();
            assert!(refused(recording.begin_sound(channels)), "{channels} channels");
            recording.write_sound(&packet(20)).expect("without channels it writes nothing");
            assert_eq!((recording.written().sound_packets, recording.written().bytes), (0, begin().written().bytes));
        }
        for channels in [1, 2] {
            let mut recording = begin();
            recording.begin_sound(channels).expect("memory");
            assert!(refused(recording.begin_sound(channels)));
            for (bytes, can_be_read) in [(0, false), (1, true), (1276, true), (1277, false), (5000, false)] {
                let before = recording.written();
                assert_eq!(refused(recording.write_sound(&packet(bytes))), !can_be_read, "{bytes} bytes");
                assert_eq!(recording.written() != before, can_be_read, "{bytes} bytes");
            }
            recording.write(&frame(0)).expect("memory");
            let (bytes, written) = recording.finish().expect("memory");
            let mut reader = Reader::new(Cursor::new(&bytes), u64::MAX).expect("a video");
            assert_eq!(reader.begin_sound().expect("whole"), Some(channels));
            reader.next_frame().expect("whole");
            let read: Vec<_> = reader.take_sound().map(|sound| sound.bytes.len()).collect();
            assert_eq!((read, written.sound_packets), (vec![1, 1276], 2));
        }
        let mut recording = begin();
        recording.write(&frame(0)).expect("memory");
        assert!(refused(recording.begin_sound(1)), "a reader looks for it before the first frame");
    }

    #[test]
    fn a_recording_that_ends_anywhere_opens_and_lacks_one_frame_at_most() {
        let mut recording = Recording::begin(&header(), Vec::new()).expect("memory");
        let mut ends = vec![recording.get_ref().len()];
        for number in 0..200 {
            recording.write(&frame(number)).expect("memory");
            ends.push(recording.get_ref().len());
        }
        let bytes = recording.finish().expect("memory").0;
        for cut in ends[0]..bytes.len() {
            let written = ends.partition_point(|end| *end <= cut) - 1;
            let (frames, _) = read(&bytes[..cut]);
            assert!(frames.len() == written || frames.len() == written + 1, "{cut}");
            assert!(frames[..written].iter().enumerate().all(|(at, it)| *it == (90, Some(frame(at as u64).captured))));
        }
    }

    /// A disk that is full after this many bytes.
    struct Full(Vec<u8>, usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.1 - self.0.len();
            if room == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(room);
            self.0.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn on_a_full_disk_all_whole_records_stay() {
        for room in [40, 500, 777] {
            let mut recording = Recording::begin(&header(), Full(Vec::new(), room)).expect("room for a header");
            let failed = (0..).find(|number| recording.write(&frame(*number)).is_err()).expect("it is full");
            let whole = usize::try_from(recording.written().bytes).expect("few");
            let (frames, _) = read(&recording.get_ref().0[..whole]);
            assert_eq!((frames.len() as u64, recording.written().frames), (failed, failed), "{room}");
        }
    }

    #[test]
    fn a_frame_longer_than_any_of_its_size_is_cut_so_that_it_can_be_read() {
        let mut recording = Recording::begin(&header(), Vec::new()).expect("memory");
        recording.write(&RecordedFrame { bytes: vec![0; 3 << 20].into(), ..frame(0) }).expect("memory");
        let (bytes, _) = recording.finish().expect("memory");
        assert_eq!(read(&bytes).0[0].0, 64 * 48 * 8 + (1 << 20));
    }
}
