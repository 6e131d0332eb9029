//! MS-SSIM: the structural similarity of two pictures at five scales, multiplied.
//!
//! The definition is that of Wang, Simoncelli and Bovik ("Multi-scale structural similarity for image quality
//! assessment", Asilomar 2003): an 11x11 Gaussian window of standard deviation 1.5, used only where all of it is
//! inside, and their five exponents. The paper measures luma. This module measures each channel and averages the
//! channels, as pytorch_msssim does, which CompressAI and most papers on learned codecs use: no padding except for odd
//! sides, negative means count as zero.

use nestcast_codec::{Channels, Picture, Size};
use nestcast_media::to_rgb;

use super::shape::shape;

/// The exponents of the scales, finest first (the paper's cross-scale calibration).
const SCALE_EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];
/// Taps of the window along a side.
const WINDOW_TAPS: usize = 11;
/// The window's standard deviation, pixels.
const WINDOW_SIGMA: f64 = 1.5;
/// Keeps the luminance term finite where both pictures are black: (0.01 * 255)^2.
const LUMINANCE_CONSTANT: f32 = 6.5025;
/// Keeps the contrast-structure term finite where both pictures are flat: (0.03 * 255)^2.
const STRUCTURE_CONSTANT: f32 = 58.5225;

/// Returns MS-SSIM on the scale of its error, in dB: `-10 log10(1 - value)`. Plots and BD-rates use it.
#[must_use]
pub fn ms_ssim_db(value: f64) -> f64 {
    -10.0 * (1.0 - value).log10()
}

/// An original, prepared for comparison with many decoded pictures.
#[derive(Debug)]
pub struct MsSsim {
    /// The scales by channel, finest first.
    channels: Vec<Vec<Scale>>,
    shape: (Size, Channels),
}

/// One channel of the original at one scale, with its windowed statistics.
#[derive(Debug)]
struct Scale {
    plane: Plane,
    mean: Plane,
    mean_square: Plane,
}

impl MsSsim {
    /// The shortest side that can be measured: the window must fit into the coarsest scale, a sixteenth rounded up.
    pub const MIN_SIDE: usize = (WINDOW_TAPS - 1) * 16 + 1;

    /// Prepares an original; `None` if a side is shorter than [`MIN_SIDE`](Self::MIN_SIDE).
    #[must_use]
    pub fn new(original: &Picture) -> Option<Self> {
        if original.size().width().min(original.size().height()) < Self::MIN_SIDE {
            return None;
        }
        let original = &*to_rgb(original);
        let window = window();
        let scale = |plane: Plane| Scale {
            mean: plane.blurred(&window),
            mean_square: plane.times(&plane).blurred(&window),
            plane,
        };
        let each = 0..original.channels().count();
        let channels = each.map(|channel| scales(Plane::of(original, channel)).map(scale).collect());
        Some(Self { channels: channels.collect(), shape: shape(original) })
    }

    /// Returns MS-SSIM, 0 to 1; equal pictures give 1.
    ///
    /// # Panics
    /// If the pictures differ in size or channels; a decoder keeps both.
    #[must_use]
    pub fn compare(&self, decoded: &Picture) -> f64 {
        assert_eq!(self.shape, shape(decoded), "only pictures of one shape can be compared");
        let decoded = &*to_rgb(decoded);
        let window = window();
        let channels = self.channels.iter().enumerate();
        let sum: f64 = channels.map(|(index, original)| channel(original, Plane::of(decoded, index), &window)).sum();
        sum / self.channels.len() as f64
    }
}

/// Returns a channel at all scales, finest first.
fn scales(plane: Plane) -> impl Iterator<Item = Plane> {
    std::iter::successors(Some(plane), |plane| Some(plane.halved())).take(SCALE_EXPONENTS.len())
}

fn channel(original: &[Scale], decoded: Plane, window: &[f32; WINDOW_TAPS]) -> f64 {
    let mut product = 1.0;
    for (index, (a, b)) in original.iter().zip(scales(decoded)).enumerate() {
        let (structure, similarity) = means(a, &b, window);
        let coarsest = index + 1 == SCALE_EXPONENTS.len();
        let mean = if coarsest { similarity } else { structure };
        product *= mean.max(0.0).powf(SCALE_EXPONENTS[index]);
    }
    product
}

/// Returns the means over one scale of the contrast-structure term, and of that times the luminance term.
fn means(a: &Scale, b: &Plane, window: &[f32; WINDOW_TAPS]) -> (f64, f64) {
    let mean = b.blurred(window);
    let mean_square = b.times(b).blurred(window);
    let mean_product = a.plane.times(b).blurred(window);
    let mut structure = 0.0;
    let mut similarity = 0.0;
    for i in 0..mean.samples.len() {
        let ma = a.mean.samples[i];
        let mb = mean.samples[i];
        let variances = a.mean_square.samples[i] + mean_square.samples[i] - ma * ma - mb * mb;
        let covariance = mean_product.samples[i] - ma * mb;
        let term = (2.0 * covariance + STRUCTURE_CONSTANT) / (variances + STRUCTURE_CONSTANT);
        let luminance = (2.0 * ma * mb + LUMINANCE_CONSTANT) / (ma * ma + mb * mb + LUMINANCE_CONSTANT);
        structure += f64::from(term);
        similarity += f64::from(term * luminance);
    }
    let count = mean.samples.len() as f64;
    (structure / count, similarity / count)
}

