//! Pictures as the crate `image` has them.
//!
//! ```
//! use image::{DynamicImage, RgbImage};
//! use nestcast_codec::Codec;
//! use nestcast_media::image_types::{encode, to_image};
//!
//! let codec = Codec::photo();
//! let image = DynamicImage::from(RgbImage::from_fn(40, 20, |x, y| image::Rgb([x as u8, y as u8, 90])));
//! let stream = encode(image, &codec)?;
//!
//! let mut decoder = codec.decoder();
//! decoder.push(&stream.prefix(60))?; // any prefix that contains the header
//! let early: DynamicImage = to_image(&decoder.render()?);
//! assert_eq!((early.width(), early.height()), (40, 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use image::{DynamicImage, ImageBuffer, Luma, LumaA, Pixel, Rgb, Rgba};
use nestcast_codec::{Codec, EncodeError, Error, Format, Picture, Stream};

use crate::picture::whole;
use crate::rgb::to_rgb;

/// Converts an image with all that it has: 8 or 16 bits a sample, grey or RGB, and opacity, which is not multiplied with
/// the colours. Samples of 32 bits become 16.
///
/// # Errors
/// [`Error::Argument`] for an image without a pixel, [`Error::Limit`] for a side of more than 16384 pixels.
pub fn to_picture(image: DynamicImage) -> Result<Picture, Error> {
    whole(image)
}

/// Converts a picture with all that it has. YCbCr becomes RGB, as by [`to_rgb`].
///
/// `Decoder::render_as` with [`Header::format`](nestcast_codec::Header::format) returns a picture with all that a stream
/// has.
#[must_use]
pub fn to_image(picture: &Picture) -> DynamicImage {
    let picture = to_rgb(picture);
    match picture.format() {
        Format::Grey => shallow::<Luma<u8>>(&picture).into(),
        Format::GreyAlpha => shallow::<LumaA<u8>>(&picture).into(),
        Format::Rgba => shallow::<Rgba<u8>>(&picture).into(),
        Format::Grey16 => deep::<Luma<u16>>(&picture).into(),
        Format::GreyAlpha16 => deep::<LumaA<u16>>(&picture).into(),
        Format::Rgb16 => deep::<Rgb<u16>>(&picture).into(),
        Format::Rgba16 => deep::<Rgba<u16>>(&picture).into(),
        _ => shallow::<Rgb<u8>>(&picture).into(),
    }
}

/// Encodes an image with all that it has, as [`to_picture`] converts it.
///
/// # Errors
/// As [`to_picture`], and those of the codec's transform.
pub fn encode(image: DynamicImage, codec: &Codec) -> Result<Stream, EncodeError> {
    codec.encode(&to_picture(image)?)
}

fn shallow<P: Pixel<Subpixel = u8>>(picture: &Picture) -> ImageBuffer<P, Vec<u8>> {
    buffer(picture, picture.samples().to_vec())
}

fn deep<P: Pixel<Subpixel = u16>>(picture: &Picture) -> ImageBuffer<P, Vec<u16>> {
    let samples = picture.samples().as_chunks().0;
    buffer(picture, samples.iter().map(|sample| u16::from_le_bytes(*sample)).collect())
}

fn buffer<P: Pixel>(picture: &Picture, samples: Vec<P::Subpixel>) -> ImageBuffer<P, Vec<P::Subpixel>> {
    let size = picture.size();
    let [width, height] =
        [size.width(), size.height()].map(|side| u32::try_from(side).expect("a side has at most 16384 pixels"));
    ImageBuffer::from_raw(width, height, samples).expect("a picture has all its samples")
}

#[cfg(test)]
mod tests {
    use image::{ColorType, Rgba32FImage};
    use nestcast_codec::{Size, Ycbcr};

    use super::*;

    #[test]
    fn pictures_of_every_format_go_there_and_back() {
        let size = Size::new(7, 5).expect("a size");
        for (format, colour) in [
            (Format::Grey, ColorType::L8),
            (Format::GreyAlpha, ColorType::La8),
            (Format::Rgb, ColorType::Rgb8),
            (Format::Rgba, ColorType::Rgba8),
            (Format::Grey16, ColorType::L16),
            (Format::GreyAlpha16, ColorType::La16),
            (Format::Rgb16, ColorType::Rgb16),
            (Format::Rgba16, ColorType::Rgba16),
        ] {
            let samples = (0..format.bytes(size)).map(|at| (37 * at % 251).to_le_bytes()[0]).collect();
            let picture = Picture::new(size, format, samples).expect("a picture");
            let image = to_image(&picture);
            assert_eq!((image.width(), image.height(), image.color()), (7, 5, colour));
            assert_eq!(to_picture(image.clone()).expect("a picture"), picture);
            let stream = encode(image, &Codec::photo()).expect("a stream");
            assert_eq!(stream, Codec::photo().encode(&picture).expect("a stream"));
            assert_eq!(stream.header().format(), format);
        }
    }

    #[test]
    fn other_formats_become_those_of_an_image_or_of_a_picture() {
        let size = Size::new(6, 4).expect("a size");
        let video = Picture::zero(size, Format::Ycbcr420(Ycbcr::BT601_FULL));
        assert_eq!(to_image(&video).as_bytes(), to_rgb(&video).samples());
        let float = DynamicImage::from(Rgba32FImage::from_pixel(2, 1, Rgba([0.0, 0.5, 1.0, 2.0])));
        let picture = to_picture(float).expect("a picture");
        assert_eq!(picture.format(), Format::Rgba16);
        let samples: Vec<_> =
            picture.samples().as_chunks().0.iter().map(|sample| u16::from_le_bytes(*sample)).collect();
        assert_eq!(samples[..4], [0, 32768, 65535, 65535]);
    }

    #[test]
    fn images_that_are_no_pictures_are_refused() {
        assert!(matches!(to_picture(DynamicImage::new_luma8(0, 3)), Err(Error::Argument(_))));
        assert!(matches!(to_picture(DynamicImage::new_luma8(16385, 1)), Err(Error::Limit { given: 16385, .. })));
    }
}
