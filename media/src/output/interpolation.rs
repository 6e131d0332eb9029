//! Converts frames of video to red, green and blue for files: interpolates colour differences between the places where
//! the video has them. [`crate::to_rgb`] is faster, and repeats each of them for its 2x2 pixels.

use std::borrow::Cow;

use nestcast_codec::{Display, Format, Picture, Scan, Siting, Ycbcr};

use crate::rgb::{factors, of_matrix};

/// The samples that an interpolated one is made of.
const TAPS: usize = 4;
/// Weights of a cubic convolution (Keys 1981, a = -1/2) a quarter, a half and three quarters after the second of four
/// samples, and on it.
const ON_SAMPLE: [f32; TAPS] = [0.0, 1.0, 0.0, 0.0];
const QUARTER: [f32; TAPS] = [-0.070_312_5, 0.867_187_5, 0.226_562_5, -0.023_437_5];
const HALF: [f32; TAPS] = [-0.0625, 0.5625, 0.5625, -0.0625];
const THREE_QUARTERS: [f32; TAPS] = [-0.023_437_5, 0.226_562_5, 0.867_187_5, -0.070_312_5];

/// Converts a planar picture to interleaved RGB, of 16 bits if it has more than 8. Returns others borrowed.
pub(super) fn to_rgb(picture: &Picture, display: Display) -> Cow<'_, Picture> {
    match picture.format() {
        Format::Ycbcr420(colours) => {
            let samples = picture.samples();
            let value = |at: usize| f32::from(samples[at]);
            let mut rgb = Picture::zero(picture.size(), Format::Rgb);
            let (pixels, _) = rgb.samples_mut().as_chunks_mut::<3>();
            convert(picture, colours, display, value, |at, colour| pixels[at] = colour.map(byte));
            Cow::Owned(rgb)
        }
        Format::Ycbcr420Deep { colours, bits } => {
            let (samples, _) = picture.samples().as_chunks();
            // On the scale of 8 bits.
            let step = 1.0 / f32::from(1_u16 << bits.clamp(8, 16).abs_diff(8));
            let value = |at: usize| f32::from(u16::from_le_bytes(samples[at])) * step;
            let mut rgb = Picture::zero(picture.size(), Format::Rgb16);
            let (pixels, _) = rgb.samples_mut().as_chunks_mut::<6>();
            convert(picture, colours, display, value, |at, colour| {
                let (samples, _) = pixels[at].as_chunks_mut();
                samples.iter_mut().zip(colour).for_each(|(sample, colour)| *sample = short(colour).to_le_bytes());
            });
            Cow::Owned(rgb)
        }
        _ => Cow::Borrowed(picture),
    }
}

/// Calls `put` with each pixel's number and colour. `value` returns a sample of the planes on the scale of 8 bits.
fn convert(
    picture: &Picture,
    colours: Ycbcr,
    display: Display,
    value: impl Fn(usize) -> f32,
    mut put: impl FnMut(usize, [f32; 3]),
) {
    #[expect(clippy::cast_possible_truncation, reason = "single precision is enough for 16 bits")]
    let [black, scale, chroma] = factors(colours.range).map(|factor| (f64::from(factor) / 65_536.0) as f32);
    #[expect(clippy::cast_possible_truncation, reason = "as above")]
    let [red_cr, green_cb, green_cr, blue_cb] = of_matrix(colours.matrix).map(|factor| factor as f32 * chroma);
    let black = black * 65_536.0;
    let size = picture.size();
    let [width, height] = [size.width(), size.height()];
    let [across, down] = [width.div_ceil(2), height.div_ceil(2)];
    let planes = [width * height, width * height + across * down];
    let columns: Vec<_> = (0..width).map(|x| column(x, display.siting, across)).collect();
    let mut rows = [vec![0.0; across], vec![0.0; across]];
    for y in 0..height {
        let (places, weights) = row(y, display.scan, down);
        for (plane, out) in planes.iter().zip(&mut rows) {
            for (x, out) in out.iter_mut().enumerate() {
                *out = weighted(places.map(|row| value(plane + row * across + x) - 128.0), weights);
            }
        }
        for (x, &(places, weights)) in columns.iter().enumerate() {
            let [cb, cr] = [0, 1].map(|plane: usize| weighted(places.map(|x| rows[plane][x]), weights));
            let luma = (value(y * width + x) - black) * scale;
            put(y * width + x, [luma + red_cr * cr, luma + green_cb * cb + green_cr * cr, luma + blue_cb * cb]);
        }
    }
}

/// Returns the four samples of a row that a column is made of, and their weights.
fn column(x: usize, siting: Siting, across: usize) -> ([usize; TAPS], [f32; TAPS]) {
    match (siting, x % 2) {
        (Siting::Centre, 0) => (around(x / 2, 2, across), THREE_QUARTERS),
        (Siting::Centre, _) => (around(x / 2, 1, across), QUARTER),
        (_, 0) => (around(x / 2, 1, across), ON_SAMPLE),
        (_, _) => (around(x / 2, 1, across), HALF),
    }
}

/// Returns the four rows of colour differences that a row is made of, and their weights. A row of an interlaced picture
/// has those of its field. In PAL's DV the rows of Cb and Cr differ; this takes their middle.
fn row(y: usize, scan: Scan, down: usize) -> ([usize; TAPS], [f32; TAPS]) {
    match (scan, y % 2) {
        (Scan::TopFirst | Scan::BottomFirst, field) => ([(y / 4 * 2 + field).min(down - 1); TAPS], ON_SAMPLE),
        (_, 0) => (around(y / 2, 2, down), THREE_QUARTERS),
        (_, _) => (around(y / 2, 1, down), QUARTER),
    }
}

