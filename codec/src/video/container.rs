//! A stored video: a header, frames one after another, an index (spec, "Stored video"). Between frames there may be
//! blocks, for example of capture times; readers skip those that they do not know.
//!
//! A prefix of a stored video is a stored video with fewer frames, the last of which may be cut. Single frames may be
//! cut too. A video of several renditions has one record for each rendition of every frame, the slowest rendition's
//! first.

use bytes::Bytes;
use nestcast_units::{Bitrate, FrameRate, FrameRateError};

use crate::error::{Error, ModelId, Quantity};
use crate::picture::{MAX_SIDE, Size, Ycbcr};
use crate::stream::header::STREAM_MAGIC;
use crate::video::display::Display;
use crate::video::rendition_rates::{MAX_RENDITIONS, RenditionRates};
use crate::video::sound_block::SoundRecord;

/// The version of stored videos; streams of pictures have another one.
const VIDEO_VERSION: u8 = 1;
/// The version of stored videos of more than 8 bits a sample.
const DEEP_VERSION: u8 = 2;
/// The bits of a sample in version 1, and the most that version 2 states.
const USUAL_BITS: u8 = 8;
const MAX_BITS: u8 = 16;
/// The kind of content; streams of pictures have 0 or 1 in its place.
const VIDEO_KIND: u8 = 2;
/// The kind of a video of several renditions.
const RENDITIONS_KIND: u8 = 3;
/// The numbers of the types of blocks. A reader skips a block of any other type.
const INDEX_BLOCK: u64 = 0;
const TIME_BLOCK: u64 = 1;
const SOUND_BLOCK: u64 = 2;
const RANDOM_ACCESS_BLOCK: u64 = 3;
/// Bytes of a time.
const TIME_BYTES: usize = 8;
/// The bytes that end a stored video, after its index.
const INDEX_MAGIC: [u8; 4] = *b"nsti";
/// The maximum bytes of a number, which is below 2^35.
const MAX_VARINT: usize = 5;

fn corrupt(why: &'static str) -> Error {
    Error::Corrupt { what: "video", why }
}

/// The facts that a decoder needs before the first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoHeader {
    /// Width and height of every frame.
    pub size: Size,
    /// Frames a second.
    pub rate: FrameRate,
    /// What samples mean.
    pub colours: Ycbcr,
    /// Bits of a sample in the source, 8..=16. Decoding does not depend on it: a program that writes frames gives them
    /// this many bits.
    pub bits: u8,
    /// How frames are to be shown.
    pub display: Display,
    /// Tables of frames predicted from nothing, and of residuals.
    pub models: [ModelId; 2],
    /// The number of renditions, and the receivers that each serves.
    pub renditions: RenditionRates,
}

impl VideoHeader {
    /// Bytes that a header takes at most.
    pub const MAX_BYTES: usize =
        STREAM_MAGIC.len() + 3 + 4 * MAX_VARINT + 12 + 1 + (MAX_RENDITIONS + 2) * MAX_VARINT + 1;

    /// Returns whether bytes begin as a stored video, not as a picture's stream.
    #[must_use]
    pub fn is_video(bytes: &[u8]) -> bool {
        bytes.len() > STREAM_MAGIC.len() + 1
            && bytes.starts_with(&STREAM_MAGIC)
            && [VIDEO_KIND, RENDITIONS_KIND].contains(&bytes[STREAM_MAGIC.len() + 1])
    }

