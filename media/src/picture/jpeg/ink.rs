//! Decodes a picture of ink, CMYK or YCCK, to amounts of ink, which a colour profile needs. The usual decoder returns RGB.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};

/// Returns the amounts of cyan, magenta, yellow and black of each pixel, from 0 to 255 for a full cover; `None` if the
/// file has other colours or cannot be decoded.
pub(crate) fn amounts(bytes: &[u8]) -> Option<Vec<u8>> {
    let options = DecoderOptions::default().set_strict_mode(false).set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    let colours = decoder.input_colorspace()?;
    let convert = match colours {
        ColorSpace::CMYK => of_cmyk,
        ColorSpace::YCCK => of_ycck,
        _ => return None,
    };
    decoder.set_options(options.jpeg_set_out_colorspace(colours));
    let mut samples = decoder.decode().ok()?;
    samples.as_chunks_mut::<4>().0.iter_mut().for_each(|pixel| *pixel = convert(*pixel));
    Some(samples)
}

/// Inverts samples: Adobe's files, and so all, store how much paper shows.
fn of_cmyk(pixel: [u8; 4]) -> [u8; 4] {
    pixel.map(|paper| 255 - paper)
}

/// Converts luma and colour differences (JFIF), from which the stored cyan, magenta and yellow are subtracted.
fn of_ycck([luma, blue, red, black]: [u8; 4]) -> [u8; 4] {
    let [luma, blue, red] = [f32::from(luma), f32::from(blue) - 128.0, f32::from(red) - 128.0];
    let inks = [luma + 1.402 * red, luma - 0.344_136 * blue - 0.714_136 * red, luma + 1.772 * blue];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
    let [cyan, magenta, yellow] = inks.map(|ink| ink.round().clamp(0.0, 255.0) as u8);
    [cyan, magenta, yellow, 255 - black]
}