/// Returns the places of four samples in a row, of which `at` is the one after `before`. Those at the ends are repeated.
fn around(at: usize, before: usize, count: usize) -> [usize; TAPS] {
    [0, 1, 2, 3].map(|tap| (at + tap).saturating_sub(before).min(count - 1))
}

fn weighted(samples: [f32; TAPS], weights: [f32; TAPS]) -> f32 {
    let [first, second, third, last] = [0, 1, 2, 3].map(|tap: usize| samples[tap] * weights[tap]);
    (second + third) + (first + last)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn byte(value: f32) -> u8 {
    value.round().clamp(0.0, f32::from(u8::MAX)) as u8
}

/// Converts from the scale of 8 bits to 16, whose white is 65535 = 255 * 257.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn short(value: f32) -> u16 {
    (257.0 * value).round().clamp(0.0, f32::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;

    use super::*;

    const WIDTH: usize = 21;
    const HEIGHT: usize = 15;

    /// A picture of one luma, with these colour differences for each place of the half-size planes.
    fn picture(bits: u8, differences: impl Fn(u16, u16) -> u16) -> Picture {
        let size = Size::new(21, 15).expect("a size");
        let plane: Vec<u16> = (0..88).map(|at| differences(at % 11, at / 11)).collect();
        let samples = std::iter::repeat_n(120 << (bits - 8), WIDTH * HEIGHT).chain(plane.repeat(2));
        if bits > 8 {
            let samples = samples.flat_map(u16::to_le_bytes).collect();
            let format = Format::Ycbcr420Deep { colours: Ycbcr::BT601_FULL, bits };
            return Picture::new(size, format, samples).expect("the shape fits");
        }
        let samples = samples.map(|sample| sample.to_le_bytes()[0]).collect();
        Picture::new(size, Format::Ycbcr420(Ycbcr::BT601_FULL), samples).expect("the shape fits")
    }

    /// Returns the blue of each pixel, on the scale of 8 bits.
    fn blues(picture: &Picture, display: Display) -> Vec<f64> {
        let rgb = to_rgb(picture, display);
        match rgb.format() {
            Format::Rgb => rgb.samples().as_chunks::<3>().0.iter().map(|pixel| f64::from(pixel[2])).collect(),
            Format::Rgb16 => {
                let blue = |pixel: &[u8; 6]| f64::from(u16::from_le_bytes([pixel[4], pixel[5]])) / 257.0;
                rgb.samples().as_chunks::<6>().0.iter().map(blue).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn colours_that_change_evenly_stay_even_between_samples() {
        // A sample lies in the middle of its pixels, or at the left of their middle.
        for (siting, left) in [(Siting::Centre, 0.5), (Siting::Left, 0.0)] {
            for bits in [8, 10] {
                let display = Display { siting, ..Display::default() };
                let shown = blues(&picture(bits, |x, y| (100 + 4 * x + 2 * y) << (bits - 8)), display);
                for at in
                    (0..WIDTH * HEIGHT).filter(|at| (3..17).contains(&(at % WIDTH)) && (3..11).contains(&(at / WIDTH)))
                {
                    let [x, y] = [at % WIDTH, at / WIDTH].map(|place| place as f64);
                    let cb = 100.0 + 4.0 * (x - left) / 2.0 + 2.0 * (y - 0.5) / 2.0;
                    let expected = 120.0 + 1.772 * (cb - 128.0);
                    let tolerance = if bits > 8 { 0.01 } else { 0.51 };
                    assert!(
                        (shown[at] - expected).abs() < tolerance,
                        "{siting:?}, {x}, {y}: {}, {expected}",
                        shown[at]
                    );
                }
            }
        }
    }

    #[test]
    fn fields_of_interlaced_frames_keep_their_colours() {
        let fields = picture(8, |_, y| if y % 2 == 0 { 100 } else { 160 });
        for scan in [Scan::TopFirst, Scan::BottomFirst] {
            let shown = blues(&fields, Display { scan, ..Display::default() });
            for (at, blue) in shown.iter().enumerate() {
                let cb = if (at / WIDTH).is_multiple_of(2) { 100.0 } else { 160.0 };
                let expected: f64 = 120.0 + 1.772 * (cb - 128.0);
                assert!((blue - expected).abs() <= 0.51, "row {}: {blue}, {expected}", at / WIDTH);
            }
        }
    }

    #[test]
    fn one_colour_is_that_of_the_fast_conversion() {
        for bits in [8, 10] {
            let flat = picture(bits, |_, _| 90 << (bits - 8));
            let (smooth, fast) = (to_rgb(&flat, Display::default()), crate::to_rgb(&flat));
            assert_eq!(smooth.format(), fast.format());
            // Factors of whole numbers differ by up to a step of 8 bits.
            let near = smooth.samples().iter().zip(fast.samples()).all(|(a, b)| a.abs_diff(*b) <= 1);
            assert!(near || bits > 8, "{:?}, {:?}", &smooth.samples()[..3], &fast.samples()[..3]);
        }
        let grey = Picture::zero(Size::new(3, 1).expect("a size"), Format::Grey);
        assert!(matches!(to_rgb(&grey, Display::default()), Cow::Borrowed(_)));
    }
}