    /// Returns the header's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = STREAM_MAGIC.to_vec();
        let several = self.renditions.count() > 1;
        let kind = if several { RENDITIONS_KIND } else { VIDEO_KIND };
        let deep = self.bits > USUAL_BITS;
        let version = if deep { DEEP_VERSION } else { VIDEO_VERSION };
        out.extend([version, kind, self.display.signal(self.colours)]);
        let sides = [self.size.width() - 1, self.size.height() - 1];
        sides.into_iter().for_each(|side| write_varint(&mut out, side as u64));
        [self.rate.frames(), self.rate.seconds()].into_iter().for_each(|part| write_varint(&mut out, part.into()));
        out.extend(self.models.iter().flat_map(|model| model.0));
        if several {
            out.extend([self.renditions.count().to_le_bytes()[0]]);
            self.renditions.rates().iter().for_each(|rate| write_varint(&mut out, rate.bits()));
        }
        if !self.display.is_square() {
            self.display.aspect.iter().for_each(|side| write_varint(&mut out, u64::from(*side)));
        }
        if deep {
            out.push(self.bits.min(MAX_BITS) - USUAL_BITS);
        }
        out
    }

    /// Reads a header and returns it with its length in bytes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is no stored video, or its header is cut; [`Error::Version`] or [`Error::Limit`] if
    /// this build cannot read it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let mut rest = bytes;
        let short = corrupt("it ends inside its header");
        let fixed = rest.split_off(..STREAM_MAGIC.len() + 3).ok_or(short)?;
        if fixed[..STREAM_MAGIC.len()] != STREAM_MAGIC {
            return Err(corrupt("it does not begin with \"nst\", so it is no nestcast video"));
        }
        if ![VIDEO_VERSION, DEEP_VERSION].contains(&fixed[3]) {
            return Err(Error::Version { what: "video", version: fixed[3], known: DEEP_VERSION });
        }
        if ![VIDEO_KIND, RENDITIONS_KIND].contains(&fixed[4]) {
            return Err(corrupt("it is no video, but a picture"));
        }
        let signal = Display::of_signal(fixed[5]);
        let (colours, mut display) = signal.ok_or(corrupt("what it says of its samples is reserved"))?;
        let mut number = || varint(&mut rest)?.ok_or(short);
        let [width, height] = [number()?, number()?].map(|side| u32::try_from(side + 1).unwrap_or(MAX_SIDE + 1));
        let rate = read_rate(number()?, number()?)?;
        let models = [rest.split_off(..6), rest.split_off(..6)].map(|id| id.and_then(|id| id.try_into().ok()));
        let [Some(key), Some(residual)] = models else { return Err(short) };
        let renditions =
            if fixed[4] == VIDEO_KIND { RenditionRates::ONE } else { read_renditions(&mut rest)?.ok_or(short)? };
        if fixed[5] & Display::ASPECT_BIT != 0 {
            let mut side = || varint(&mut rest)?.ok_or(short);
            display.aspect = [side()?, side()?].map(|side| u16::try_from(side).unwrap_or(0));
            if display.aspect.contains(&0) || display.is_square() {
                return Err(corrupt("the aspect of its pixels is out of range"));
            }
        }
        let bits = if fixed[3] == DEEP_VERSION { read_bits(&mut rest)?.ok_or(short)? } else { USUAL_BITS };
        let size = Size::new(width, height)?;
        let header = Self { size, rate, colours, bits, display, models: [ModelId(key), ModelId(residual)], renditions };
        Ok((header, bytes.len() - rest.len()))
    }
}

/// Reads the frame rate of a header. The format allows more than a [`FrameRate`]: that is over this build's limit, not
/// corrupt.
fn read_rate(frames: u64, seconds: u64) -> Result<FrameRate, Error> {
    let [Ok(frames), Ok(seconds)] = [frames, seconds].map(u32::try_from) else {
        return Err(corrupt("its frame rate is no fraction of positive numbers below 2^32"));
    };
    if frames == 0 || seconds == 0 {
        return Err(corrupt("its frame rate is no fraction of positive numbers below 2^32"));
    }
    FrameRate::new(frames, seconds).map_err(|error| match error {
        FrameRateError::TooFast => {
            let given = u64::from(frames / seconds);
            Error::Limit { what: Quantity::FramesPerSecond, given, max: FrameRate::MAX_PER_SECOND.into() }
        }
        _ => {
            let given = frames.max(seconds).into();
            Error::Limit { what: Quantity::FrameRateTerm, given, max: FrameRate::MAX_TERM.into() }
        }
    })
}

/// Reads the bits of samples of more than 8; `None` if the bytes end before them.
fn read_bits(bytes: &mut &[u8]) -> Result<Option<u8>, Error> {
    let Some(beyond) = bytes.split_off_first() else { return Ok(None) };
    if !(1..=MAX_BITS - USUAL_BITS).contains(beyond) {
        return Err(corrupt("what it says of its samples is reserved"));
    }
    Ok(Some(USUAL_BITS + beyond))
}

