//! PNG, JPEG and WebP files as pictures, within limits.

use std::borrow::Cow;
use std::io::Cursor;

use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageFormat, ImageResult, Limits};
use nestcast_codec::{MAX_SIDE, Picture, Size};

use super::colour::{self, Colours};
use super::error::{Cost, Error, Note};
use super::exif::ColourSpace;
use super::opaque::Samples;
use super::{exif, formats, jpeg, opaque, partial, png, webp};

/// The most bytes of a pixel in a file: RGBA of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;
/// Memory for everything in a file but its pixels. Colour profiles have less than 4 MB; Photoshop's history of a
/// picture has had 20 MB.
const METADATA_BYTES: u64 = 32 << 20;
/// Pixels of the largest picture.
const MAX_PIXELS: u64 = (MAX_SIDE as u64).pow(2);
/// The number of first bytes that tell a file's format.
pub const MAGIC_BYTES: usize = 48;

/// A decoded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The picture: grey or sRGB, turned as the file says.
    pub picture: Picture,
    /// Properties of the file that the picture does not show.
    pub notes: Vec<Note>,
}

/// Returns the most bytes of a file within a limit of pixels. You need not read a longer file.
#[must_use]
pub fn max_file_bytes(max_pixels: u64) -> u64 {
    max_pixels.min(MAX_PIXELS) * MAX_PIXEL_BYTES + METADATA_BYTES
}

/// Checks a file's first [`MAGIC_BYTES`] bytes, so that you need not read more of another file.
///
/// # Errors
/// [`Error::Format`] or [`Error::OtherFormat`] if the format is not one that this crate reads.
pub fn check_magic(start: &[u8]) -> Result<(), Error> {
    format(start).map(drop)
}

/// Decodes the bytes of a PNG, JPEG or WebP file of at most `max_pixels` pixels, recognised by its content, as the picture
/// of 8 bits a sample that a viewer without transparency shows. Converts its colours to sRGB.
///
/// The length of the file bounds memory and time; for WebP, `max_pixels` does. In addition there are 32 MB of metadata,
/// and 24 passes over a JPEG.
///
/// # Errors
/// [`Error`] if the file is of another format, none of it can be decoded, it has too many pixels, or it would cost too
/// much.
pub fn decode(bytes: &[u8], max_pixels: u64) -> Result<Decoded, Error> {
    decode_as(bytes, max_pixels, Samples::Shown)
}

/// As [`decode`], with these samples.
///
/// # Errors
/// As [`decode`].
pub fn decode_as(bytes: &[u8], max_pixels: u64, samples: Samples) -> Result<Decoded, Error> {
    let max_pixels = max_pixels.min(MAX_PIXELS);
    match format(bytes)? {
        ImageFormat::Png => decode_png(bytes, (max_pixels, samples)),
        ImageFormat::WebP => decode_webp(bytes, (max_pixels, samples)),
        _ => decode_jpeg(bytes, max_pixels),
    }
}

/// Returns the size of the picture that [`decode`] would return, from the beginning of a file up to its pixels.
///
/// # Errors
/// [`Error`] if the file is of another format, has too many pixels, or ends inside its header.
pub fn size(start: &[u8], max_pixels: u64) -> Result<Size, Error> {
    let max_pixels = max_pixels.min(MAX_PIXELS);
    match format(start)? {
        ImageFormat::Png => shown_size(&png_decoder(start)?, png::exif(start), max_pixels),
        ImageFormat::WebP => {
            let mut decoder = webp_decoder(start)?;
            let exif = decoder.exif_metadata().ok().flatten();
            shown_size(&decoder, exif.as_deref(), max_pixels)
        }
        _ => {
            jpeg::Structure::of(start)?;
            let start = &*jpeg::with_height(start);
            let mut decoder = JpegDecoder::new(Cursor::new(start))?;
            let exif = decoder.exif_metadata().ok().flatten();
            shown_size(&decoder, exif.as_deref(), max_pixels)
        }
    }
}

fn format(start: &[u8]) -> Result<ImageFormat, Error> {
    match image::guess_format(start) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) => Ok(format),
        _ => Err(formats::of(start).map_or(Error::Format, Error::OtherFormat)),
    }
}

fn png_decoder(bytes: &[u8]) -> Result<PngDecoder<Cursor<Cow<'_, [u8]>>>, Error> {
    if png::is_of_iphones(bytes) {
        return Err(Error::Unsupported(
            "it is the PNG inside a program for iPhones (CgBI), which nestcast does not read: `pngcrush -revert-iphone-optimizations IN OUT` makes a PNG",
        ));
    }
    if png::is_palette_broken(bytes) {
        return Err(Error::Corrupt("its palette ends inside a colour: get it again"));
    }
    let mut limits = Limits::no_limits();
    // The decoder applies this limit to metadata and a few rows, not to the picture.
    limits.max_alloc = Some(METADATA_BYTES);
    PngDecoder::with_limits(Cursor::new(png::without_matrix(bytes)), limits).map_err(|error| match error {
        ImageError::Limits(_) => Error::Cost(Cost::Metadata { max: METADATA_BYTES }),
        error => error.into(),
    })
}

