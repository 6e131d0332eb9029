//! Reads the parts of a Matroska stream in their order.

use std::io::Read;
use std::time::Duration;

use nestcast_codec::{Display, Format, FrameRate, Matrix, Picture, Size};

use super::Error;
use super::element::{self, Elements, Head};
use super::layout::picture_bytes;
use super::tracks::{SoundTrack, Tracks};

const EBML_ID: u32 = 0x1A45_DFA3;
const SEGMENT_ID: u32 = 0x1853_8067;
const INFO_ID: u32 = 0x1549_A966;
const TIMESTAMP_SCALE_ID: u32 = 0x2A_D7B1;
const TRACKS_ID: u32 = 0x1654_AE6B;
const CLUSTER_ID: u32 = 0x1F43_B675;
const TIMESTAMP_ID: u32 = 0xE7;
const SIMPLE_BLOCK_ID: u32 = 0xA3;
const BLOCK_GROUP_ID: u32 = 0xA0;
const BLOCK_ID: u32 = 0xA1;
/// Ids of this many bytes are of a segment's own elements, and of nothing in a cluster.
const OF_SEGMENT: std::ops::RangeInclusive<u32> = 0x1000_0000..=0x1FFF_FFFF;
/// The flags of a block that say how several packets share it.
const LACING_FLAGS: u8 = 0x06;
/// The nanoseconds of a time in the file, unless it says otherwise.
const USUAL_SCALE: u64 = 1_000_000;

/// A part of the stream. Times count from the file's own beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// A picture of this time was read into the memory that the caller gave.
    Picture(Duration),
    /// The bytes of sound from this time on.
    Sound(Duration, &'a [u8]),
}

/// Reads pictures and sound.
#[derive(Debug)]
pub struct Reader<R> {
    input: Elements<R>,
    tracks: Tracks,
    places: Places,
    /// Nanoseconds of a time in the file.
    scale: u64,
    /// The time of the cluster.
    cluster: u64,
    pictures: u64,
    /// When the first picture is.
    first: Option<Duration>,
    sound: Vec<u8>,
    spare: Vec<u8>,
}

/// Where the elements end that contain the next one.
#[derive(Debug, Default)]
struct Places {
    /// `None` inside if the length is unknown.
    segment: Option<Option<u64>>,
    cluster: Option<Option<u64>>,
    group: Option<u64>,
}

/// The head of a block: its track, its time in the file, and the bytes that follow.
struct Block {
    track: u64,
    at: Duration,
    length: u64,
}

impl<R: Read> Reader<R> {
    /// Reads what comes before the first picture. Refuses pictures of more than `max_pixels` before it takes memory for
    /// them.
    ///
    /// # Errors
    /// [`Error`] if this is no Matroska that the crate reads. The message says what to do.
    pub fn new(input: R, max_pixels: u64) -> Result<Self, Error> {
        let mut input = Elements::new(input);
        match input.head()? {
            Some(Head { id: EBML_ID, length: Some(length) }) => input.skip(length)?,
            _ => return Err(input.corrupt("it does not begin as Matroska does")),
        }
        let Some(Head { id: SEGMENT_ID, length }) = input.head()? else {
            return Err(input.corrupt("it has no segment"));
        };
        let places =
            Places { segment: Some(length.map(|length| input.at().saturating_add(length))), ..Places::default() };
        let (mut scale, mut content) = (USUAL_SCALE, Vec::new());
        let tracks = loop {
            let Some(Head { id, length }) = input.head()? else { return Err(Error::NoPictures) };
            let length = length.filter(|_| id != CLUSTER_ID).ok_or(Error::NoPictures)?;
            match id {
                INFO_ID => {
                    input.content(length, &mut content)?;
                    scale = element::children(&content)
                        .find(|(id, _)| *id == TIMESTAMP_SCALE_ID)
                        .and_then(|(_, content)| element::number(content))
                        .unwrap_or(USUAL_SCALE);
                }
                TRACKS_ID => {
                    input.content(length, &mut content)?;
                    break Tracks::parse(&content, max_pixels)?;
                }
                _ => input.skip(length)?,
            }
        };
        let (sound, spare) = (Vec::new(), Vec::new());
        Ok(Self { input, tracks, places, scale, cluster: 0, pictures: 0, first: None, sound, spare })
    }

    /// Returns the size of every picture.
    #[must_use]
    pub const fn size(&self) -> Size {
        self.tracks.pictures.size
    }

    /// Returns how every picture lies in memory.
    #[must_use]
    pub const fn format(&self) -> Format {
        Format::Ycbcr420(self.tracks.pictures.colours)
    }

    /// Returns how to show the pictures.
    #[must_use]
    pub const fn display(&self) -> Display {
        self.tracks.pictures.display
    }

    /// Returns the pictures per second; where the file does not say, what is usual.
    #[must_use]
    pub const fn rate(&self) -> FrameRate {
        self.tracks.pictures.rate
    }

    /// Returns the sound, if there is some.
    #[must_use]
    pub fn sound(&self) -> Option<SoundTrack> {
        self.tracks.sound.map(|(_, sound)| sound)
    }

    /// Sets the matrix of the samples. `None` keeps that of the file, or the usual one for the size.
    #[must_use]
    pub const fn with_matrix(mut self, matrix: Option<Matrix>) -> Self {
        if let Some(matrix) = matrix {
            self.tracks.pictures.colours.matrix = matrix;
        }
        self
    }

