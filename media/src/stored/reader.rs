//! Reads a stored video from a file or a pipe. If a video has several loops, each frame has a record for each loop, and
//! this reads one loop.

use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

use std::collections::VecDeque;

use bytes::Bytes;
use nestcast_codec::{
    Bitrate, BlockKind, FrameHead, RecordHead, Size, SoundRecord, VideoHeader, VideoIndex, VideoModel,
};

use super::{Error, StoredSound};

/// More bytes than any frame needs: a number for each pixel, and a constant.
const MOST_PIXEL_BYTES: u64 = 8;
const MOST_BYTES: u64 = 1 << 20;
/// The bytes of a block of time that are read; later versions may add others.
const MOST_TIME: u64 = 8;
/// The most bytes of sound that are kept between two frames, with a constant for each packet: 4 minutes or more.
const MOST_SOUND: usize = 1 << 22;
const PACKET_BYTES: usize = size_of::<StoredSound>() + 64;
/// The most frames whose places are kept: five hours with 60 a second.
const MOST_POSITIONS: usize = 1 << 20;
/// The most bytes of an index: a day with 60 key frames a second needs fewer.
const MOST_INDEX: u64 = 1 << 26;

/// Reads the frames of one loop of a stored video.
#[derive(Debug)]
pub struct Reader<R> {
    header: VideoHeader,
    /// The loop, from 0.
    chosen: usize,
    /// The byte at which the first record, or a block before it, begins.
    first: u64,
    /// Bytes that were read to find the header's end.
    start: Cursor<Vec<u8>>,
    input: BufReader<R>,
    /// Number of the next record.
    next: u64,
    /// The number of records, from the index.
    count: Option<u64>,
    /// The capture time of the last frame, and the one that a block states for the next.
    captured: Option<u64>,
    stated: Option<u64>,
    sound: Sound,
    /// The length of the next frame, if its head was read ahead.
    ahead: Option<u64>,
    /// Whether a random-access frame stands for the next frame, and its bytes if they were read.
    begins: bool,
    random_access: Option<Bytes>,
    /// Whether anybody asked for random-access frames, and that of the last frame.
    keeps_random_access: bool,
    kept_random_access: Option<Bytes>,
    end: Option<End>,
}

/// The place of a frame in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The frame's number, counted from 0.
    pub number: u64,
    /// When it was captured, in microseconds since 1970-01-01 UTC, if the video says so.
    pub captured: Option<u64>,
    /// Whether it is predicted from nothing.
    is_key: bool,
    /// Whether a part of it is predicted from nothing, in all renditions.
    renews: bool,
    /// Whether a random-access frame can stand for it, in all renditions.
    has_random_access: bool,
    /// The byte at which the blocks before its first record begin.
    blocks: u64,
    /// The byte at which its first record's content begins, and the length of that.
    at: u64,
    length: u64,
}

impl Position {
    /// Returns whether a random-access frame can stand for it in all renditions, so that a decoder can begin there by
    /// [`Reader::begin_at`]. A key frame needs none, and usually has none.
    #[must_use]
    pub const fn has_random_access(&self) -> bool {
        self.has_random_access
    }

    /// Returns whether it is predicted from nothing.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.is_key
    }

    /// Returns whether all of it or a part of it is predicted from nothing, in all renditions: a decoder that begins with
    /// another base-layer reference comes nearer to that of the others with each such frame.
    #[must_use]
    pub const fn renews(&self) -> bool {
        self.renews
    }
}

/// The sound that was read.
#[derive(Debug, Default)]
struct Sound {
    /// Whether anybody asked for it.
    is_kept: bool,
    channels: Option<u8>,
    packets: VecDeque<StoredSound>,
    bytes: usize,
}