/// Reads the number and rates of several renditions; `None` if the bytes end in them.
fn read_renditions(bytes: &mut &[u8]) -> Result<Option<RenditionRates>, Error> {
    let Some(count) = bytes.split_off_first() else { return Ok(None) };
    let count = usize::from(*count);
    if !(2..=MAX_RENDITIONS).contains(&count) {
        return Err(corrupt("its number of renditions is neither 2 nor 3"));
    }
    let mut rates = [Bitrate::default(); MAX_RENDITIONS];
    for rate in &mut rates[..count] {
        let Some(number) = varint(bytes)? else { return Ok(None) };
        *rate = Bitrate::from_bits(number);
    }
    RenditionRates::new(&rates[..count]).map(Some).ok_or(corrupt("the rates of its renditions do not rise"))
}

/// Writes a stored video in pieces: the caller writes the bytes of each call, one after the other.
#[derive(Debug)]
pub struct VideoWriter {
    /// Bytes returned so far.
    length: u64,
    /// Records so far.
    records: u64,
    /// Records where a decoder can begin: their number and first byte.
    keys: Vec<[u64; 2]>,
    /// The blocks that the next record follows.
    blocks: Vec<u8>,
}

impl VideoWriter {
    /// Begins a video; returns the header's bytes, which come first.
    #[must_use]
    pub fn new(header: &VideoHeader) -> (Self, Vec<u8>) {
        let bytes = header.to_bytes();
        (Self { length: bytes.len() as u64, records: 0, keys: Vec::new(), blocks: Vec::new() }, bytes)
    }

    /// States when the next frame was captured, in microseconds since 1970-01-01 UTC. In a video of several renditions
    /// it holds for all records of the frame; call it before the first.
    pub fn captured(&mut self, micros: u64) {
        self.blocks = block(TIME_BLOCK, &micros.to_le_bytes());
    }

    /// States a random-access frame that stands for the next record's frame at a decoder that begins with it. Call it
    /// after [`VideoWriter::captured`].
    pub fn random_access(&mut self, frame: &[u8]) {
        self.blocks.extend(block(RANDOM_ACCESS_BLOCK, frame));
    }

    /// Returns a block of sound, which is part of no frame: its time is its own. Blocks of sound are in order.
    #[must_use]
    pub fn sound(&mut self, sound: &SoundRecord<'_>) -> Vec<u8> {
        let mut body = vec![sound.channels];
        if let Some((captured, packet)) = sound.packet {
            body.extend(captured.to_le_bytes());
            body.extend_from_slice(packet);
        }
        let out = block(SOUND_BLOCK, &body);
        self.length += out.len() as u64;
        out
    }

    /// Returns the record of the next frame, or of a prefix of it; `key`: a decoder can begin with it. In a video of
    /// several renditions a frame has a record for each, by rising rate; only the first can be a key.
    #[must_use]
    pub fn frame(&mut self, frame: &[u8], key: bool) -> Vec<u8> {
        if key {
            self.keys.push([self.records, self.length]);
        }
        self.records += 1;
        let mut out = std::mem::take(&mut self.blocks);
        out.reserve(frame.len() + MAX_VARINT);
        write_varint(&mut out, frame.len() as u64 + 1);
        out.extend_from_slice(frame);
        self.length += out.len() as u64;
        out
    }

    /// Returns the index, which ends the video.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut index = Vec::new();
        write_varint(&mut index, self.records);
        write_varint(&mut index, self.keys.len() as u64);
        let mut before = [0; 2];
        for key in &self.keys {
            for (now, before) in key.iter().zip(before) {
                write_varint(&mut index, now - before);
            }
            before = *key;
        }
        // The length counts the block's head, which is before the numbers, and not itself.
        let body = index.len() + VideoIndex::INDEX_TAIL_BYTES;
        let mut out = block_head(INDEX_BLOCK, body);
        out.extend(index);
        let length = u32::try_from(out.len()).unwrap_or(u32::MAX);
        out.extend(length.to_le_bytes());
        out.extend(INDEX_MAGIC);
        out
    }
}

