//! Converts planar pictures to red, green and blue, for files and screens that have only these colours (ITU-R BT.601-7,
//! section 2.5; ITU-R BT.709-6, section 3; JFIF for full range).

use std::borrow::Cow;

use nestcast_codec::{Format, Matrix, Picture, Range, Ycbcr};

/// The luma of black, and the factors that scale luma and colour differences to 0..=255, in 1/65536.
const LIMITED_RANGE: [i32; 3] = [16, 76_309, 74_607];
const FULL_RANGE: [i32; 3] = [0, 65_536, 65_536];
/// Factors for red from Cr, for green from Cb and Cr, and for blue from Cb, in full range.
const BT601_FACTORS: [f64; 4] = [1.402, -0.344_136, -0.714_136, 1.772];
const BT709_FACTORS: [f64; 4] = [1.5748, -0.187_324, -0.468_124, 1.8556];

/// Converts a planar picture to interleaved RGB, of 16 bits if it has more than 8. Each colour difference applies to its
/// 2x2 pixels. Returns grey and RGB pictures borrowed, without a change.
#[must_use]
pub fn to_rgb(picture: &Picture) -> Cow<'_, Picture> {
    match picture.format() {
        Format::Ycbcr420(colours) => {
            let mut rgb = Picture::zero(picture.size(), Format::Rgb);
            convert::<3>(picture, colours, rgb.samples_mut().as_chunks_mut().0);
            Cow::Owned(rgb)
        }
        // The browsers' module has no such pictures, and no code for them.
        Format::Ycbcr420Deep { colours, bits } if !cfg!(target_family = "wasm") => {
            Cow::Owned(converted_deep(picture, colours, bits))
        }
        _ => Cow::Borrowed(picture),
    }
}

/// Returns the factors of a matrix: red from Cr, green from Cb and Cr, blue from Cb.
pub(crate) const fn of_matrix(matrix: Matrix) -> [f64; 4] {
    match matrix {
        Matrix::Bt601 => BT601_FACTORS,
        Matrix::Bt709 => BT709_FACTORS,
    }
}

/// Returns the luma of black, and the factors that scale luma and colour differences to 0..=255, in 1/65536.
pub(crate) const fn factors(range: Range) -> [i32; 3] {
    match range {
        Range::Full => FULL_RANGE,
        Range::Limited => LIMITED_RANGE,
    }
}

/// Sets `out` to red, green, blue and 255 for each pixel of a picture, row by row, converted as [`to_rgb`] does. `out`
/// gets 4 bytes a pixel. Returns false for pictures with opacity and for samples of more than 8 bits; then `out` is
/// arbitrary.
#[must_use]
pub fn to_rgba(picture: &Picture, out: &mut Vec<u8>) -> bool {
    let samples = picture.samples();
    out.resize(4 * picture.size().pixels(), 0);
    let pixels = out.as_chunks_mut().0;
    match picture.format() {
        Format::Ycbcr420(colours) => convert(picture, colours, pixels),
        Format::Grey => pixels.iter_mut().zip(samples).for_each(|(out, &grey)| *out = [grey, grey, grey, u8::MAX]),
        Format::Rgb => {
            let samples = samples.as_chunks().0;
            pixels.iter_mut().zip(samples).for_each(|(out, &[r, g, b])| *out = [r, g, b, u8::MAX]);
        }
        _ => return false,
    }
    true
}

/// Converts to pixels whose first samples are red, green, blue, and 255.
fn convert<const N: usize>(picture: &Picture, colours: Ycbcr, out: &mut [[u8; N]]) {
    let [black, scale, chroma] = factors(colours.range);
    #[expect(clippy::cast_possible_truncation, reason = "the factors are below 2")]
    let of_differences = of_matrix(colours.matrix).map(|factor| (factor * f64::from(chroma)) as i32);
    let size = picture.size();
    let width = size.width();
    let half = width.div_ceil(2);
    let (luma, differences) = picture.samples().split_at(size.pixels());
    let (blue, red) = differences.split_at(differences.len() / 2);
    let mut added: [Vec<[i32; 2]>; 3] = std::array::from_fn(|_| vec![[0; 2]; half]);
    for (y, (luma, out)) in luma.chunks_exact(width).zip(out.chunks_exact_mut(width)).enumerate() {
        if y % 2 == 0 {
            let at = y / 2 * half..(y / 2 + 1) * half;
            add_differences(&blue[at.clone()], &red[at], of_differences, added.each_mut().map(Vec::as_mut_slice));
        }
        convert_row(luma, [black, scale], added.each_ref().map(|added| added.as_flattened()), out);
    }
}