fn webp_decoder(bytes: &[u8]) -> Result<WebPDecoder<Cursor<&[u8]>>, Error> {
    Ok(WebPDecoder::new(Cursor::new(webp::checked(bytes)?))?)
}

fn decode_png(bytes: &[u8], limits: (u64, Samples)) -> Result<Decoded, Error> {
    let (bytes, endless) = png::with_end(bytes);
    let cleaned = png::without_matrix(&bytes);
    let mut notes = Vec::new();
    if let Cow::Owned(_) = cleaned {
        notes.push(Note::Matrix);
    }
    let bytes = &*cleaned;
    let mut decoder = png_decoder(bytes)?;
    // The decoder skips a profile over the limit.
    let profile = decoder.icc_profile()?;
    let colours = known(png::colours(bytes, profile.as_deref()), &mut notes);
    if endless {
        notes.push(Note::NoEnd);
    }
    let animated = decoder.is_apng()?;
    let declared = (colours, png::exif(bytes));
    let mut decoded = convert(decoder, (bytes.len(), png::MAX_PIXELS), limits, declared, notes)?;
    if animated {
        decoded.notes.push(Note::Animation);
    }
    Ok(decoded)
}

fn decode_webp(bytes: &[u8], limits: (u64, Samples)) -> Result<Decoded, Error> {
    let mut decoder = webp_decoder(bytes)?;
    let mut notes = Vec::new();
    let colours = embedded(&mut decoder, false, &mut notes);
    let animated = decoder.has_animation();
    // A picture of one colour needs almost no bytes.
    let exif = decoder.exif_metadata().ok().flatten();
    let mut decoded = convert(decoder, (bytes.len(), u64::MAX), limits, (colours, exif.as_deref()), notes)?;
    if animated {
        decoded.notes.push(Note::Animation);
    }
    Ok(decoded)
}

fn decode_jpeg(bytes: &[u8], max_pixels: u64) -> Result<Decoded, Error> {
    let structure = jpeg::Structure::of(bytes)?;
    if !structure.coded {
        return Err(Error::Corrupt("its end is missing: get the whole JPEG file"));
    }
    let clean = jpeg::without_junk(bytes);
    let bytes = &*jpeg::with_height(clean.as_deref().unwrap_or(bytes));
    let agreed = (structure.components == 3).then(|| jpeg::without_false_adobe(bytes)).flatten();
    let bytes = agreed.as_deref().unwrap_or(bytes);
    check_density(checked_pixels(&JpegDecoder::new(Cursor::new(bytes))?, max_pixels)?, bytes.len(), jpeg::MAX_PIXELS)?;
    let damaged_scan = jpeg::damaged_scan(bytes);
    let damaged = structure.incomplete || damaged_scan.is_some();
    let rebuilt = (structure.scattered || damaged).then(|| jpeg::rebuild(bytes)).flatten();
    if structure.scattered && rebuilt.is_none() {
        return Err(Error::Unsupported(
            "its JPEG scans are not interleaved, in a way that is not read: `jpegtran -copy all IN > OUT` makes another",
        ));
    }
    let length = bytes.len();
    let bytes = match (&rebuilt, damaged_scan) {
        (Some(rebuilt), _) => rebuilt,
        (None, Some(scan)) => jpeg::without_end(bytes, scan),
        (None, None) => bytes,
    };
    let mut decoder = JpegDecoder::new(Cursor::new(bytes))?;
    let mut notes = Vec::new();
    let ink = structure.components == 4;
    let printed = if ink && !damaged { printed(&mut decoder, bytes) } else { None };
    let without_profile = ink && printed.is_none();
    // A profile of ink applies to ink, but the decoder returns RGB.
    let colours = if ink { None } else { embedded(&mut decoder, structure.profile, &mut notes) };
    let (density, limits) = ((length, jpeg::MAX_PIXELS), (max_pixels, Samples::Shown));
    let exif = decoder.exif_metadata().ok().flatten();
    let declared = (colours, exif.as_deref());
    let mut decoded = match printed {
        Some(rgb) => convert(Printed { decoder, rgb }, density, limits, declared, notes)?,
        None => convert(decoder, density, limits, declared, notes)?,
    };
    if damaged {
        decoded.notes.push(Note::Damaged);
    } else if !structure.ended {
        decoded.notes.push(Note::NoEnd);
    }
    decoded.notes.extend(without_profile.then_some(Note::Cmyk));
    decoded.notes.extend(structure.several.then_some(Note::Several));
    decoded.notes.extend(structure.film.then_some(Note::Film));
    Ok(decoded)
}

/// Returns the colours of a file's profile, or those that a camera names in Exif. `declared` says whether there are
/// chunks of a profile, which the decoder may be unable to join.
fn embedded(decoder: &mut impl ImageDecoder, declared: bool, notes: &mut Vec<Note>) -> Option<Colours> {
    match decoder.icc_profile() {
        Ok(Some(profile)) => known(colour::from_icc(&profile), notes),
        Ok(None) if !declared => {
            let exif = decoder.exif_metadata().ok().flatten()?;
            let space = exif::colour_space(&exif);
            notes.extend((space == ColourSpace::Other).then_some(Note::Uncalibrated));
            (space == ColourSpace::AdobeRgb).then(colour::adobe_rgb)
        }
        _ => known(Err(()), notes),
    }
}

