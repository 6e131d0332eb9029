//! Stored videos as sources: a sender that repeats one spends nothing on encoding, so that both processors are left to the
//! receivers.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::PathBuf;

use nestcast_codec::{
    Display, Format, FrameRate, Picture, Population, Size, VideoHeader, VideoModel, VideoRenditions, VideoSettings,
    Ycbcr,
};
use nestcast_encode::{PictureError, Replay};
use nestcast_media::stored::Writer;
use nestcast_proto::Bitrate;
use nestcast_sender::PacedSource;

/// Frames a second of [`grain`].
pub const FRAMES_PER_SECOND: u32 = 30;
/// Width and height of [`grain`].
pub const SIZE: [u32; 2] = [320, 180];
const FORMAT: Format = Format::Ycbcr420(Ycbcr::BT601);

/// Encodes this many seconds of ground that moves below grain. A frame has more bytes than a link of 4 Mbit/s carries.
///
/// # Panics
/// Never: size, rate and pictures are valid.
#[must_use]
pub fn grain(seconds: u32) -> Vec<u8> {
    let size = Size::new(SIZE[0], SIZE[1]).expect("a valid size");
    let (rate, model) = (FrameRate::new(FRAMES_PER_SECOND, 1).expect("a rate"), VideoModel::built_in());
    let population = Population::log_uniform(Bitrate::from_bits(300_000)..=Bitrate::from_bits(4_000_000));
    let encoder = VideoRenditions::new(&model, VideoSettings { size, rate, population, threads: 1 }, 1);
    let encoder = encoder.expect("one rendition");
    let (colours, display, renditions) = (Ycbcr::BT601, Display::default(), encoder.rates());
    let header = VideoHeader { size, rate, colours, bits: 8, display, models: model.ids(), renditions };
    let mut writer = Writer::new(encoder, &header, Vec::new());
    (0..seconds * FRAMES_PER_SECOND).for_each(|number| writer.write(&picture(size, number.into())).expect("memory"));
    writer.finish().expect("memory").0
}

fn picture(size: Size, id: u64) -> Picture {
    let mut picture = Picture::zero(size, FORMAT);
    let mut random = id.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for (at, sample) in picture.samples_mut().iter_mut().enumerate() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let ground = (at as u64 / 8).wrapping_add(2 * id) % 64;
        *sample = u8::try_from(96 + ground + random % 32).expect("a sample");
    }
    picture
}

/// Repeats a stored video in memory without end.
///
/// # Errors
/// If it is no stored video of this build.
pub fn repeated(film: Vec<u8>) -> Result<PacedSource, PictureError> {
    let film = bytes::Bytes::from(film);
    let again = film.clone();
    let again = Box::new(move || Ok(Cursor::new(again.clone())));
    Ok(PacedSource::new(Replay::new("the stored video", u64::MAX, Cursor::new(film), Some(again))?))
}

/// Repeats a stored video in a file without end.
///
/// # Errors
/// If it is no stored video of this build.
///
/// # Panics
/// If the file cannot be opened.
pub fn repeated_file(path: PathBuf) -> Result<PacedSource, PictureError> {
    let name = path.display().to_string();
    let open = move || File::open(&path).map(BufReader::new);
    let first = open().unwrap_or_else(|error| panic!("{name}: {error}"));
    Ok(PacedSource::new(Replay::new(&name, u64::MAX, first, Some(Box::new(open)))?))
}
