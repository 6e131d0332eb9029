//! How near a decoded picture is to its original: RGB PSNR and MS-SSIM.
//!
//! Both work on 8-bit samples as a viewer gets them. MS-SSIM is that of Wang, Simoncelli and Bovik (2003): five scales,
//! 11x11 Gaussian window of standard deviation 1.5, the five published exponents; computed for each of R, G and B and
//! averaged, as CompressAI and pytorch_msssim do. (The paper itself takes luma alone: its figures are not comparable.)

use anyhow::{Result, ensure};

use crate::picture::{CHANNELS, Picture};

/// The largest sample.
const PEAK: f64 = 255.0;

/// Exponents of the scales, finest first (Wang 2003, section 4).
const SCALE_EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];

/// Taps of the Gaussian window, and its standard deviation in pixels.
const TAPS: usize = 11;
const SIGMA: f64 = 1.5;

/// The stabilising constants of SSIM: (0.01 peak)^2 and (0.03 peak)^2.
const C1: f32 = 6.5025;
const C2: f32 = 58.5225;

/// The shortest side with room for the window at the coarsest scale, a sixteenth of the picture: more than 10 * 16.
pub const MS_SSIM_MIN_SIDE: u32 = 161;

/// Peak signal-to-noise ratio in dB: of the mean squared error over all samples of all three channels.
///
/// Infinite for equal pictures.
pub fn psnr(original: &Picture, decoded: &Picture) -> Result<f64> {
    same_shape(original, decoded)?;
    let pairs = original.rgb().iter().zip(decoded.rgb());
    let squares: u64 = pairs.map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum();
    let mse = squares as f64 / original.rgb().len() as f64;
    Ok(10.0 * (PEAK * PEAK / mse).log10())
}

/// MS-SSIM, 0 to 1; `None` where a side is shorter than [`MS_SSIM_MIN_SIDE`].
pub fn ms_ssim(original: &Picture, decoded: &Picture) -> Result<Option<f64>> {
    same_shape(original, decoded)?;
    if original.width().min(original.height()) < MS_SSIM_MIN_SIDE {
        return Ok(None);
    }
    let sum: f64 = (0..CHANNELS).map(|c| channel_ms_ssim(Plane::of(original, c), Plane::of(decoded, c))).sum();
    Ok(Some(sum / CHANNELS as f64))
}

/// MS-SSIM on the scale of its error, in dB: `-10 log10(1 - value)`. What plots and BD-rates use.
pub fn ms_ssim_db(value: f64) -> f64 {
    -10.0 * (1.0 - value).log10()
}

fn same_shape(a: &Picture, b: &Picture) -> Result<()> {
    let shapes = [a, b].map(|picture| (picture.width(), picture.height()));
    ensure!(shapes[0] == shapes[1], "pictures of two shapes: {shapes:?}");
    Ok(())
}

/// One channel at one scale: row, column.
struct Plane {
    width: usize,
    samples: Vec<f32>,
}

impl Plane {
    fn of(picture: &Picture, channel: usize) -> Self {
        let samples = picture.rgb().iter().skip(channel).step_by(CHANNELS).map(|&sample| f32::from(sample)).collect();
        Self { width: picture.width() as usize, samples }
    }

    fn height(&self) -> usize {
        self.samples.len() / self.width
    }

    fn times(&self, other: &Self) -> Self {
        let samples = self.samples.iter().zip(&other.samples).map(|(a, b)| a * b).collect();
        Self { width: self.width, samples }
    }

    /// The Gaussian mean around every pixel that has the whole window inside.
    fn blurred(&self, window: &[f32; TAPS]) -> Self {
        let width = self.width;
        let mut column = vec![0.0; width];
        let narrow = width - (TAPS - 1);
        let mut samples = Vec::with_capacity(narrow * (self.height() - (TAPS - 1)));
        for rows in self.samples.windows(width * TAPS).step_by(width) {
            column.fill(0.0);
            for (row, &weight) in rows.chunks_exact(width).zip(window) {
                for (sum, &sample) in column.iter_mut().zip(row) {
                    *sum += weight * sample;
                }
            }
            let start = samples.len();
            samples.resize(start + narrow, 0.0);
            for (tap, &weight) in window.iter().enumerate() {
                for (sum, &sample) in samples[start..].iter_mut().zip(&column[tap..]) {
                    *sum += weight * sample;
                }
            }
        }
        Self { width: narrow, samples }
    }

    /// Half the size: means of 2x2 pixels. An odd side gets a border of zeros on both ends first, as in pytorch_msssim.
    fn halved(&self) -> Self {
        let (width, height) = (self.width, self.height());
        let (odd_x, odd_y) = (width % 2, height % 2);
        let at = |x: usize, y: usize| match (x.checked_sub(odd_x), y.checked_sub(odd_y)) {
            (Some(x), Some(y)) if x < width && y < height => self.samples[y * width + x],
            _ => 0.0,
        };
        let (half_width, half_height) = (width.div_ceil(2), height.div_ceil(2));
        let mut samples = Vec::with_capacity(half_width * half_height);
        for y in (0..half_height).map(|y| 2 * y) {
            for x in (0..half_width).map(|x| 2 * x) {
                samples.push(0.25 * (at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1)));
            }
        }
        Self { width: half_width, samples }
    }
}