/// Returns a block of this type.
fn block(kind: u64, body: &[u8]) -> Vec<u8> {
    let mut out = block_head(kind, body.len());
    out.extend(body);
    out
}

/// Returns the first bytes of a block of this type, with a body of `length` bytes.
fn block_head(kind: u64, length: usize) -> Vec<u8> {
    let mut out = vec![0];
    write_varint(&mut out, kind);
    write_varint(&mut out, length as u64);
    out
}

/// The first bytes of a record or of a block of a stored video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordHead {
    /// A frame of this many bytes follows.
    Frame(u64),
    /// A block with a body of this many bytes follows.
    Block(BlockKind, u64),
}

/// What a block of a stored video contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// The index: there are no more frames.
    Index,
    /// The capture time of the next frame, see [`RecordHead::time`].
    Time,
    /// A packet of sound, or the statement that there is sound, see [`SoundRecord::parse`].
    Sound,
    /// A random-access frame: it stands for the next frame at a decoder that begins with it.
    RandomAccess,
    /// Something that this build does not know: a reader skips it.
    Unknown,
}

impl RecordHead {
    /// The maximum length of a frame's record head in bytes.
    const MAX_BYTES: usize = MAX_VARINT;

    /// Reads the head of a record or of a block, and returns it with its length in bytes; `None` if the bytes end in
    /// it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a number has more than five bytes.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let mut rest = bytes;
        let Some(length) = varint(&mut rest)? else { return Ok(None) };
        let head = if let Some(frame) = length.checked_sub(1) {
            Self::Frame(frame)
        } else {
            let Some(kind) = varint(&mut rest)? else { return Ok(None) };
            let Some(body) = varint(&mut rest)? else { return Ok(None) };
            let kind = match kind {
                INDEX_BLOCK => BlockKind::Index,
                TIME_BLOCK => BlockKind::Time,
                SOUND_BLOCK => BlockKind::Sound,
                RANDOM_ACCESS_BLOCK => BlockKind::RandomAccess,
                _ => BlockKind::Unknown,
            };
            Self::Block(kind, body)
        };
        Ok(Some((head, bytes.len() - rest.len())))
    }

    /// Reads the body of a block of time: microseconds since 1970-01-01 UTC. Returns `None` if the body is too short;
    /// bytes after the time are for later versions.
    #[must_use]
    pub fn time(body: &[u8]) -> Option<u64> {
        body.first_chunk::<TIME_BYTES>().map(|micros| u64::from_le_bytes(*micros))
    }

    /// Returns the length of a record's head for a frame of `frame` bytes.
    #[must_use]
    pub fn bytes_of_frame(frame: usize) -> usize {
        // Each byte has seven bits of the length.
        let length = frame as u64 + 1;
        ((u64::BITS - length.leading_zeros()).div_ceil(7) as usize).min(Self::MAX_BYTES)
    }
}

/// The index of a stored video: where a decoder may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoIndex {
    /// Number of records: frames times renditions.
    pub records: u64,
    /// The records with which a decoder can begin, in order: their number and first byte.
    keys: Vec<[u64; 2]>,
}

impl VideoIndex {
    /// Bytes at the end of a stored video that contain the length of its index.
    pub const INDEX_TAIL_BYTES: usize = 4 + INDEX_MAGIC.len();

    /// Returns the length in bytes of the index before its tail; `None` if a video with this end has no index.
    #[must_use]
    pub fn length(end: &[u8]) -> Option<usize> {
        let length = end.strip_suffix(&INDEX_MAGIC)?.last_chunk()?;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    /// Reads the bytes before the tail; `None` if they are no index.
    #[must_use]
    pub fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut number = || varint(&mut bytes).ok().flatten();
        let head = [number()?, number()?];
        let _body = number()?;
        if head != [0, INDEX_BLOCK] {
            return None;
        }
        let records = number()?;
        let count = number()?;
        let mut keys = Vec::new();
        let mut key = [0_u64; 2];
        for _ in 0..count {
            // There are at most as many keys as bytes: memory grows one key at a time.
            key = [key[0].checked_add(number()?)?, key[1].checked_add(number()?)?];
            keys.push(key);
        }
        Some(Self { records, keys })
    }

