//! Pictures in files: reads PNG and JPEG, writes PNG. The only file that names the `image` crate.

mod jpeg;
mod png;

use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::{CompressionType, FilterType, PngDecoder, PngEncoder};
use image::metadata::Orientation;
use image::{DynamicImage, ExtendedColorType, ImageDecoder, ImageEncoder, ImageError, ImageFormat, Limits, imageops};
use nestcast_codec::{Channels, MAX_SIDE, Picture, Size};

use crate::files::{self, Input};

/// Most bytes of a pixel in a file: RGBA of 16 bits.
const MAX_PIXEL_BYTES: u64 = 8;
/// Memory for all of a picture but its pixels. Colour profiles have less than 4 MB; what Photoshop writes of a picture's
/// history has had 20.
const METADATA_BYTES: u64 = 32 << 20;
/// Pixels of the largest picture there is.
const MOST_PIXELS: u64 = (MAX_SIDE as u64).pow(2);
/// What is said of a colour profile that is not sRGB's.
const PROFILE_DROPPED: &str = "its colour profile is dropped: colours are taken as sRGB";
/// Bytes that tell a file's format.
const MAGIC: u64 = 16;

/// Reads a PNG or JPEG file, known by its content, as the 8-bit grey or RGB picture that a viewer shows.
///
/// What that changes (16 bits, transparency, CMYK, animation, colour profile) is noted on standard error.
pub(crate) fn read(path: &Path, max_pixels: u64) -> Result<Picture> {
    let name = files::name(path);
    let max_pixels = max_pixels.min(MOST_PIXELS);
    let limit = max_pixels * MAX_PIXEL_BYTES + METADATA_BYTES;
    let mut input = Input::open(path)?;
    let start = input.read_to(MAGIC)?;
    ensure!(!start.is_empty(), "{name} is empty: get the picture again");
    format(start).with_context(|| format!("{name} is refused"))?;
    let length = input.read_to(limit + 1)?.len() as u64;
    ensure!(
        length <= limit,
        "{name} is refused: it has more than {limit} bytes, too many for {max_pixels} pixels: raise --max-pixels"
    );
    let bytes = input.into_bytes();
    let mut notes = Vec::new();
    let picture = decode(&bytes, max_pixels, &mut notes).with_context(|| format!("{name} is refused"))?;
    for note in notes {
        files::note(&format!("{name}: {note}"));
    }
    Ok(picture)
}

/// What a file's first bytes say it is.
fn format(start: &[u8]) -> Result<ImageFormat> {
    match image::guess_format(start) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg)) => Ok(format),
        _ => bail!("it is neither PNG nor JPEG: convert it first"),
    }
}

/// Decodes the bytes of a PNG or JPEG file.
pub(crate) fn decode(bytes: &[u8], max_pixels: u64, notes: &mut Vec<&'static str>) -> Result<Picture> {
    match format(bytes)? {
        ImageFormat::Png => decode_png(bytes, max_pixels, notes),
        _ => decode_jpeg(bytes, max_pixels, notes),
    }
}

fn decode_png(bytes: &[u8], max_pixels: u64, notes: &mut Vec<&'static str>) -> Result<Picture> {
    let mut limits = Limits::no_limits();
    // The decoder counts metadata and a few rows here, not the picture.
    limits.max_alloc = Some(METADATA_BYTES);
    let mut decoder = PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(|error| match error {
        ImageError::Limits(_) => anyhow!("its metadata needs more than {METADATA_BYTES} bytes: save it without"),
        error => error.into(),
    })?;
    // A profile over the limit is skipped, and the picture decoded.
    if decoder.icc_profile()?.is_none() && png::has_profile(bytes) {
        notes.push(PROFILE_DROPPED);
    }
    let animated = decoder.is_apng()?;
    let picture = convert(decoder, (bytes.len(), png::MAX_PIXELS), max_pixels, notes)?;
    if animated {
        notes.push("it is animated: its first picture is used");
    }
    Ok(picture)
}

fn decode_jpeg(bytes: &[u8], max_pixels: u64, notes: &mut Vec<&'static str>) -> Result<Picture> {
    let structure = jpeg::Structure::of(bytes)?;
    ensure!(structure.whole, "its end is missing: get the whole JPEG file");
    ensure!(!structure.scattered, "its JPEG scans are not interleaved, which is rare and not supported: save it anew");
    let decoder = JpegDecoder::new(Cursor::new(bytes))?;
    let picture = convert(decoder, (bytes.len(), jpeg::MAX_PIXELS), max_pixels, notes)?;
    if structure.components == 4 {
        notes.push("it is CMYK: its colours are converted without a profile and may differ from print");
    }
    Ok(picture)
}

/// Decodes the pixels once the header says that they are not too many: neither for this process nor for a file of
/// `bytes` bytes of at most `densest` pixels each.
fn convert(
    mut decoder: impl ImageDecoder,
    (bytes, densest): (usize, u64),
    max_pixels: u64,
    notes: &mut Vec<&'static str>,
) -> Result<Picture> {
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    ensure!(
        width.max(height) <= MAX_SIDE,
        "it is {width}x{height}, and a side may have {MAX_SIDE} pixels: scale it down"
    );
    ensure!(
        pixels <= max_pixels,
        "it has {pixels} pixels, over the limit of {max_pixels}: scale it down or raise --max-pixels"
    );
    ensure!(
        pixels <= densest.saturating_mul(bytes as u64),
        "it would have {pixels} pixels in {bytes} bytes: get it again, its data are missing"
    );
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    if decoder.icc_profile().ok().flatten().is_some_and(|profile| !is_srgb(&profile)) {
        notes.push(PROFILE_DROPPED);
    }
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    flatten(image, notes)
}