fn channel_ms_ssim(mut a: Plane, mut b: Plane) -> f64 {
    let window = window();
    let coarsest = SCALE_EXPONENTS.len() - 1;
    let mut product = 1.0;
    for (scale, exponent) in SCALE_EXPONENTS.into_iter().enumerate() {
        let (structure, similarity) = scale_means(&a, &b, &window);
        let mean = if scale == coarsest { similarity } else { structure };
        product *= mean.max(0.0).powf(exponent);
        if scale < coarsest {
            (a, b) = (a.halved(), b.halved());
        }
    }
    product
}

/// Means over one scale: of the contrast-structure term, and of that times the luminance term.
fn scale_means(a: &Plane, b: &Plane, window: &[f32; TAPS]) -> (f64, f64) {
    let means = [a.blurred(window), b.blurred(window)];
    let squares = [a.times(a).blurred(window), b.times(b).blurred(window)];
    let products = a.times(b).blurred(window);
    let (mut structure, mut similarity) = (0.0, 0.0);
    for i in 0..products.samples.len() {
        let (ma, mb) = (means[0].samples[i], means[1].samples[i]);
        let variances = squares[0].samples[i] + squares[1].samples[i] - ma * ma - mb * mb;
        let covariance = products.samples[i] - ma * mb;
        let term = (2.0 * covariance + C2) / (variances + C2);
        let luminance = (2.0 * ma * mb + C1) / (ma * ma + mb * mb + C1);
        structure += f64::from(term);
        similarity += f64::from(term * luminance);
    }
    let count = products.samples.len() as f64;
    (structure / count, similarity / count)
}

#[expect(clippy::cast_possible_truncation, reason = "weights need no more than f32")]
fn window() -> [f32; TAPS] {
    let weight = |tap: usize| (-(tap as f64 - (TAPS / 2) as f64).powi(2) / (2.0 * SIGMA * SIGMA)).exp();
    let sum: f64 = (0..TAPS).map(weight).sum();
    std::array::from_fn(|tap| (weight(tap) / sum) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, sample: impl Fn(u32, u32, u32) -> u32) -> Picture {
        let positions = (0..height).flat_map(|y| (0..width).flat_map(move |x| (0..3).map(move |c| (x, y, c))));
        let rgb = positions.map(|(x, y, c)| u8::try_from(sample(x, y, c)).expect("a byte")).collect();
        Picture::new(width, height, rgb).expect("the shape fits")
    }

    fn pattern(x: u32, y: u32, c: u32) -> u32 {
        (x * (3 + c) + y * (5 - c) + x * y * (c + 1) / 64) % 256
    }

    /// Half the contrast, and a regular noise of -11 to 11.
    fn faded(x: u32, y: u32, c: u32) -> u32 {
        (pattern(x, y, c) / 2 + 64 + (x * 31 + y * 17) % 23 - 11).min(255)
    }

    #[test]
    fn psnr_of_a_constant_error() {
        let (a, b) = (picture(8, 4, |_, _, _| 100), picture(8, 4, |_, _, _| 110));
        assert!((psnr(&a, &b).expect("one shape") - 28.130_803_608).abs() < 1e-6);
        assert_eq!(psnr(&a, &a).expect("one shape"), f64::INFINITY);
    }

    #[test]
    fn psnr_pools_the_channels() {
        // An error of 3 in red only: the mean squared error is 9 / 3.
        let (a, b) = (picture(8, 4, |_, _, _| 50), picture(8, 4, |_, _, c| if c == 0 { 53 } else { 50 }));
        assert!((psnr(&a, &b).expect("one shape") - 43.359_591_5).abs() < 1e-6);
    }

    #[test]
    fn shapes_must_agree() {
        assert!(psnr(&picture(8, 4, |_, _, _| 0), &picture(4, 8, |_, _, _| 0)).is_err());
    }

    #[test]
    fn ms_ssim_of_equals_is_one() {
        let a = picture(176, 176, pattern);
        let value = ms_ssim(&a, &a).expect("one shape").expect("large enough");
        assert!((value - 1.0).abs() < 1e-6, "{value}");
    }

    /// The figures are from a double-precision script that spells out pytorch_msssim; the second has odd sides.
    #[test]
    fn metrics_agree_with_the_reference() {
        for (width, height, psnr_db, similarity) in
            [(192, 176, 16.658_365_486, 0.802_078_536), (181, 203, 16.652_345_854, 0.802_476_426)]
        {
            let (a, b) = (picture(width, height, pattern), picture(width, height, faded));
            assert!((psnr(&a, &b).expect("one shape") - psnr_db).abs() < 1e-6);
            let value = ms_ssim(&a, &b).expect("one shape").expect("large enough");
            assert!((value - similarity).abs() < 2e-5, "{value} {similarity}");
        }
    }

    #[test]
    fn small_pictures_have_no_ms_ssim() {
        let a = picture(160, 200, pattern);
        assert_eq!(ms_ssim(&a, &a).expect("one shape"), None);
    }

    #[test]
    fn decibels_of_similarity() {
        assert!((ms_ssim_db(0.99) - 20.0).abs() < 1e-9);
    }
}