/// Adds a note for colours that cannot be read, and for colours beyond sRGB.
fn known<E>(colours: Result<Option<Colours>, E>, notes: &mut Vec<Note>) -> Option<Colours> {
    let colours = colours.unwrap_or_else(|_| {
        notes.push(Note::Profile);
        None
    });
    notes.extend(colours.as_ref().filter(|colours| colours.hdr).map(|_| Note::Hdr));
    colours
}

/// Decodes the pixels if the header has no more than `max_pixels`, and no more than `densest` for each of the file's
/// `bytes`. Turns the picture as Exif says.
fn convert(
    decoder: impl ImageDecoder,
    (bytes, densest): (usize, u64),
    (max_pixels, samples): (u64, Samples),
    (colours, exif): (Option<Colours>, Option<&[u8]>),
    mut notes: Vec<Note>,
) -> Result<Decoded, Error> {
    let pixels = checked_pixels(&decoder, max_pixels)?;
    check_density(pixels, bytes, densest)?;
    let mut image = partial::image(decoder, &mut notes)?;
    if colours.is_some_and(|colours| colours.to_srgb(&mut image).is_err()) {
        notes.push(Note::Profile);
    }
    image.apply_orientation(exif.map_or(Orientation::NoTransforms, exif::orientation));
    Ok(Decoded { picture: opaque::picture(image, samples, &mut notes)?, notes })
}

/// A picture of ink whose colours are converted by its profile.
struct Printed<'a> {
    decoder: JpegDecoder<Cursor<&'a [u8]>>,
    rgb: Vec<u8>,
}

impl ImageDecoder for Printed<'_> {
    fn dimensions(&self) -> (u32, u32) {
        self.decoder.dimensions()
    }

    fn color_type(&self) -> ColorType {
        ColorType::Rgb8
    }

    fn read_image(self, samples: &mut [u8]) -> ImageResult<()> {
        samples.copy_from_slice(&self.rgb);
        Ok(())
    }

    fn read_image_boxed(self: Box<Self>, samples: &mut [u8]) -> ImageResult<()> {
        (*self).read_image(samples)
    }
}

/// Converts a picture of ink by its profile; `None` if it has none that can be used.
fn printed(decoder: &mut JpegDecoder<Cursor<&[u8]>>, bytes: &[u8]) -> Option<Vec<u8>> {
    let profile = decoder.icc_profile().ok().flatten()?;
    let colours = colour::from_icc(&profile).ok().flatten()?;
    let (width, height) = decoder.dimensions();
    let rgb = colours.of_ink(&jpeg::ink(bytes)?).ok()?;
    (rgb.len() as u64 == 3 * u64::from(width) * u64::from(height)).then_some(rgb)
}

/// Fails if a file of `bytes` has more than `densest` pixels for each byte.
fn check_density(pixels: u64, bytes: usize, densest: u64) -> Result<(), Error> {
    if pixels > densest.saturating_mul(bytes as u64) {
        return Err(Error::Sparse { pixels, bytes });
    }
    Ok(())
}

/// Returns the size of a picture within limits, turned as Exif says.
fn shown_size(decoder: &impl ImageDecoder, exif: Option<&[u8]>, max_pixels: u64) -> Result<Size, Error> {
    checked_pixels(decoder, max_pixels)?;
    let (width, height) = decoder.dimensions();
    Ok(match exif.map(exif::orientation) {
        Some(
            Orientation::Rotate90 | Orientation::Rotate270 | Orientation::Rotate90FlipH | Orientation::Rotate270FlipH,
        ) => Size::new(height, width)?,
        _ => Size::new(width, height)?,
    })
}

/// Returns the number of pixels, within limits.
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

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder as _};
    use nestcast_codec::{Channels, Format};

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
    fn every_kind_of_samples_round_trips() {
        for (channels, alpha, deep) in [(false, true), (true, false), (true, true)]
            .into_iter()
            .flat_map(|(alpha, deep)| [Channels::Grey, Channels::Rgb].map(|channels| (channels, alpha, deep)))
        {
            let (size, format) = (Size::new(20, 10).expect("a valid size"), Format::interleaved(channels, alpha, deep));
            let samples = (0..=250).cycle().take(format.bytes(size)).collect();
            let picture = Picture::new(size, format, samples).expect("the shape fits");
            let bytes = encode_png(&picture).expect("written");
            let back = decode_as(&bytes, 200, Samples::All).expect("read");
            assert_eq!(back, Decoded { picture, notes: Vec::new() });
            let shown = decode(&bytes, 200).expect("read");
            assert_eq!(shown.picture.format(), Format::from(channels));
            let lost: Vec<Note> =
                [deep.then_some(Note::Depth), alpha.then_some(Note::Transparency)].into_iter().flatten().collect();
            assert_eq!(shown.notes, lost);
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