    /// Reads the next part; `None` at the end. A picture goes into `picture`, whose memory is used again if it has the
    /// stream's size and format.
    ///
    /// # Errors
    /// If the stream breaks off or is damaged. All parts before that were returned.
    pub fn next(&mut self, picture: &mut Picture) -> Result<Option<Part<'_>>, Error> {
        while let Some(Block { track, at, length }) = self.block()? {
            if track == self.tracks.pictures.number {
                self.picture(length, picture)?;
                return Ok(Some(Part::Picture(self.exact(at))));
            }
            match self.tracks.sound {
                Some((number, _)) if number == track => {
                    self.input.content(length, &mut self.sound)?;
                    return Ok(Some(Part::Sound(at, &self.sound)));
                }
                _ => self.input.skip(length)?,
            }
        }
        Ok(None)
    }

    fn picture(&mut self, given: u64, picture: &mut Picture) -> Result<(), Error> {
        let (size, number) = (self.size(), self.pictures);
        let needed = picture_bytes(size);
        if given != needed {
            return Err(Error::Length { number, given, needed });
        }
        if picture.size() != size || picture.format() != self.format() {
            *picture = Picture::zero(size, self.format());
        }
        self.tracks.pictures.layout.read(&mut self.input, size, picture, &mut self.spare)?;
        self.pictures += 1;
        Ok(())
    }

    /// Returns the time of a picture, which the file has in whole milliseconds: the moment at which the rate has one, if
    /// that is as near as rounding makes it.
    fn exact(&mut self, at: Duration) -> Duration {
        let first = *self.first.get_or_insert(at);
        let track = &self.tracks.pictures;
        let interval = track.rate.interval().as_nanos().max(1);
        let place = (at.saturating_sub(first).as_nanos() + interval / 2) / interval;
        let (frames, seconds) = (u128::from(track.rate.frames()), u128::from(track.rate.seconds()));
        let after = u64::try_from(place * seconds * 1_000_000_000 / frames).unwrap_or(u64::MAX);
        let exact = first.saturating_add(Duration::from_nanos(after));
        if track.has_rate && exact.abs_diff(at) <= Duration::from_nanos(self.scale) { exact } else { at }
    }

    /// Reads up to the content of the next block; `None` at the end.
    fn block(&mut self) -> Result<Option<Block>, Error> {
        loop {
            let at = self.input.at();
            self.places.leave(at);
            if self.places.segment.is_none() {
                return Ok(None);
            }
            let Some(head) = self.input.head()? else {
                return if self.places.may_end() { Ok(None) } else { Err(Error::Broken { at }) };
            };
            if self.places.group.is_none() && OF_SEGMENT.contains(&head.id) {
                if [EBML_ID, SEGMENT_ID].contains(&head.id) {
                    return Ok(None);
                }
                // A cluster of unknown length ends where another element of the segment begins.
                self.places.cluster = self.places.cluster.filter(Option::is_some);
            }
            if let Some(block) = self.enter(head)? {
                return Ok(Some(block));
            }
        }
    }

    /// Reads an element, or begins it; returns the block if it is one.
    fn enter(&mut self, head: Head) -> Result<Option<Block>, Error> {
        let (id, at) = (head.id, self.input.at());
        let is_cluster = id == CLUSTER_ID && self.places.cluster.is_none();
        let Some(length) = head.length else {
            if !is_cluster {
                return Err(self.input.corrupt("an element has no length"));
            }
            self.places.cluster = Some(None);
            return Ok(None);
        };
        let end = at.checked_add(length).filter(|end| self.places.end().is_none_or(|outer| *end <= outer));
        let end = end.ok_or_else(|| self.input.corrupt("an element is longer than the one around it"))?;
        match (id, self.places.cluster.is_some(), self.places.group.is_some()) {
            (CLUSTER_ID, false, _) => self.places.cluster = Some(Some(end)),
            (TIMESTAMP_ID, true, false) => self.cluster = self.input.number(length)?,
            (BLOCK_GROUP_ID, true, false) => self.places.group = Some(end),
            (SIMPLE_BLOCK_ID, true, false) | (BLOCK_ID, true, true) => return self.block_head(end).map(Some),
            _ => self.input.skip(length)?,
        }
        Ok(None)
    }

    /// Reads the head of a block that ends at `end`.
    fn block_head(&mut self, end: u64) -> Result<Block, Error> {
        let track = self.input.length()?.unwrap_or_default();
        let mut rest = [0; 3];
        self.input.fill(&mut rest)?;
        let [high, low, flags] = rest;
        let length = end.checked_sub(self.input.at()).ok_or_else(|| self.input.corrupt("a block has no content"))?;
        let is_ours =
            track == self.tracks.pictures.number || self.tracks.sound.is_some_and(|(sound, _)| sound == track);
        if is_ours && flags & LACING_FLAGS != 0 {
            return Err(Error::Form("packets share blocks"));
        }
        let time = self.cluster.saturating_add_signed(i16::from_be_bytes([high, low]).into());
        let at = time.checked_mul(self.scale).ok_or_else(|| self.input.corrupt("a time is out of range"))?;
        Ok(Block { track, at: Duration::from_nanos(at), length })
    }
}

impl Places {
    /// Leaves the elements that end here.
    fn leave(&mut self, at: u64) {
        self.group = self.group.filter(|end| *end > at);
        self.cluster = self.cluster.filter(|end| end.is_none_or(|end| end > at));
        self.segment = self.segment.filter(|end| end.is_none_or(|end| end > at));
    }

    /// Returns where the innermost element of known length ends.
    fn end(&self) -> Option<u64> {
        self.group.or_else(|| self.cluster.flatten()).or_else(|| self.segment.flatten())
    }

    /// Returns whether the input may end here.
    fn may_end(&self) -> bool {
        self.end().is_none()
    }
}
