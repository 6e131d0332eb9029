//! PNG and JPEG files as pictures, within limits.

use std::io::Cursor;

use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, Limits};
use nestcast_codec::{MAX_SIDE, Picture, Size};

use super::error::{Error, Note};
use super::{jpeg, opaque, png};

/// Most bytes of a pixel in a file: RGBA of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;
/// Memory for all of a picture but its pixels. Colour profiles have less than 4 MB; what Photoshop writes of a picture's
/// history has had 20.
const METADATA_BYTES: u64 = 32 << 20;
/// Pixels of the largest picture there is.
const MAX_PIXELS: u64 = (MAX_SIDE as u64).pow(2);
/// Bytes that tell a file's format.
pub const MAGIC_BYTES: usize = 16;

/// What a file shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// 8 bits a sample, grey or RGB, turned as the file says.
    pub picture: Picture,
    /// What of the file the picture does not show.
    pub notes: Vec<Note>,
}

/// Most bytes of a file that [`decode`] may be given with this limit of pixels: longer ones need not be read.
#[must_use]
pub fn max_file_bytes(max_pixels: u64) -> u64 {
    max_pixels.min(MAX_PIXELS) * MAX_PIXEL_BYTES + METADATA_BYTES
}

/// Checks a file's first [`MAGIC_BYTES`] bytes, so that no more is read of what is no picture.
///
/// # Errors
/// [`Error::Format`] if they are of no format that is read.
pub fn check_magic(start: &[u8]) -> Result<(), Error> {
    format(start).map(drop)
}

/// Decodes the bytes of a PNG or JPEG file of at most `max_pixels` pixels, known by its content.
///
/// Memory and time are bounded by the length of the file: 32 MB of metadata, 24 passes over a JPEG.
///
/// # Errors
/// If it is no such file, is not whole, or has more pixels; nothing is decoded of what costs more than it may.
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<Decoded, Error> {
    let max_pixels = max_pixels.min(MAX_PIXELS);
    match format(bytes)? {
        ImageFormat::Png => decode_png(bytes, max_pixels),
        _ => decode_jpeg(bytes, max_pixels),
    }
}

/// The size of the picture that [`decode`] would give, from the beginning of a file, as far as its pixels.
///
/// # Errors
/// If it is no such file, has more pixels, or its header is not whole.
pub fn size(start: &[u8], max_pixels: u64) -> Result<Size, Error> {
    let max_pixels = max_pixels.min(MAX_PIXELS);
    match format(start)? {
        ImageFormat::Png => shown_size(png_decoder(start)?, max_pixels),
        _ => {
            jpeg::Structure::of(start)?;
            shown_size(JpegDecoder::new(Cursor::new(start))?, max_pixels)
        }
    }
}

fn format(start: &[u8]) -> Result<ImageFormat, Error> {
    match image::guess_format(start) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) => Ok(format),
        _ => Err(Error::Format),
    }
}

fn png_decoder(bytes: &[u8]) -> Result<PngDecoder<Cursor<&[u8]>>, Error> {
    if png::is_palette_broken(bytes) {
        return Err(Error::Corrupt("its palette ends inside a colour: get it again".to_owned()));
    }
    let mut limits = Limits::no_limits();
    // The decoder counts metadata and a few rows here, not the picture.
    limits.max_alloc = Some(METADATA_BYTES);
    PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(|error| match error {
        ImageError::Limits(_) => {
            Error::Cost(format!("its metadata needs more than {METADATA_BYTES} bytes: save it without"))
        }
        error => error.into(),
    })
}

fn decode_png(bytes: &[u8], max_pixels: u64) -> Result<Decoded, Error> {
    let mut decoder = png_decoder(bytes)?;
    let mut notes = Vec::new();
    // A profile over the limit is skipped, and the picture decoded.
    if decoder.icc_profile()?.is_none() && png::has_profile(bytes) {
        notes.push(Note::Profile);
    }
    let animated = decoder.is_apng()?;
    let mut decoded = convert(decoder, (bytes.len(), png::MAX_PIXELS), max_pixels, notes)?;
    if animated {
        decoded.notes.push(Note::Animation);
    }
    Ok(decoded)
}

fn decode_jpeg(bytes: &[u8], max_pixels: u64) -> Result<Decoded, Error> {
    let structure = jpeg::Structure::of(bytes)?;
    if !structure.whole {
        return Err(Error::Corrupt("its end is missing: get the whole JPEG file".to_owned()));
    }
    if structure.scattered {
        return Err(Error::Unsupported(
            "its JPEG scans are not interleaved, which is rare and not supported: save it anew",
        ));
    }
    let decoder = JpegDecoder::new(Cursor::new(bytes))?;
    let mut decoded = convert(decoder, (bytes.len(), jpeg::MAX_PIXELS), max_pixels, Vec::new())?;
    if structure.components == 4 {
        decoded.notes.push(Note::Cmyk);
    }
    Ok(decoded)
}

