//! Matrices between red, green, blue and luma with two colour differences (ITU-R BT.601-7, section 2.5; ITU-R BT.709-6,
//! section 3; spec, "YCbCr").

use crate::picture::{Matrix, Range, Ycbcr};

/// Shares of red, green and blue in luma.
const fn shares(matrix: Matrix) -> [f64; 3] {
    let [red, blue] = match matrix {
        Matrix::Bt601 => [0.299, 0.114],
        Matrix::Bt709 => [0.2126, 0.0722],
    };
    [red, 1.0 - red - blue, blue]
}

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

/// From luma less [`middle`] and both differences less 128 to red, green, blue less 128; row-major.
pub(super) fn to_rgb(colours: Ycbcr) -> [f64; 9] {
    let [luma, chroma] = scale(colours.range);
    let [share_red, share_green, share_blue] = shares(colours.matrix);
    let red = 2.0 * (1.0 - share_red) * chroma;
    let blue = 2.0 * (1.0 - share_blue) * chroma;
    let green_blue = -blue * share_blue / share_green;
    let green_red = -red * share_red / share_green;
    [luma, 0.0, red, luma, green_blue, green_red, luma, blue, 0.0]
}

/// The way back.
pub(super) fn from_rgb(colours: Ycbcr) -> [f64; 9] {
    let [luma, chroma] = scale(colours.range);
    let y = shares(colours.matrix);
    let difference = |colour: usize, share: f64| {
        let row: [f64; 3] = std::array::from_fn(|at| f64::from(u8::from(at == colour)) - y[at]);
        row.map(|value| value / (2.0 * (1.0 - share) * chroma))
    };
    let rows = [y.map(|value| value / luma), difference(2, y[2]), difference(0, y[0])];
    std::array::from_fn(|at| rows[at / 3][at % 3])
}

/// Returns a function that converts pixels to red, green, blue, rounded and clipped to 0..=255.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clipped")]
pub(super) fn pixels(colours: Ycbcr) -> impl Fn([u8; 3]) -> [u8; 3] {
    let m = to_rgb(colours);
    let middle = f64::from(middle(colours.range));
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
    fn the_matrices_are_each_others_inverse_and_colour_bars_those_of_the_standards() {
        for (range, matrix) in [
            (Range::Full, Matrix::Bt601),
            (Range::Limited, Matrix::Bt601),
            (Range::Full, Matrix::Bt709),
            (Range::Limited, Matrix::Bt709),
        ] {
            let colours = Ycbcr { range, matrix };
            let there = to_rgb(colours);
            let back = from_rgb(colours);
            for i in 0..9 {
                let product: f64 = (0..3).map(|k| back[i / 3 * 3 + k] * there[3 * k + i % 3]).sum();
                assert!((product - f64::from(u8::from(i % 4 == 0))).abs() < 1e-12, "{colours:?}");
            }
        }
        // Red of 100 % by BT.709.
        let red = pixels(Ycbcr::BT709)([63, 102, 240]);
        assert!(red.iter().zip([255, 0, 0]).all(|(a, b)| a.abs_diff(b) <= 2), "{red:?}");
        for (colour, bar) in [([0; 3], [16, 128, 128]), ([255; 3], [235, 128, 128]), ([255, 0, 0], [81, 90, 240])] {
            let near = pixels(Ycbcr::BT601)(bar);
            assert!(near.iter().zip(colour).all(|(a, b)| a.abs_diff(b) <= 2), "{bar:?} is {near:?}");
        }
    }
}
