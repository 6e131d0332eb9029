//! BT.601 as matrices between red, green, blue and luma with two colour differences (ITU-R BT.601-7, section 2.5; spec,
//! "YCbCr").

use crate::picture::Range;

/// The weights of red and blue in luma.
const RED: f64 = 0.299;
const BLUE: f64 = 0.114;
const GREEN: f64 = 1.0 - RED - BLUE;

/// Returns full range divided by this range, for luma and for the colour differences.
const fn scale(range: Range) -> [f64; 2] {
    match range {
        Range::Full => [1.0, 1.0],
        Range::Limited => [255.0 / 219.0, 255.0 / 224.0],
    }
}

/// The luma of a grey of 128.
#[expect(clippy::cast_possible_truncation, reason = "samples are converted in single precision")]
pub(super) fn middle(range: Range) -> f32 {
    match range {
        Range::Full => 128.0,
        Range::Limited => (16.0 + 128.0 * 219.0 / 255.0) as f32,
    }
}

/// The matrix from luma less [`middle`] and both differences less 128 to red, green, blue less 128; row-major.
pub(super) fn to_rgb(range: Range) -> [f64; 9] {
    let [luma, chroma] = scale(range);
    let red = 2.0 * (1.0 - RED) * chroma;
    let blue = 2.0 * (1.0 - BLUE) * chroma;
    let green_blue = -blue * BLUE / GREEN;
    let green_red = -red * RED / GREEN;
    [luma, 0.0, red, luma, green_blue, green_red, luma, blue, 0.0]
}

/// The inverse matrix.
pub(super) fn from_rgb(range: Range) -> [f64; 9] {
    let [luma, chroma] = scale(range);
    let y = [RED, GREEN, BLUE];
    let difference = |colour: usize, share: f64| {
        let row: [f64; 3] = std::array::from_fn(|at| f64::from(u8::from(at == colour)) - y[at]);
        row.map(|value| value / (2.0 * (1.0 - share) * chroma))
    };
    let rows = [y.map(|value| value / luma), difference(2, BLUE), difference(0, RED)];
    std::array::from_fn(|at| rows[at / 3][at % 3])
}

/// Returns a function that converts pixels to red, green, blue, rounded and clipped to 0..=255.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
pub(super) fn pixels(range: Range) -> impl Fn([u8; 3]) -> [u8; 3] {
    let m = to_rgb(range);
    let middle = f64::from(middle(range));
    move |[luma, blue, red]| {
        let [luma, blue, red] = [f64::from(luma) - middle, f64::from(blue) - 128.0, f64::from(red) - 128.0];
        std::array::from_fn(|row| {
            let value = m[3 * row] * luma + m[3 * row + 1] * blue + m[3 * row + 2] * red;
            (value + 128.5).clamp(0.0, 255.0) as u8
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrices_are_each_others_inverse_and_colour_bars_those_of_bt_601() {
        for range in [Range::Full, Range::Limited] {
            let there = to_rgb(range);
            let back = from_rgb(range);
            for i in 0..9 {
                let product: f64 = (0..3).map(|k| back[i / 3 * 3 + k] * there[3 * k + i % 3]).sum();
                assert!((product - f64::from(u8::from(i % 4 == 0))).abs() < 1e-12, "{range:?}");
            }
        }
        for (colour, bar) in [([0; 3], [16, 128, 128]), ([255; 3], [235, 128, 128]), ([255, 0, 0], [81, 90, 240])] {
            let near = pixels(Range::Limited)(bar);
            assert!(near.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 2), "{bar:?} is {near:?}");
        }
    }
}