/// Sets what the differences of a row add to red, green and blue of two columns each, in 1/65536. It is a function of its
/// own, so that the compiler makes vector instructions of it.
#[inline(never)]
fn add_differences(
    blue: &[u8],
    red: &[u8],
    [red_cr, green_cb, green_cr, blue_cb]: [i32; 4],
    [to_red, to_green, to_blue]: [&mut [[i32; 2]]; 3],
) {
    let out = to_red.iter_mut().zip(to_green).zip(to_blue);
    for (((to_red, to_green), to_blue), (blue, red)) in out.zip(blue.iter().zip(red)) {
        let [cb, cr] = [blue, red].map(|sample| i32::from(*sample) - 128);
        [*to_red, *to_green, *to_blue] =
            [red_cr * cr, green_cb * cb + green_cr * cr, blue_cb * cb].map(|added| [added; 2]);
    }
}

/// Converts a row. It is a function of its own for the same reason as [`add_differences`].
#[inline(never)]
fn convert_row<const N: usize>(luma: &[u8], [black, scale]: [i32; 2], added: [&[i32]; 3], out: &mut [[u8; N]]) {
    let [to_red, to_green, to_blue] = added.map(|added| &added[..luma.len()]);
    let added = to_red.iter().zip(to_green).zip(to_blue);
    for ((out, luma), ((to_red, to_green), to_blue)) in out.iter_mut().zip(luma).zip(added) {
        let luma = scale * (i32::from(*luma) - black) + 0x8000;
        let [red, green, blue] = [to_red, to_green, to_blue].map(|added| ((luma + added) >> 16).clamp(0, 255));
        let pixel = (red | green << 8 | blue << 16 | 255 << 24).to_le_bytes();
        *out = std::array::from_fn(|at| pixel[at]);
    }
}