/// Decodes the pixels once the header says that they are not too many: neither for this process nor for a file of
/// `bytes` bytes of at most `densest` pixels each.
fn convert(
    mut decoder: impl ImageDecoder,
    (bytes, densest): (usize, u64),
    max_pixels: u64,
    mut notes: Vec<Note>,
) -> Result<Decoded, Error> {
    let pixels = checked_pixels(&decoder, max_pixels)?;
    if pixels > densest.saturating_mul(bytes as u64) {
        let why = format!("it would have {pixels} pixels in {bytes} bytes: get it again, its data are missing");
        return Err(Error::Corrupt(why));
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    if decoder.icc_profile().ok().flatten().is_some_and(|profile| !is_srgb(&profile)) {
        notes.push(Note::Profile);
    }
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(Decoded { picture: opaque::picture(image, &mut notes)?, notes })
}

/// The size of a picture within limits, turned as the file says.
fn shown_size(mut decoder: impl ImageDecoder, max_pixels: u64) -> Result<Size, Error> {
    checked_pixels(&decoder, max_pixels)?;
    let (width, height) = decoder.dimensions();
    Ok(match decoder.orientation().unwrap_or(Orientation::NoTransforms) {
        Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH => {
            Size::new(height, width)?
        }
        _ => Size::new(width, height)?,
    })
}

/// Pixels of a picture within limits.
fn checked_pixels(decoder: &impl ImageDecoder, max_pixels: u64) -> Result<u64, Error> {
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if width.max(height) > MAX_SIDE {
        return Err(Error::Unsupported("a side has more than 16384 pixels: scale it down"));
    }
    if pixels > max_pixels {
        return Err(Error::Pixels { given: pixels, max: max_pixels });
    }
    Ok(pixels)
}

/// Whether a colour profile calls itself sRGB, in ASCII or in UTF-16.
fn is_srgb(profile: &[u8]) -> bool {
    let holds = |name: &[u8]| profile.windows(name.len()).any(|part| part == name);
    holds(b"sRGB") || holds(b"s\0R\0G\0B")
}

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder as _};
    use nestcast_codec::Channels;

    use super::*;
    use crate::picture::encode_png;

    fn picture(channels: Channels) -> Picture {
        let size = Size::new(20, 10).expect("a valid size");
        let samples = (0..=255).cycle().take(200 * channels.count()).collect();
        Picture::new(size, channels, samples).expect("the shape fits")
    }

    #[test]
    fn png_round_trips() {
        for channels in [Channels::Grey, Channels::Rgb] {
            let picture = picture(channels);
            let back = decode(&encode_png(&picture).expect("written"), 200).expect("read");
            assert_eq!(back, Decoded { picture, notes: Vec::new() });
        }
    }

    #[test]
    fn a_size_is_known_from_the_header() {
        let bytes = encode_png(&picture(Channels::Rgb)).expect("written");
        // Its signature, the header's chunk, and kind and length of the next.
        let header = 8 + 25 + 8;
        assert_eq!(size(&bytes[..header], 200).expect("a header"), Size::new(20, 10).expect("a valid size"));
        assert!(matches!(size(&bytes[..20], 200), Err(Error::Corrupt(_))));
    }

    #[test]
    fn a_size_is_that_of_the_turned_picture() {
        // One TIFF entry: orientation (0x112), a short, 6: turn right by a quarter.
        let exif = b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
        let mut plain = Vec::new();
        let encoder = image::codecs::jpeg::JpegEncoder::new(&mut plain);
        let shown = picture(Channels::Rgb);
        encoder.write_image(shown.samples(), 20, 10, ExtendedColorType::Rgb8).expect("written");
        let length = u16::try_from(exif.len() + 2).expect("a segment").to_be_bytes();
        let turned = [&plain[..2], &[0xFF, 0xE1], &length, exif, &plain[2..]].concat();
        let expected = Size::new(10, 20).expect("a valid size");
        assert_eq!(decode(&turned, 200).expect("read").picture.size(), expected);
        assert_eq!(size(&turned, 200).expect("a header"), expected);
        assert_eq!(size(&plain, 200).expect("a header"), shown.size());
    }

    #[test]
    fn too_many_pixels_are_refused() {
        let bytes = encode_png(&picture(Channels::Rgb)).expect("written");
        assert!(matches!(size(&bytes, 199), Err(Error::Pixels { given: 200, max: 199 })));
        assert!(matches!(decode(&bytes, 199), Err(Error::Pixels { given: 200, max: 199 })));
    }
}