impl Sound {
    fn handle_block(&mut self, body: &[u8]) {
        let Some(SoundRecord { channels, packet }) = SoundRecord::parse(body) else { return };
        if *self.channels.get_or_insert(channels) != channels {
            return;
        }
        let Some((captured, bytes)) = packet else { return };
        self.bytes += bytes.len() + PACKET_BYTES;
        self.packets.push_back(StoredSound { captured, bytes: Bytes::copy_from_slice(bytes) });
        while self.bytes > MOST_SOUND
            && let Some(oldest) = self.packets.pop_front()
        {
            self.bytes -= oldest.bytes.len() + PACKET_BYTES;
        }
    }
}

/// How a stored video ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Index,
    Cut,
}

impl<R: Read> Reader<R> {
    /// Reads the header. Refuses frames of more than `max_pixels` before it allocates memory for them.
    ///
    /// # Errors
    /// [`Error`] if the input is no stored video, or ends inside its header.
    pub fn new(mut input: R, max_pixels: u64) -> Result<Self, Error> {
        let mut start = Vec::with_capacity(VideoHeader::MAX_BYTES);
        input.by_ref().take(VideoHeader::MAX_BYTES as u64).read_to_end(&mut start)?;
        if start.is_empty() {
            return Err(Error::Empty);
        }
        let (header, length) = VideoHeader::parse(&start)?;
        let given = header.size.pixels() as u64;
        if given > max_pixels {
            return Err(Error::Limit { given, max: max_pixels });
        }
        let mut start = Cursor::new(start);
        start.set_position(length as u64);
        Ok(Self::begin(header, length as u64, start, input))
    }

    /// Takes an input whose first record begins at the byte `first`, and the bytes that were read of it.
    fn begin(header: VideoHeader, first: u64, start: Cursor<Vec<u8>>, input: R) -> Self {
        Self {
            header,
            chosen: header.renditions.count() - 1,
            first,
            start,
            input: BufReader::new(input),
            next: 0,
            count: None,
            captured: None,
            stated: None,
            sound: Sound::default(),
            ahead: None,
            begins: false,
            random_access: None,
            keeps_random_access: false,
            kept_random_access: None,
            end: None,
        }
    }

    /// Returns the header.
    #[must_use]
    pub const fn header(&self) -> &VideoHeader {
        &self.header
    }

    /// Checks that the frames need these tables.
    ///
    /// # Errors
    /// [`Error::Models`] if they need others.
    pub fn check_model(&self, model: &VideoModel) -> Result<(), Error> {
        let needed = self.header.models;
        let given = model.ids();
        if needed == given { Ok(()) } else { Err(Error::Models { needed, given }) }
    }

    /// Chooses the rendition that fits a bitrate best. The default is the fastest one.
    pub fn choose(&mut self, bitrate: Bitrate) {
        self.chosen = self.header.renditions.serving(bitrate);
    }

    /// Returns the chosen rendition, counted from 0.
    #[must_use]
    pub const fn chosen(&self) -> usize {
        self.chosen
    }

    /// Returns the number of records of a frame.
    const fn renditions(&self) -> u64 {
        self.header.renditions.count() as u64
    }

