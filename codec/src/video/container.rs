//! A stored video: a header, frames one after another, an index (spec, "Stored video").
//!
//! A prefix of a stored video is one of fewer frames, the last of which may be cut. Frames may be cut one by one too. A
//! video of several loops has a record of each loop for every frame, the slowest loop's first.

use bytes::Bytes;

use crate::error::{Error, ModelId};
use crate::picture::{MAX_SIDE, Size, Ycbcr};
use crate::stream::header::MAGIC;
use crate::video::display::Display;
use crate::video::loop_rates::{LoopRates, MAX_LOOPS};
use crate::video::population::FrameRate;

/// The version of stored videos and of their frames; streams of pictures have one of their own.
const VERSION: u8 = 1;
/// The kind of content, where streams of pictures have 0 or 1.
const KIND: u8 = 2;
/// The kind of a video of several loops.
const KIND_OF_LOOPS: u8 = 3;
/// What a stored video ends with, behind its index.
const INDEX_MAGIC: [u8; 4] = *b"nsti";
/// Bytes of a number: below 2^35.
const MAX_VARINT: usize = 5;

fn corrupt(why: &'static str) -> Error {
    Error::Corrupt { what: "video", why }
}

/// What must be known before the first frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoHeader {
    /// Width and height of every frame.
    pub size: Size,
    /// Frames a second.
    pub rate: FrameRate,
    /// What samples mean.
    pub colours: Ycbcr,
    /// How frames are to be shown.
    pub display: Display,
    /// Tables of frames predicted from nothing, and of residuals.
    pub models: [ModelId; 2],
    /// How many loops there are, and for whom each is.
    pub loops: LoopRates,
}

impl VideoHeader {
    /// Bytes that a header takes at most.
    pub const MAX_BYTES: usize = MAGIC.len() + 3 + 4 * MAX_VARINT + 12 + 1 + (MAX_LOOPS + 2) * MAX_VARINT;

    /// Whether bytes begin like a stored video, and not like a picture's stream.
    #[must_use]
    pub fn is_video(bytes: &[u8]) -> bool {
        bytes.len() > MAGIC.len() + 1
            && bytes.starts_with(&MAGIC)
            && [KIND, KIND_OF_LOOPS].contains(&bytes[MAGIC.len() + 1])
    }

    /// The header's bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        let several = self.loops.count() > 1;
        let kind = if several { KIND_OF_LOOPS } else { KIND };
        out.extend([VERSION, kind, self.display.signal(self.colours)]);
        let sides = [self.size.width() - 1, self.size.height() - 1];
        sides.into_iter().for_each(|side| write_varint(&mut out, side as u64));
        [self.rate.frames, self.rate.seconds].into_iter().for_each(|part| write_varint(&mut out, part.into()));
        out.extend(self.models.iter().flat_map(|model| model.0));
        if several {
            out.extend([self.loops.count().to_le_bytes()[0]]);
            self.loops.rates().iter().for_each(|rate| write_varint(&mut out, *rate));
        }
        if !self.display.is_square() {
            self.display.aspect.iter().for_each(|side| write_varint(&mut out, u64::from(*side)));
        }
        out
    }

    /// Reads a header, and says how many bytes it takes.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if this is no stored video, or its header is cut; [`Error::Version`], [`Error::Limit`] by what
    /// it says.
    pub fn parse(bytes: &[u8]) -> Result<(Self, usize), Error> {
        let mut rest = bytes;
        let short = corrupt("it ends inside its header");
        let fixed = rest.split_off(..MAGIC.len() + 3).ok_or(short)?;
        if fixed[..MAGIC.len()] != MAGIC {
            return Err(corrupt("it does not begin with \"nst\", so it is no nestcast video"));
        }
        if fixed[3] != VERSION {
            return Err(Error::Version { what: "video", version: fixed[3], known: VERSION });
        }
        if ![KIND, KIND_OF_LOOPS].contains(&fixed[4]) {
            return Err(corrupt("it is no video, but a picture"));
        }
        let signal = Display::of_signal(fixed[5]);
        let (colours, mut display) = signal.ok_or(corrupt("what it says of its samples is reserved"))?;
        let mut number = || varint(&mut rest)?.ok_or(short);
        let [width, height] = [number()?, number()?].map(|side| u32::try_from(side + 1).unwrap_or(MAX_SIDE + 1));
        let [frames, seconds] = [number()?, number()?].map(|part| u32::try_from(part).unwrap_or(0));
        if frames == 0 || seconds == 0 {
            return Err(corrupt("its frame rate is no fraction of positive numbers below 2^32"));
        }
        let models = [rest.split_off(..6), rest.split_off(..6)].map(|id| id.and_then(|id| id.try_into().ok()));
        let [Some(key), Some(residual)] = models else { return Err(short) };
        let loops = if fixed[4] == KIND { LoopRates::ONE } else { read_loops(&mut rest)?.ok_or(short)? };
        if fixed[5] & Display::ASPECT != 0 {
            let mut side = || varint(&mut rest)?.ok_or(short);
            display.aspect = [side()?, side()?].map(|side| u16::try_from(side).unwrap_or(0));
            if display.aspect.contains(&0) || display.is_square() {
                return Err(corrupt("the aspect of its pixels is out of range"));
            }
        }
        let size = Size::new(width, height)?;
        let rate = FrameRate { frames, seconds };
        let header = Self { size, rate, colours, display, models: [ModelId(key), ModelId(residual)], loops };
        Ok((header, bytes.len() - rest.len()))
    }
}

