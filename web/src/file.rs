//! A file that the user opened: a picture, cut at any byte, or a stored video, at any bit rate.

use std::io::Cursor;

use bytes::Bytes;
use nestcast_codec::{Bitrate, DecodeError, Decoder, Error, Format, FrameRate, Linear, Picture, VideoHeader};
use nestcast_media::stored::{self, Frames, Player, Reader};

use crate::screen::MAX_PIXELS;
use crate::tables::{Tables, Wanted};

/// Why a file cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The bytes are no stream, or a stream of another model or version.
    #[error(transparent)]
    Stream(#[from] Error),
    /// The picture cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DecodeError),
    /// The file is no video, or a video of another model or version.
    #[error(transparent)]
    Video(#[from] stored::Error),
}

/// The kind of a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A picture.
    Picture,
    /// A video of this frame rate.
    Video {
        /// The number of frames in `seconds`.
        frames: u32,
        /// The seconds.
        seconds: u32,
    },
}

/// A file in memory.
#[derive(Debug)]
pub struct File {
    bytes: Bytes,
    kind: Kind,
    picture: Option<Picture>,
}

#[derive(Debug)]
enum Kind {
    Picture {
        decoder: Box<Decoder>,
        /// The number of bytes that the decoder has.
        pushed: usize,
    },
    Video {
        player: Box<Player<Cursor<Bytes>>>,
        tables: Tables,
        rate: FrameRate,
    },
}

impl File {
    /// Opens a file.
    ///
    /// # Errors
    /// The tables that must be loaded first, or why the file cannot be shown.
    pub fn open(bytes: Bytes, tables: &Tables) -> Result<Result<Self, FileError>, Wanted> {
        if VideoHeader::is_video(&bytes) {
            tables.video()?;
            return Ok(video(&bytes, tables, None).map(|(player, rate)| {
                let kind = Kind::Video { player: Box::new(player), tables: tables.clone(), rate };
                Self { bytes, kind, picture: None }
            }));
        }
        let decoder = Decoder::new(Linear::new(tables.photo()?)).with_max_pixels(MAX_PIXELS as u64);
        let kind = Kind::Picture { decoder: Box::new(decoder), pushed: 0 };
        Ok(Ok(Self { bytes, kind, picture: None }))
    }

    /// Returns the kind of the contents.
    #[must_use]
    pub const fn content(&self) -> Content {
        match self.kind {
            Kind::Picture { .. } => Content::Picture,
            Kind::Video { rate, .. } => Content::Video { frames: rate.frames(), seconds: rate.seconds() },
        }
    }

    /// Returns the number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the file is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Draws the picture that the first `count` bytes of a stream decode to. Returns `false` if they end inside its
    /// header.
    ///
    /// # Errors
    /// If the bytes are no picture.
    pub fn cut(&mut self, count: usize) -> Result<bool, FileError> {
        let Kind::Picture { decoder, pushed } = &mut self.kind else { return Ok(false) };
        let count = count.min(self.bytes.len());
        if count < *pushed {
            decoder.reset();
            *pushed = 0;
        }
        let more = &self.bytes[*pushed..count];
        *pushed = count;
        decoder.push(more)?;
        let Some(header) = decoder.header() else { return Ok(false) };
        let format = Format::from(header.channels);
        let before = self.picture.take().filter(|before| (before.size(), before.format()) == (header.size, format));
        let picture = self.picture.insert(before.unwrap_or_else(|| Picture::zero(header.size, format)));
        decoder.render_into(&mut *picture)?;
        Ok(true)
    }

    /// Plays a video from its first frame, as a receiver at this bitrate gets it; at 0, with all bytes.
    ///
    /// # Errors
    /// If the video cannot be read.
    pub fn play(&mut self, bitrate: Bitrate) -> Result<(), FileError> {
        if let Kind::Video { player, tables, .. } = &mut self.kind {
            (**player, _) = video(&self.bytes, tables, Some(bitrate).filter(|rate| rate.bits() > 0))?;
        }
        Ok(())
    }

    /// Draws a video's next frame. Returns the number of its bytes at this rate; `None` after the last frame.
    ///
    /// # Errors
    /// If the frame cannot be read.
    pub fn next_frame(&mut self) -> Result<Option<usize>, FileError> {
        let Kind::Video { player, .. } = &mut self.kind else { return Ok(None) };
        let header = player.frames().reader().header();
        let (size, format) = (header.size, Format::Ycbcr420(header.colours));
        let picture = self.picture.get_or_insert_with(|| Picture::zero(size, format));
        Ok(player.next_into(picture)?.map(|shown| shown.bytes))
    }

    /// Returns the picture that was drawn last.
    #[must_use]
    pub const fn picture(&self) -> Option<&Picture> {
        self.picture.as_ref()
    }
}

type Opened = (Player<Cursor<Bytes>>, FrameRate);

/// Opens a stored video, at a bit rate or whole. Its tables must be loaded.
fn video(bytes: &Bytes, tables: &Tables, rate: Option<Bitrate>) -> Result<Opened, FileError> {
    let reader = Reader::new(Cursor::new(bytes.clone()), MAX_PIXELS as u64)?;
    let header = *reader.header();
    let no_tables = Error::Corrupt { what: "video", why: "its tables are not loaded" };
    let model = tables.video().map_err(|_| no_tables)?;
    let player = Player::new(Frames::new(reader, 0..u64::MAX), model, 1)?;
    let player = match rate {
        Some(rate) => player.with_bitrate(rate),
        None => player,
    };
    Ok((player, header.rate))
}