    /// Returns the number of the next frame, counted from 0.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        (self.next + self.renditions() - 1 - self.chosen as u64) / self.renditions()
    }

    /// Returns the number of frames, after [`Reader::seek`] found an index.
    #[must_use]
    pub const fn count(&self) -> Option<u64> {
        match self.count {
            Some(records) => Some(records / self.renditions()),
            None => None,
        }
    }

    /// Returns when the last frame was captured, in microseconds since 1970-01-01 UTC, if the video says so. The times
    /// are those that the file states: they may stand still or go back.
    #[must_use]
    pub const fn captured(&self) -> Option<u64> {
        self.captured
    }

    /// Returns whether the video ended with its index, and was not cut off.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.end == Some(End::Index)
    }

    /// Reads up to the first frame, and keeps packets of sound from now on. Returns the number of channels, 1 or 2;
    /// `None` if the video has no sound. Call it before the first frame.
    ///
    /// # Errors
    /// As [`Reader::next_frame`].
    pub fn begin_sound(&mut self) -> Result<Option<usize>, Error> {
        self.sound.is_kept = true;
        self.ahead = self.length()?;
        Ok(self.sound.channels.map(usize::from))
    }

    /// Returns the packets of sound that lie between the frame before the last and the last frame, or the end. In
    /// more than four minutes without a frame, the first are left out.
    pub fn take_sound(&mut self) -> impl Iterator<Item = StoredSound> + use<R> {
        self.sound.bytes = 0;
        std::mem::take(&mut self.sound.packets).into_iter()
    }

    /// Keeps the random-access frames of frames that are read from now on, for [`Reader::take_random_access`].
    pub const fn keep_random_access(&mut self) {
        self.keeps_random_access = true;
    }

    /// Returns the random-access frame that can stand for the last frame, once, if the video has one.
    pub const fn take_random_access(&mut self) -> Option<Bytes> {
        self.kept_random_access.take()
    }

    /// Returns the next frame, or the part of it that the file has; `None` after the last.
    ///
    /// # Errors
    /// The system's; [`Error::Codec`] and [`Error::Frame`] if the bytes are no frame.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, Error> {
        while self.next % self.renditions() != self.chosen as u64 {
            if self.next_record()?.is_none() {
                return Ok(None);
            }
        }
        self.next_record()
    }

    /// Returns the next frame in all renditions, by rising rate; `None` after the last frame that all of them have.
    /// Ignores [`Reader::choose`].
    ///
    /// # Errors
    /// As [`Reader::next_frame`].
    pub fn next_renditions(&mut self) -> Result<Option<Vec<Bytes>>, Error> {
        (0..self.renditions()).map(|_| self.next_record()).collect()
    }

    /// Returns the next record's frame, of any loop.
    fn next_record(&mut self) -> Result<Option<Bytes>, Error> {
        let Some(given) = self.length()? else { return Ok(None) };
        if given > most_bytes(self.header.size) {
            self.end = Some(End::Cut);
            return Err(Error::Frame { frame: self.next / self.renditions(), given });
        }
        let frame = self.take(given)?;
        let random_access = self.random_access.take();
        self.kept_random_access = random_access.clone().filter(|bytes| self.keeps_random_access && !bytes.is_empty());
        let frame = random_access.filter(|_| self.begins).unwrap_or_else(|| frame.into());
        if self.next.is_multiple_of(self.renditions()) {
            self.captured = self.stated.take();
        }
        self.next += 1;
        self.begins = self.begins && !self.next.is_multiple_of(self.renditions());
        Ok(Some(frame))
    }

    /// Reads up to the next frame, and returns its length; `None` if there is no further one.
    fn length(&mut self) -> Result<Option<u64>, Error> {
        if let Some(length) = self.ahead.take() {
            return Ok(Some(length));
        }
        while self.end.is_none() {
            match self.head()? {
                Some(RecordHead::Frame(given)) => return Ok(Some(given)),
                Some(RecordHead::Block(BlockKind::Index, _)) => self.end = Some(End::Index),
                Some(RecordHead::Block(kind, given)) => {
                    let kept = match kind {
                        BlockKind::Time => given.min(MOST_TIME),
                        BlockKind::Sound if self.sound.is_kept && given <= SoundRecord::MAX_BYTES as u64 => given,
                        BlockKind::RandomAccess if self.wants_random_access(given) => given,
                        _ => 0,
                    };
                    let body = self.take(kept)?;
                    match kind {
                        BlockKind::Time => self.stated = RecordHead::time(&body),
                        // Its bytes, or none if it stands for nothing.
                        BlockKind::RandomAccess => self.random_access = Some(body.into()),
                        // A packet that the end cuts is none.
                        BlockKind::Sound if self.end.is_none() => self.sound.handle_block(&body),
                        _ => {}
                    }
                    self.skip(given - kept)?;
                }
                None => self.end = Some(End::Cut),
            }
        }
        Ok(None)
    }

    /// Returns whether a random-access frame of this number of bytes is read.
    fn wants_random_access(&self, given: u64) -> bool {
        (self.begins || self.keeps_random_access) && given <= most_bytes(self.header.size)
    }

    /// Reads this many bytes, or those that there are.
    fn take(&mut self, given: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let Self { start, input, .. } = self;
        start.chain(input).take(given).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < given {
            self.end = Some(End::Cut);
        }
        Ok(bytes)
    }

    fn skip(&mut self, given: u64) -> Result<(), Error> {
        let Self { start, input, .. } = self;
        if io::copy(&mut start.chain(input).take(given), &mut io::sink())? < given {
            self.end = Some(End::Cut);
        }
        Ok(())
    }

    /// Reads the head of a record or a block; `None` if the video ends inside or before it.
    fn head(&mut self) -> Result<Option<RecordHead>, Error> {
        let mut bytes = Vec::new();
        let Self { start, input, .. } = self;
        let mut input = start.chain(input).bytes();
        loop {
            let Some(byte) = input.next().transpose()? else { return Ok(None) };
            bytes.push(byte);
            // After an invalid record no other can be found.
            let parsed = RecordHead::parse(&bytes).inspect_err(|_| self.end = Some(End::Cut));
            if let Some((head, _)) = parsed? {
                return Ok(Some(head));
            }
        }
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes forward to the last key frame at or before frame `frame`, as the index says. From there on a decoder
    /// shows exactly the pictures of one that began with the first frame. Stays if that key frame is not after the
    /// next frame, the input cannot seek, or there is no index. Most videos have few key frames; [`Reader::seek_near`]
    /// finds more places.
    ///
    /// # Errors
    /// The system's.
    pub fn seek(&mut self, frame: u64) -> Result<(), Error> {
        let Ok(here) = self.input.stream_position() else { return Ok(()) };
        let index = self.index()?;
        self.count = index.as_ref().map(|index| index.records);
        let record = frame.saturating_mul(self.renditions());
        match index.and_then(|index| index.key(record)).filter(|key| key[0] > self.next) {
            Some([number, at]) => self.jump(number, at),
            None => Ok(self.input.seek(SeekFrom::Start(here)).map(drop)?),
        }
    }

    /// Goes, forward or back, to the last frame at or before frame `frame` with which a decoder can begin: a key frame,
    /// or one that has a random-access frame, which then stands for it ([`Reader::begin_at`]). Goes to the first frame
    /// if there is no other. [`Writer`](super::Writer) stores a random-access frame every two seconds, and at most one
    /// in 8 frames.
    ///
    /// The pictures differ a little from those of a decoder that began earlier, and less with each frame. If you need
    /// exact pictures, use [`Reader::seek`]. This reads the head of every frame up to `frame`, and needs no index.
    ///
    /// # Errors
    /// The system's, also if the input cannot seek.
    pub fn seek_near(&mut self, frame: u64) -> Result<(), Error> {
        let mut begins = None;
        self.scan(|position| {
            if position.number == 0 || position.is_key || position.has_random_access {
                begins = Some(position);
            }
            position.number < frame
        })?;
        begins.map_or(Ok(()), |position| self.begin_at(&position))
    }

    /// Looks through the video from its first frame on, and returns where each frame is, up to the first that is cut
    /// off or damaged, and a million frames. The video must begin with the input's first byte. The next frame is the
    /// same after this call as before it, so you may call it at any time.
    ///
    /// # Errors
    /// The system's.
    pub fn positions(&mut self) -> Result<Vec<Position>, Error> {
        let mut positions = Vec::new();
        self.scan(|position| {
            positions.push(position);
            positions.len() < MOST_POSITIONS
        })?;
        Ok(positions)
    }

    /// Shows `see` the place of each frame, from the first on, until it returns false or a frame is cut off or damaged.
    /// Reads on afterwards where it was.
    fn scan(&mut self, mut see: impl FnMut(Position) -> bool) -> Result<(), Error> {
        let here = self.input.stream_position()?;
        let end = self.input.seek(SeekFrom::End(0))?;
        let mut scan = Reader::begin(self.header, self.first, Cursor::default(), self.input.get_mut());
        let outcome = scan.jump(0, self.first).and_then(|()| {
            while scan.pass(end)?.is_some_and(&mut see) {}
            Ok(())
        });
        self.input.seek(SeekFrom::Start(here))?;
        outcome
    }

    /// Passes the records of a frame, and returns its place; `None` if the first of them is cut off or damaged. The
    /// input has `end` bytes.
    fn pass(&mut self, end: u64) -> Result<Option<Position>, Error> {
        let blocks = self.input.stream_position()?;
        let Some(mut position) = self.pass_record(blocks, end)? else { return Ok(None) };
        position.captured = self.stated.take();
        while !self.next.is_multiple_of(self.renditions())
            && let Some(other) = self.pass_record(blocks, end)?
        {
            position.renews &= other.renews;
            position.has_random_access &= other.has_random_access;
        }
        Ok(Some(position))
    }

    /// Passes a record, and returns its place without a time; `None` if it is cut off or damaged.
    fn pass_record(&mut self, blocks: u64, end: u64) -> Result<Option<Position>, Error> {
        let length = match self.length() {
            Ok(Some(length)) => length,
            Ok(None) | Err(Error::Codec(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let at = self.input.stream_position()?;
        let Some(step) = i64::try_from(length).ok().filter(|_| length <= end.saturating_sub(at)) else {
            self.end = Some(End::Cut);
            return Ok(None);
        };
        let mut head = Vec::new();
        self.input.by_ref().take(length.min(FrameHead::MAX_BYTES as u64)).read_to_end(&mut head)?;
        self.input.seek_relative(step - i64::try_from(head.len()).unwrap_or_default())?;
        let head = FrameHead::parse(&head).ok().flatten();
        let [is_key, renews] = head.map_or([false; 2], |head| [head.key, head.key || head.renews]);
        let (number, has_random_access) = (self.next / self.renditions(), self.random_access.take().is_some());
        self.next += 1;
        Ok(Some(Position { number, captured: None, is_key, renews, has_random_access, blocks, at, length }))
    }

    /// Goes to the frame at a place in this video.
    ///
    /// # Errors
    /// The system's.
    pub fn go_to(&mut self, position: &Position) -> Result<(), Error> {
        self.jump(position.number.saturating_mul(self.renditions()), position.at)?;
        (self.stated, self.ahead) = (position.captured, Some(position.length));
        Ok(())
    }

    /// Goes to the frame at a place in this video. If it has a random-access frame, [`Reader::next_frame`] returns that
    /// in place of it, and a decoder can begin there.
    ///
    /// # Errors
    /// The system's.
    pub fn begin_at(&mut self, position: &Position) -> Result<(), Error> {
        self.jump(position.number.saturating_mul(self.renditions()), position.blocks)?;
        (self.stated, self.begins) = (position.captured, true);
        Ok(())
    }

    /// Goes to the byte `at`, where record `next` or a block before it begins, and forgets what was read before.
    fn jump(&mut self, next: u64, at: u64) -> Result<(), Error> {
        self.input.seek(SeekFrom::Start(at))?;
        self.start = Cursor::default();
        (self.next, self.captured, self.stated, self.ahead) = (next, None, None, None);
        (self.begins, self.random_access, self.kept_random_access, self.end) = (false, None, None, None);
        self.sound.packets.clear();
        self.sound.bytes = 0;
        Ok(())
    }

    /// Reads the index at the end, if there is one.
    fn index(&mut self) -> Result<Option<VideoIndex>, Error> {
        let length = self.input.seek(SeekFrom::End(0))?;
        let mut tail = [0; VideoIndex::INDEX_TAIL_BYTES];
        let Some(at) = length.checked_sub(VideoIndex::INDEX_TAIL_BYTES as u64) else { return Ok(None) };
        self.input.seek(SeekFrom::Start(at))?;
        self.input.read_exact(&mut tail)?;
        let length = VideoIndex::length(&tail).map(|length| length as u64).filter(|length| *length <= MOST_INDEX);
        let Some((begin, length)) = length.and_then(|length| Some((at.checked_sub(length)?, length))) else {
            return Ok(None);
        };
        let mut index = Vec::new();
        self.input.seek(SeekFrom::Start(begin))?;
        self.input.by_ref().take(length).read_to_end(&mut index)?;
        Ok(VideoIndex::parse(&index))
    }
}

/// Returns more bytes than any frame of this size has.
pub(super) fn most_bytes(size: Size) -> u64 {
    size.pixels() as u64 * MOST_PIXEL_BYTES + MOST_BYTES
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Display, FrameRate, ModelId, RenditionRates, VideoWriter, Ycbcr};

    use super::*;

    const FRAMES: [&[u8]; 4] = [b"key", b"", &[7; 300], b"key too"];

    fn stored() -> Vec<u8> {
        stored_in(RenditionRates::ONE)
    }

    /// Returns [`FRAMES`] as records of several loops.
    fn stored_in(renditions: RenditionRates) -> Vec<u8> {
        let size = Size::new(320, 240).expect("a valid size");
        let rate = FrameRate::new(30_000, 1001).expect("a rate");
        let header = VideoHeader {
            size,
            rate,
            colours: Ycbcr::BT601,
            bits: 8,
            display: Display::default(),
            models: [ModelId([1; 6]), ModelId([2; 6])],
            renditions,
        };
        let (mut writer, mut bytes) = VideoWriter::new(&header);
        for (number, frame) in FRAMES.iter().enumerate() {
            let record = writer.frame(frame, number % 3 == 0 && number % renditions.count() == 0);
            assert_eq!(record.len(), RecordHead::bytes_of_frame(frame.len()) + frame.len());
            bytes.extend(record);
        }
        bytes.extend(writer.finish());
        bytes
    }

    fn frames<R: Read>(reader: &mut Reader<R>) -> Vec<Bytes> {
        std::iter::from_fn(|| reader.next_frame().expect("a frame")).collect()
    }

    #[test]
    fn frames_come_one_by_one_and_a_seek_finds_the_key_before() {
        let mut reader = Reader::new(Cursor::new(stored()), 320 * 240).expect("a video");
        assert_eq!(frames(&mut reader), FRAMES);
        assert!(reader.is_whole() && reader.next_number() == 4);
        for (frame, first) in [(0, 0), (2, 0), (3, 3), (99, 3)] {
            let mut reader = Reader::new(Cursor::new(stored()), 320 * 240).expect("a video");
            reader.seek(frame).expect("it can");
            assert_eq!((reader.next_number(), reader.count()), (first as u64, Some(4)));
            assert_eq!(frames(&mut reader), FRAMES[first..]);
        }
    }

    #[test]
    fn every_frame_has_a_place_to_go_to_and_one_that_is_cut_off_has_none() {
        for (renditions, count) in [
            (RenditionRates::ONE, 4),
            (RenditionRates::new(&[50_000, 400_000].map(Bitrate::from_bits)).expect("they rise"), 2),
        ] {
            let bytes = stored_in(renditions);
            let reader = |length: usize| Reader::new(Cursor::new(&bytes[..length]), u64::MAX).expect("a video");
            let positions = reader(bytes.len()).positions().expect("it seeks");
            assert_eq!(positions.iter().map(|place| place.number).collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());
            for place in &positions {
                let mut reader = reader(bytes.len());
                reader.go_to(place).expect("it seeks");
                let first = usize::try_from(place.number).expect("few") * renditions.count();
                let all = reader.next_renditions().expect("a frame").expect("it is there");
                assert_eq!(all, FRAMES[first..first + renditions.count()]);
            }
            // Inside the last frame, whose index has 12 bytes or more.
            assert!(reader(bytes.len() - 20).positions().expect("it seeks").len() <= positions.len());
        }
    }

    /// Returns a video of two renditions with times, sound and random-access frames, whose frames consist of their
    /// number.
    fn ten_frames() -> Vec<u8> {
        let renditions = RenditionRates::new(&[50_000, 400_000].map(Bitrate::from_bits)).expect("they rise");
        let header = VideoHeader { renditions, ..*Reader::new(&stored()[..], u64::MAX).expect("a video").header() };
        let (mut writer, mut bytes) = VideoWriter::new(&header);
        bytes.extend(writer.sound(&SoundRecord { channels: 1, packet: None }));
        for number in 0..10 {
            bytes.extend(writer.sound(&SoundRecord { channels: 1, packet: Some((number.into(), b"packet")) }));
            writer.captured(number.into());
            for _ in 0..2 {
                writer.random_access(b"begins");
                bytes.extend(writer.frame(&[number; 90], false));
            }
        }
        bytes.extend(writer.finish());
        bytes
    }

    #[test]
    fn positions_are_the_same_at_any_time_and_change_nothing_that_is_read_after_them() {
        let video = ten_frames();
        let reader = || Reader::new(Cursor::new(&video), u64::MAX).expect("a video");
        let expected = reader().positions().expect("it seeks");
        assert_eq!(expected.len(), 10);
        for asked in 0..=11 {
            let mut reader = reader();
            assert_eq!(reader.begin_sound().expect("whole"), Some(1));
            let mut read = Vec::new();
            for number in 0..=11 {
                if number == asked {
                    assert_eq!(reader.positions().expect("it seeks"), expected);
                    assert_eq!(reader.positions().expect("it seeks"), expected);
                }
                let Some(frame) = reader.next_frame().expect("whole") else { continue };
                read.push((frame[0], frame.len(), reader.captured(), reader.take_sound().count()));
            }
            let whole: Vec<_> = (0..10).map(|number| (number, 90, Some(number.into()), 1)).collect();
            assert_eq!((read, reader.is_whole()), (whole, true), "asked before frame {asked}");
        }
        let mut reader = reader();
        for place in expected.iter().rev() {
            reader.begin_at(place).expect("it seeks");
            assert_eq!(reader.positions().expect("it seeks"), expected);
            assert_eq!(reader.next_frame().expect("whole").as_deref(), Some(&b"begins"[..]));
            assert_eq!(reader.captured(), Some(place.number));
        }
    }

    #[test]
    fn the_place_of_a_frame_that_lacks_a_random_access_frame_in_one_rendition_says_so() {
        let header = *Reader::new(&ten_frames()[..], u64::MAX).expect("a video").header();
        let (mut writer, mut bytes) = VideoWriter::new(&header);
        for has_one in [[true, true], [true, false], [false, true], [false, false]] {
            for has_one in has_one {
                has_one.then(|| writer.random_access(b"begins"));
                bytes.extend(writer.frame(b"frame", false));
            }
        }
        let positions = Reader::new(Cursor::new(&bytes), u64::MAX).expect("a video").positions().expect("it seeks");
        let has_one: Vec<_> = positions.iter().map(Position::has_random_access).collect();
        assert_eq!(has_one, [true, false, false, false]);
    }

    #[test]
    fn capture_times_come_with_frames_and_what_is_unknown_is_skipped() {
        let renditions = RenditionRates::new(&[50_000, 400_000].map(Bitrate::from_bits)).expect("they rise");
        let header = VideoHeader { renditions, ..*Reader::new(&stored()[..], u64::MAX).expect("a video").header() };
        let (mut writer, mut bytes) = VideoWriter::new(&header);
        for (number, time) in [Some(5), None, Some(3)].into_iter().enumerate() {
            // A block of a type that this build does not know.
            bytes.extend([0, 0x7F, 0x80, 0x01].into_iter().chain([7; 128]));
            time.into_iter().for_each(|time| writer.captured(time));
            for rendition in [10, 20] {
                bytes.extend(writer.frame(&[rendition + u8::try_from(number).expect("few")], false));
            }
        }
        let frames = |mut reader: Reader<Cursor<&[u8]>>| {
            let mut frames = Vec::new();
            while let Some(frame) = reader.next_frame().expect("a frame") {
                frames.push((frame[0], reader.captured()));
            }
            frames
        };
        let reader = || Reader::new(Cursor::new(&bytes[..]), u64::MAX).expect("a video");
        assert_eq!(frames(reader()), [(20, Some(5)), (21, None), (22, Some(3))]);
        let mut all = reader();
        let both = all.next_renditions().expect("a frame").expect("the first");
        assert_eq!((both, all.captured()), (vec![Bytes::from_static(&[10]), Bytes::from_static(&[20])], Some(5)));
        for cut in 0..bytes.len() {
            let Ok(mut reader) = Reader::new(Cursor::new(&bytes[..cut]), u64::MAX) else { continue };
            while reader.next_renditions().expect("only short").is_some() {}
            assert!(!reader.is_whole(), "{cut}");
        }
    }

    #[test]
    fn of_several_loops_one_is_read() {
        let bytes = stored_in(RenditionRates::new(&[50_000, 400_000].map(Bitrate::from_bits)).expect("they rise"));
        for (rate, chosen) in [(None, 1), (Some(1_000_000), 1), (Some(60_000), 0)] {
            let mut reader = Reader::new(Cursor::new(&bytes), u64::MAX).expect("a video");
            if let Some(rate) = rate {
                reader.choose(Bitrate::from_bits(rate));
            }
            reader.seek(1).expect("it can");
            assert_eq!((reader.chosen(), reader.next_number(), reader.count()), (chosen, 0, Some(2)));
            assert_eq!(reader.next_frame().expect("a frame").expect("the first"), FRAMES[chosen]);
            assert_eq!(reader.next_number(), 1, "the other loop's record of it does not count");
            assert_eq!(frames(&mut reader), [FRAMES[2 + chosen]]);
            assert_eq!((reader.next_number(), reader.is_whole()), (2, true));
        }
    }

    #[test]
    fn every_prefix_is_a_video_of_fewer_frames_that_knows_it() {
        let bytes = stored();
        let (_, first) = VideoHeader::parse(&bytes).expect("a header");
        let last = first + FRAMES.iter().map(|frame| frame.len() + 1).sum::<usize>() + 1;
        for cut in 0..bytes.len() {
            let reader = Reader::new(Cursor::new(&bytes[..cut]), u64::MAX);
            assert_eq!(reader.is_ok(), cut >= first, "{cut}");
            let Ok(mut reader) = reader else { continue };
            reader.seek(3).expect("it stays");
            assert_eq!((reader.next_number(), reader.count()), (0, None));
            let read = frames(&mut reader);
            assert!(read.iter().zip(FRAMES).all(|(read, frame)| frame.starts_with(read)), "{cut}");
            // The index begins with three bytes.
            assert_eq!(reader.is_whole(), cut >= last + 3, "{cut}");
        }
    }

    #[test]
    fn sizes_are_refused_before_memory_is_taken() {
        let bytes = stored();
        assert!(matches!(Reader::new(&bytes[..], 1000), Err(Error::Limit { given: 76_800, max: 1000 })));
        assert!(matches!(Reader::new(&[][..], 1000), Err(Error::Empty)));
        let (_, first) = VideoHeader::parse(&bytes).expect("a header");
        let endless = (&bytes[..first]).chain(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F][..]).chain(io::repeat(0));
        let mut reader = Reader::new(endless, u64::MAX).expect("a header");
        assert!(matches!(reader.next_frame(), Err(Error::Frame { frame: 0, .. })));
        let wrong = (&bytes[..first]).chain(io::repeat(0xFF));
        let mut reader = Reader::new(wrong, u64::MAX).expect("a header");
        assert!(matches!(reader.next_frame(), Err(Error::Codec(_))));
    }
}