/// Number and rates of several loops; nothing if the bytes end in them.
fn read_loops(bytes: &mut &[u8]) -> Result<Option<LoopRates>, Error> {
    let Some(count) = bytes.split_off_first() else { return Ok(None) };
    let count = usize::from(*count);
    if !(2..=MAX_LOOPS).contains(&count) {
        return Err(corrupt("its number of loops is neither 2 nor 3"));
    }
    let mut rates = [0; MAX_LOOPS];
    for rate in &mut rates[..count] {
        let Some(number) = varint(bytes)? else { return Ok(None) };
        *rate = number;
    }
    LoopRates::new(&rates[..count]).map(Some).ok_or(corrupt("the rates of its loops do not rise"))
}

/// Writes a stored video piece by piece: the caller writes what each call gives, one behind the other.
#[derive(Debug)]
pub struct VideoWriter {
    /// Bytes given so far.
    length: u64,
    /// Records so far.
    records: u64,
    /// Records where a decoder may begin: number, and the byte.
    keys: Vec<[u64; 2]>,
}

impl VideoWriter {
    /// Begins a video; the first bytes to write are its header's.
    #[must_use]
    pub fn new(header: &VideoHeader) -> (Self, Vec<u8>) {
        let bytes = header.to_bytes();
        (Self { length: bytes.len() as u64, records: 0, keys: Vec::new() }, bytes)
    }

    /// The record of the next frame, or of a prefix of it; `key`: a decoder may begin with it. Of several loops a frame has
    /// as many records, by rising rate, and only the first is such a beginning.
    #[must_use]
    pub fn frame(&mut self, frame: &[u8], key: bool) -> Vec<u8> {
        if key {
            self.keys.push([self.records, self.length]);
        }
        self.records += 1;
        let mut out = Vec::with_capacity(frame.len() + MAX_VARINT);
        write_varint(&mut out, frame.len() as u64 + 1);
        out.extend_from_slice(frame);
        self.length += out.len() as u64;
        out
    }

    /// The index, which ends the video.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut index = vec![0];
        write_varint(&mut index, self.records);
        write_varint(&mut index, self.keys.len() as u64);
        let mut before = [0; 2];
        for key in &self.keys {
            for (now, before) in key.iter().zip(before) {
                write_varint(&mut index, now - before);
            }
            before = *key;
        }
        let length = u32::try_from(index.len()).unwrap_or(u32::MAX);
        index.extend(length.to_le_bytes());
        index.extend(INDEX_MAGIC);
        index
    }
}