/// Whether a colour profile calls itself sRGB, in ASCII or in UTF-16.
fn is_srgb(profile: &[u8]) -> bool {
    let holds = |name: &[u8]| profile.windows(name.len()).any(|part| part == name);
    holds(b"sRGB") || holds(b"s\0R\0G\0B")
}

/// 8 bits, grey or RGB, opaque.
fn flatten(image: DynamicImage, notes: &mut Vec<&'static str>) -> Result<Picture> {
    use DynamicImage as Image;
    let image = match image {
        Image::ImageLuma16(_) | Image::ImageLumaA16(_) | Image::ImageRgb16(_) | Image::ImageRgba16(_) => {
            notes.push("it has 16 bits a sample: they are rounded to 8");
            if image.color().has_color() {
                Image::ImageRgba8(image.into_rgba8())
            } else {
                Image::ImageLumaA8(image.into_luma_alpha8())
            }
        }
        other => other,
    };
    let (width, height) = (image.width(), image.height());
    let (channels, samples) = match image {
        Image::ImageLuma8(image) => (Channels::Grey, image.into_raw()),
        Image::ImageLumaA8(image) => (Channels::Grey, over_white::<1, 2>(&image.into_raw(), notes)),
        Image::ImageRgba8(image) => (Channels::Rgb, over_white::<3, 4>(&image.into_raw(), notes)),
        other => (Channels::Rgb, other.into_rgb8().into_raw()),
    };
    Ok(Picture::new(Size::new(width, height)?, channels, samples)?)
}

/// Lays `COLOURS` samples of each pixel, whose last of `ALL` is its opacity, over white.
fn over_white<const COLOURS: usize, const ALL: usize>(samples: &[u8], notes: &mut Vec<&'static str>) -> Vec<u8> {
    const WHITE: u32 = 255;
    let (pixels, _) = samples.as_chunks::<ALL>();
    if pixels.iter().any(|pixel| u32::from(pixel[COLOURS]) < WHITE) {
        notes.push("it is partly transparent: it is laid over white");
    }
    let mut opaque = Vec::with_capacity(pixels.len() * COLOURS);
    for pixel in pixels {
        let alpha = u32::from(pixel[COLOURS]);
        for &sample in &pixel[..COLOURS] {
            let sum = u32::from(sample) * alpha + WHITE * (WHITE - alpha);
            opaque.push(u8::try_from((sum + WHITE / 2) / WHITE).expect("a mean of bytes is one"));
        }
    }
    opaque
}

/// Writes a picture as PNG.
pub(crate) fn png(picture: &Picture) -> Result<Vec<u8>> {
    let kind = match picture.channels() {
        Channels::Grey => ExtendedColorType::L8,
        Channels::Rgb => ExtendedColorType::Rgb8,
    };
    let [width, height] = sides(picture);
    let mut bytes = Vec::new();
    let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Adaptive);
    encoder.write_image(picture.samples(), width, height, kind).context("the PNG cannot be written")?;
    Ok(bytes)
}

/// The picture as RGB, at most `side` pixels wide and high.
pub(crate) fn thumbnail(picture: &Picture, side: u32) -> Result<Picture> {
    let [width, height] = sides(picture);
    let samples = picture.samples();
    let rgb = match picture.channels() {
        Channels::Grey => samples.iter().flat_map(|&grey| [grey; 3]).collect(),
        Channels::Rgb => samples.to_vec(),
    };
    let image = image::RgbImage::from_raw(width, height, rgb).expect("a picture has all its samples");
    let longest = width.max(height);
    let image = if longest <= side {
        image
    } else {
        let scaled = |length: u32| (length * side).div_ceil(longest);
        imageops::resize(&image, scaled(width), scaled(height), imageops::FilterType::Lanczos3)
    };
    let size = Size::new(image.width(), image.height())?;
    Ok(Picture::new(size, Channels::Rgb, image.into_raw())?)
}

fn sides(picture: &Picture) -> [u32; 2] {
    [picture.size().width(), picture.size().height()]
        .map(|side| u32::try_from(side).expect("a side is at most MAX_SIDE"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(channels: Channels) -> Picture {
        let size = Size::new(20, 10).expect("a valid size");
        let samples = (0..=255).cycle().take(200 * channels.count()).collect();
        Picture::new(size, channels, samples).expect("the shape fits")
    }

    #[test]
    fn png_round_trips() {
        for channels in [Channels::Grey, Channels::Rgb] {
            let picture = picture(channels);
            let mut notes = Vec::new();
            let back = decode(&png(&picture).expect("written"), 200, &mut notes).expect("read");
            assert_eq!((back, notes), (picture, Vec::new()));
        }
    }

    #[test]
    fn too_many_pixels_are_refused() {
        let bytes = png(&picture(Channels::Rgb)).expect("written");
        let error = decode(&bytes, 199, &mut Vec::new()).expect_err("over the limit");
        assert!(error.to_string().contains("--max-pixels"), "{error}");
    }

    #[test]
    fn transparency_shows_white() {
        let mut notes = Vec::new();
        assert_eq!(over_white::<1, 2>(&[7, 255, 9, 255], &mut notes), [7, 9]);
        assert!(notes.is_empty());
        assert_eq!(over_white::<3, 4>(&[0, 0, 255, 0, 0, 100, 255, 51], &mut notes), [255, 255, 255, 204, 224, 255]);
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn thumbnails_keep_the_shape() {
        let small = thumbnail(&picture(Channels::Grey), 10).expect("scaled");
        assert_eq!((small.size().width(), small.size().height(), small.channels()), (10, 5, Channels::Rgb));
    }
}