/// One channel at one scale: row, column.
#[derive(Debug)]
struct Plane {
    width: usize,
    samples: Vec<f32>,
}

impl Plane {
    fn of(picture: &Picture, channel: usize) -> Self {
        let samples = picture.samples().iter().skip(channel);
        let samples = samples.step_by(picture.channels().count()).map(|&sample| f32::from(sample));
        Self { width: picture.size().width(), samples: samples.collect() }
    }

    fn times(&self, other: &Self) -> Self {
        let samples = self.samples.iter().zip(&other.samples).map(|(a, b)| a * b);
        Self { width: self.width, samples: samples.collect() }
    }

    /// Returns the Gaussian mean around every pixel whose whole window is inside.
    fn blurred(&self, window: &[f32; WINDOW_TAPS]) -> Self {
        let width = self.width;
        let narrow = width + 1 - WINDOW_TAPS;
        let rows = self.samples.len() / width + 1 - WINDOW_TAPS;
        let mut column = vec![0.0; width];
        let mut samples = vec![0.0; narrow * rows];
        for (out, around) in
            samples.chunks_exact_mut(narrow).zip(self.samples.windows(width * WINDOW_TAPS).step_by(width))
        {
            column.fill(0.0);
            for (row, &weight) in around.chunks_exact(width).zip(window) {
                add(&mut column, row, weight);
            }
            for (tap, &weight) in window.iter().enumerate() {
                add(out, &column[tap..], weight);
            }
        }
        Self { width: narrow, samples }
    }

    /// Halves the size with means of 2x2 pixels. An odd side first gets a border of zeros on both ends, as in
    /// pytorch_msssim.
    fn halved(&self) -> Self {
        let width = self.width;
        let height = self.samples.len() / self.width;
        let odd_x = width % 2;
        let odd_y = height % 2;
        let at = |x: usize, y: usize| match (x.checked_sub(odd_x), y.checked_sub(odd_y)) {
            (Some(x), Some(y)) if x < width && y < height => self.samples[y * width + x],
            _ => 0.0,
        };
        let half_width = width.div_ceil(2);
        let half_height = height.div_ceil(2);
        let mut samples = Vec::with_capacity(half_width * half_height);
        for y in (0..half_height).map(|y| 2 * y) {
            for x in (0..half_width).map(|x| 2 * x) {
                samples.push(0.25 * (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)));
            }
        }
        Self { width: half_width, samples }
    }
}

fn add(sums: &mut [f32], samples: &[f32], weight: f32) {
    for (sum, &sample) in sums.iter_mut().zip(samples) {
        *sum += weight * sample;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "weights need no more than f32")]
fn window() -> [f32; WINDOW_TAPS] {
    let weight =
        |tap: usize| (-(tap as f64 - (WINDOW_TAPS / 2) as f64).powi(2) / (2.0 * WINDOW_SIGMA * WINDOW_SIGMA)).exp();
    let sum: f64 = (0..WINDOW_TAPS).map(weight).sum();
    std::array::from_fn(|tap| (weight(tap) / sum) as f32)
}

#[cfg(test)]
mod tests {
    use super::super::testdata::{faded, pattern, picture};
    use super::*;

    fn similarity(original: &Picture, decoded: &Picture) -> f64 {
        MsSsim::new(original).expect("large enough").compare(decoded)
    }

    /// The figures come from a double-precision script that spells out pytorch_msssim; the second has odd sides.
    #[test]
    fn agrees_with_the_reference() {
        for (sides, expected) in [([192, 176], 0.802_078_536), ([181, 203], 0.802_476_426)] {
            let [a, b] = [pattern, faded].map(|sample| picture(sides, Channels::Rgb, sample));
            let value = similarity(&a, &b);
            assert!((value - expected).abs() < 2e-5, "{value} {expected}");
        }
    }

    #[test]
    fn equals_have_one() {
        let a = picture([176, 176], Channels::Rgb, pattern);
        let value = similarity(&a, &a);
        assert!((value - 1.0).abs() < 1e-6, "{value}");
    }

    #[test]
    fn grey_is_one_channel_of_rgb() {
        let rgb = [pattern, faded].map(|sample| picture([176, 176], Channels::Rgb, move |x, y, _| sample(x, y, 0)));
        let grey = [pattern, faded].map(|sample| picture([176, 176], Channels::Grey, sample));
        assert!((similarity(&rgb[0], &rgb[1]) - similarity(&grey[0], &grey[1])).abs() < 1e-12);
    }

    #[test]
    fn small_pictures_have_none() {
        let measured = |sides| MsSsim::new(&picture(sides, Channels::Grey, pattern)).is_some();
        assert!(!measured([160, 200]) && !measured([300, 160]));
        assert!(measured([161, 161]));
    }

    #[test]
    #[should_panic(expected = "one shape")]
    fn shapes_must_agree() {
        let [a, b] = [[176, 192], [192, 176]].map(|sides| picture(sides, Channels::Rgb, pattern));
        let _ = similarity(&a, &b);
    }

    #[test]
    fn decibels_of_similarity() {
        assert!((ms_ssim_db(0.99) - 20.0).abs() < 1e-9);
    }
}