/// Converts samples of `bits` bits to RGB of 16. White is that of 8 bits: 1020 in 10 bits of full range.
fn converted_deep(picture: &Picture, colours: Ycbcr, bits: u8) -> Picture {
    let [black, scale, chroma] = factors(colours.range).map(f64::from);
    let [red_cr, green_cb, green_cr, blue_cb] = of_matrix(colours.matrix);
    // From steps of a sample to those of 16 bits, whose white is 65535 = 255 * 257.
    let step = 257.0 / f64::from(1_u32 << bits.clamp(8, 16).abs_diff(8));
    let size = picture.size();
    let (width, half) = (size.width(), size.width().div_ceil(2));
    let samples = picture.samples().as_chunks().0;
    let (luma, differences) = samples.split_at(size.pixels());
    let (blue, red) = differences.split_at(differences.len() / 2);
    let value = |sample: [u8; 2], zero: f64, factor: f64| {
        (f64::from(u16::from_le_bytes(sample)) * step - 257.0 * zero) * factor / 65_536.0
    };
    let mut rgb = Picture::zero(size, Format::Rgb16);
    for (at, pixel) in rgb.samples_mut().chunks_exact_mut(6).enumerate() {
        let of_chroma = at / width / 2 * half + at % width / 2;
        let y = value(luma[at], black, scale);
        let [cb, cr] = [blue, red].map(|plane| value(plane[of_chroma], 128.0, chroma));
        let colours = [y + red_cr * cr, y + green_cb * cb + green_cr * cr, y + blue_cb * cb];
        for (out, colour) in pixel.as_chunks_mut().0.iter_mut().zip(colours) {
            *out = short(colour).to_le_bytes();
        }
    }
    rgb
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn short(value: f64) -> u16 {
    value.round().clamp(0.0, f64::from(u16::MAX)) as u16
}

/// Expands luma of limited range to grey of 0..=255.
pub(crate) fn expand(luma: &mut [u8]) {
    let [black, scale, _] = LIMITED_RANGE;
    luma.iter_mut().for_each(|sample| *sample = byte((scale * (i32::from(*sample) - black) + 0x8000) >> 16));
}

fn byte(value: i32) -> u8 {
    u8::try_from(value.clamp(0, 255)).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;

    use super::*;

    #[test]
    fn colour_bars_are_those_of_bt_601() {
        // SMPTE's bars of 100 %: black, white, red, green, blue, yellow; a pixel of each is two wide and odd in all.
        let luma = [16, 235, 81, 145, 41, 210];
        let blue = [128, 128, 90, 54, 240, 16];
        let red = [128, 128, 240, 34, 110, 146];
        let colours = [[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 0]];
        for width in [12, 11] {
            let size = Size::new(width, 1).expect("a valid size");
            let luma = luma.iter().flat_map(|&y| [y; 2]).take(size.width());
            let samples = luma.chain(blue).chain(red).collect();
            let bars = Picture::new(size, Format::Ycbcr420(Ycbcr::BT601), samples).expect("the shape fits");
            let rgb = to_rgb(&bars);
            assert_eq!(rgb.format(), Format::Rgb);
            for (x, pixel) in rgb.samples().chunks_exact(3).enumerate() {
                let near = pixel.iter().zip(colours[x / 2]).all(|(a, b)| a.abs_diff(b) <= 2);
                assert!(near, "{pixel:?} at {x}");
            }
        }
    }

    #[test]
    fn colours_of_ten_bits_are_those_of_eight_with_a_fraction() {
        let size = Size::new(5, 3).expect("a size");
        for colours in [Ycbcr::BT601, Ycbcr::BT709, Ycbcr::BT601_FULL] {
            let eight: Vec<u8> = (0..27).map(|at: u8| 20 + at.wrapping_mul(37) % 200).collect();
            let deep = eight.iter().flat_map(|&sample| (u16::from(sample) * 4).to_le_bytes()).collect();
            let eight = Picture::new(size, Format::Ycbcr420(colours), eight).expect("the shape fits");
            let deep = Picture::new(size, Format::Ycbcr420Deep { colours, bits: 10 }, deep).expect("the shape fits");
            let (eight, deep) = (to_rgb(&eight), to_rgb(&deep));
            assert_eq!(deep.format(), Format::Rgb16);
            for (eight, deep) in eight.samples().iter().zip(deep.samples().as_chunks().0) {
                // Half a step of 8 bits is what rounding takes, and factors of whole numbers up to a fiftieth of a step.
                let apart = (u16::from(*eight) * 257).abs_diff(u16::from_le_bytes(*deep));
                assert!(apart <= 134, "{eight}, {deep:?}");
            }
        }
        let white = [940_u16, 941, 512, 512].iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let format = Format::Ycbcr420Deep { colours: Ycbcr::BT709, bits: 10 };
        let white = Picture::new(Size::new(2, 1).expect("a size"), format, white).expect("the shape fits");
        assert!(to_rgb(&white).samples().iter().all(|byte| *byte == 255));
        let black = [64_u16, 65, 512, 512].iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let black = Picture::new(Size::new(2, 1).expect("a size"), format, black).expect("the shape fits");
        let step = to_rgb(&black).samples().as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).max();
        assert_eq!(step, Some(75), "a step of 10 bits is 65535 / 876");
    }

    #[test]
    fn colours_of_bt_709_are_those_of_its_matrix() {
        // Bars of 100 % by ITU-R BT.709-6: red, green, blue, yellow.
        let bars = [([63, 102, 240], [255, 0, 0]), ([173, 42, 26], [0, 255, 0]), ([32, 240, 118], [0, 0, 255])];
        for (bar, colour) in bars {
            let size = Size::new(1, 1).expect("a valid size");
            let pixel = Picture::new(size, Format::Ycbcr420(Ycbcr::BT709), bar.to_vec()).expect("the shape fits");
            let near = to_rgb(&pixel).samples().iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 2);
            assert!(near, "{:?}, not {colour:?}", to_rgb(&pixel).samples());
        }
    }

    #[test]
    fn every_pixel_has_the_differences_of_its_square() {
        let size = Size::new(3, 3).expect("a valid size");
        let samples = [[50; 9].as_slice(), &[100, 120, 140, 160], &[128; 4]].concat();
        let picture = Picture::new(size, Format::Ycbcr420(Ycbcr::BT601_FULL), samples).expect("the shape fits");
        let blue = [100, 100, 120, 100, 100, 120, 140, 140, 160].map(|cb: u8| 50.0 + 1.772 * (f64::from(cb) - 128.0));
        for (pixel, blue) in to_rgb(&picture).samples().chunks_exact(3).zip(blue) {
            assert!((f64::from(pixel[2]) - blue.clamp(0.0, 255.0)).abs() <= 1.0, "{pixel:?}, {blue}");
        }
    }

    #[test]
    fn pixels_with_opacity_are_those_without() {
        let size = Size::new(37, 5).expect("a valid size");
        for colours in [Ycbcr::BT601, Ycbcr::BT709, Ycbcr::BT601_FULL] {
            let mut seed = 1_u32;
            let mut sample = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                seed.to_le_bytes()[3]
            };
            let samples = std::iter::repeat_with(&mut sample).take(37 * 5 + 2 * 19 * 3).collect();
            let picture = Picture::new(size, Format::Ycbcr420(colours), samples).expect("the shape fits");
            let rgb = to_rgb(&picture);
            let mut rgba = vec![7; 3];
            for picture in [&picture, &rgb] {
                assert!(to_rgba(picture, &mut rgba));
                assert_eq!(rgba.len(), 4 * size.pixels());
                for (four, three) in rgba.as_chunks::<4>().0.iter().zip(rgb.samples().as_chunks::<3>().0) {
                    assert_eq!((&four[..3], four[3]), (&three[..], 255));
                }
            }
            // The formula, a pixel at a time.
            let [black, scale, chroma] = factors(colours.range).map(f64::from);
            let [red_cr, green_cb, green_cr, blue_cb] = of_matrix(colours.matrix).map(|factor| factor * chroma);
            for (at, pixel) in rgb.samples().as_chunks::<3>().0.iter().enumerate() {
                let difference = 37 * 5 + at / 37 / 2 * 19 + at % 37 / 2;
                let [luma, cb, cr] = [at, difference, difference + 19 * 3].map(|at| f64::from(picture.samples()[at]));
                let (luma, cb, cr) = ((luma - black) * scale, cb - 128.0, cr - 128.0);
                let expected = [luma + red_cr * cr, luma + green_cb * cb + green_cr * cr, luma + blue_cb * cb];
                for (sample, expected) in pixel.iter().zip(expected) {
                    let expected = (expected / 65_536.0).clamp(0.0, 255.0);
                    assert!((f64::from(*sample) - expected).abs() <= 0.51, "{pixel:?} at {at}");
                }
            }
        }
        let mut rgba = Vec::new();
        let grey = |format| Picture::zero(Size::new(1, 1).expect("a valid size"), format);
        assert!(to_rgba(&grey(Format::Grey), &mut rgba) && !to_rgba(&grey(Format::Rgb16), &mut Vec::new()));
        assert_eq!(rgba, [0, 0, 0, 255]);
    }

    #[test]
    fn what_has_no_differences_is_borrowed() {
        let grey = Picture::zero(Size::new(3, 1).expect("a valid size"), Format::Grey);
        assert!(matches!(to_rgb(&grey), Cow::Borrowed(same) if *same == grey));
        let mut luma = [0, 16, 126, 235, 255];
        expand(&mut luma);
        assert_eq!(luma, [0, 0, 128, 255, 255]);
    }
}