    /// Returns the last record at or before this one with which a decoder can begin, and its first byte.
    #[must_use]
    pub fn key(&self, record: u64) -> Option<[u64; 2]> {
        self.keys.iter().take_while(|key| key[0] <= record).last().copied()
    }
}

/// A stored video, or a prefix of one, in memory.
#[derive(Debug, Clone)]
pub struct VideoFile {
    header: VideoHeader,
    bytes: Bytes,
    /// Where the next record begins.
    at: usize,
    /// The number of the next record.
    next: u64,
    /// The capture time of the last frame, and the one that a block states for the next.
    captured: Option<u64>,
    stated: Option<u64>,
}

impl VideoFile {
    /// Reads the header.
    ///
    /// # Errors
    /// As [`VideoHeader::parse`].
    pub fn new(bytes: Bytes) -> Result<Self, Error> {
        let (header, at) = VideoHeader::parse(&bytes)?;
        Ok(Self { header, bytes, at, next: 0, captured: None, stated: None })
    }

    /// Returns the header.
    #[must_use]
    pub const fn header(&self) -> &VideoHeader {
        &self.header
    }

    /// Returns the frame of the next record, as far as its bytes go; `None` after the last. Records are in order of
    /// frames, and for each frame in order of rising rate. Skips blocks.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a number has more than five bytes.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, Error> {
        while let Some((head, length)) = RecordHead::parse(&self.bytes[self.at..])? {
            let start = self.at + length;
            let (RecordHead::Frame(body) | RecordHead::Block(_, body)) = head;
            // `body` is up to 2^35, which may be more than a `usize` holds.
            let end = usize::try_from(body).map_or(usize::MAX, |body| start.saturating_add(body)).min(self.bytes.len());
            match head {
                RecordHead::Block(BlockKind::Index, _) => break,
                RecordHead::Block(BlockKind::Time, _) => self.stated = RecordHead::time(&self.bytes[start..end]),
                RecordHead::Block(BlockKind::Sound | BlockKind::RandomAccess | BlockKind::Unknown, _) => {}
                RecordHead::Frame(_) => {
                    if self.next.is_multiple_of(self.header.renditions.count() as u64) {
                        self.captured = self.stated.take();
                    }
                    (self.at, self.next) = (end, self.next + 1);
                    return Ok(Some(self.bytes.slice(start..end)));
                }
            }
            self.at = end;
        }
        Ok(None)
    }

    /// Returns when the last frame was captured, in microseconds since 1970-01-01 UTC, if the video says so.
    #[must_use]
    pub const fn captured(&self) -> Option<u64> {
        self.captured
    }

    /// Goes to the last record at or before this one with which a decoder can begin, and returns its number. Without an
    /// index it goes to the first record.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the index points past the end.
    pub fn seek(&mut self, record: u64) -> Result<u64, Error> {
        let (_, first) = VideoHeader::parse(&self.bytes)?;
        let [number, at] = self.index().and_then(|index| index.key(record)).unwrap_or([0, first as u64]);
        self.at =
            usize::try_from(at).ok().filter(|at| *at <= self.bytes.len()).ok_or(corrupt("its index leads nowhere"))?;
        (self.next, self.captured, self.stated) = (number, None, None);
        Ok(number)
    }

    /// Returns the index, if there is one.
    fn index(&self) -> Option<VideoIndex> {
        let body = &self.bytes[..self.bytes.len().checked_sub(VideoIndex::INDEX_TAIL_BYTES)?];
        let length = VideoIndex::length(&self.bytes)?;
        VideoIndex::parse(&body[body.len().checked_sub(length)?..])
    }
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Reads a number; `None` if the bytes end in it.
fn varint(bytes: &mut &[u8]) -> Result<Option<u64>, Error> {
    let mut value = 0;
    for at in 0..MAX_VARINT {
        let Some(byte) = bytes.split_off_first() else { return Ok(None) };
        value |= u64::from(byte & 0x7F) << (7 * at);
        if *byte < 0x80 {
            return Ok(Some(value));
        }
    }
    Err(corrupt("a number takes more than five bytes"))
}

#[cfg(test)]
mod tests;