/// What a record of a stored video begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordHead {
    /// A frame of so many bytes follows.
    Frame(u64),
    /// The index follows: there are no more frames.
    Index,
}

impl RecordHead {
    /// Bytes that it takes at most.
    const MAX_BYTES: usize = MAX_VARINT;

    /// Reads one, and says how many bytes it takes; nothing if the bytes end in it.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a length takes more than five bytes.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let mut rest = bytes;
        let Some(length) = varint(&mut rest)? else { return Ok(None) };
        let head = length.checked_sub(1).map_or(Self::Index, Self::Frame);
        Ok(Some((head, bytes.len() - rest.len())))
    }

    /// Bytes that the head of a frame of so many bytes takes.
    #[must_use]
    pub fn bytes_of_frame(frame: usize) -> usize {
        // Seven bits of the length to a byte.
        let length = frame as u64 + 1;
        ((u64::BITS - length.leading_zeros()).div_ceil(7) as usize).min(Self::MAX_BYTES)
    }
}

/// The index of a stored video: where a decoder may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoIndex {
    /// How many records there are: frames times loops.
    pub records: u64,
    /// Records that a decoder may begin with, in order: number, and at which byte they begin.
    keys: Vec<[u64; 2]>,
}

impl VideoIndex {
    /// Bytes at the end of a stored video that tell how long its index is.
    pub const TAIL: usize = 4 + INDEX_MAGIC.len();

    /// How many bytes the index takes before its tail; nothing if a video with this end has none.
    #[must_use]
    pub fn length(end: &[u8]) -> Option<usize> {
        let length = end.strip_suffix(&INDEX_MAGIC)?.last_chunk()?;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    /// Reads the bytes before the tail; nothing if they are no index.
    #[must_use]
    pub fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut number = || varint(&mut bytes).ok().flatten();
        let _end = number()?;
        let records = number()?;
        let count = number()?;
        let mut keys = Vec::new();
        let mut key = [0_u64; 2];
        for _ in 0..count {
            // As many as there are bytes for: memory is taken one by one.
            key = [key[0].checked_add(number()?)?, key[1].checked_add(number()?)?];
            keys.push(key);
        }
        Some(Self { records, keys })
    }

    /// The last record at or before this one that a decoder may begin with, and at which byte it begins.
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
}

impl VideoFile {
    /// Reads the header.
    ///
    /// # Errors
    /// As [`VideoHeader::parse`].
    pub fn new(bytes: Bytes) -> Result<Self, Error> {
        let (header, at) = VideoHeader::parse(&bytes)?;
        Ok(Self { header, bytes, at })
    }

    /// What it says of its frames.
    #[must_use]
    pub const fn header(&self) -> &VideoHeader {
        &self.header
    }

    /// The next record's frame, as many bytes as there are; nothing behind the last. Records go frame by frame, of each by
    /// rising rate of the loops.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a length takes more than five bytes.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, Error> {
        let Some((RecordHead::Frame(length), head)) = RecordHead::parse(&self.bytes[self.at..])? else {
            return Ok(None);
        };
        let start = self.at + head;
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(self.bytes.len() - start);
        self.at = start + count;
        Ok(Some(self.bytes.slice(start..start + count)))
    }

    /// Goes to the last record at or before this one that a decoder may begin with, and says which that is. Without an
    /// index that is the first.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the index leads nowhere.
    pub fn seek(&mut self, record: u64) -> Result<u64, Error> {
        let (_, first) = VideoHeader::parse(&self.bytes)?;
        let [number, at] = self.index().and_then(|index| index.key(record)).unwrap_or([0, first as u64]);
        self.at =
            usize::try_from(at).ok().filter(|at| *at < self.bytes.len()).ok_or(corrupt("its index leads nowhere"))?;
        Ok(number)
    }

    /// The index, if there is one.
    fn index(&self) -> Option<VideoIndex> {
        let body = &self.bytes[..self.bytes.len().checked_sub(VideoIndex::TAIL)?];
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

/// Nothing if the bytes end in it.
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
