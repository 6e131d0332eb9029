//! MS-SSIM of Wang, Simoncelli and Bovik (2003): five scales, an 11x11 Gaussian window of standard deviation 1.5, the
//! five published exponents; of each channel, averaged, as pytorch_msssim and CompressAI do.

use nestcast_codec::Picture;

/// Exponents of the scales, finest first (section 4 of the paper).
const EXPONENTS: [f64; 5] = [0.0448, 0.2856, 0.3001, 0.2363, 0.1333];
/// Taps of the window along a side, and its standard deviation in pixels.
const TAPS: usize = 11;
const SIGMA: f64 = 1.5;
/// The stabilising constants: (0.01 * 255)^2 and (0.03 * 255)^2.
const C1: f32 = 6.5025;
const C2: f32 = 58.5225;
/// The shortest side that is measured: the window must fit into the coarsest scale, a sixteenth of it.
const MIN_SIDE: usize = 11 << 4;

/// An original, prepared to be compared with many decoded pictures.
#[derive(Debug)]
pub(crate) struct Reference {
    /// By channel, then by scale.
    channels: Vec<Vec<Scale>>,
}

/// One channel of the original at one scale, with what the window says of it.
#[derive(Debug)]
struct Scale {
    plane: Plane,
    mean: Plane,
    mean_square: Plane,
}

impl Reference {
    /// `None` if a side is shorter than 176 pixels.
    pub(crate) fn new(picture: &Picture) -> Option<Self> {
        if picture.size().width().min(picture.size().height()) < MIN_SIDE {
            return None;
        }
        let window = window();
        let scale = |plane: Plane| Scale {
            mean: plane.blurred(&window),
            mean_square: plane.times(&plane).blurred(&window),
            plane,
        };
        let channels =
            (0..picture.channels().count()).map(|channel| scales(Plane::of(picture, channel)).map(scale).collect());
        Some(Self { channels: channels.collect() })
    }

    /// 0 to 1, and 1 for equal pictures.
    #[expect(clippy::cast_precision_loss, reason = "channels are few")]
    pub(crate) fn compare(&self, decoded: &Picture) -> f64 {
        let window = window();
        let channels = self.channels.iter().enumerate();
        let sum: f64 = channels.map(|(index, original)| channel(original, Plane::of(decoded, index), &window)).sum();
        sum / self.channels.len() as f64
    }
}

/// A channel at all scales, finest first.
fn scales(plane: Plane) -> impl Iterator<Item = Plane> {
    std::iter::successors(Some(plane), |plane| Some(plane.halved())).take(EXPONENTS.len())
}

fn channel(original: &[Scale], decoded: Plane, window: &[f32; TAPS]) -> f64 {
    let mut product = 1.0;
    for (index, (a, b)) in original.iter().zip(scales(decoded)).enumerate() {
        let (structure, similarity) = means(a, &b, window);
        let coarsest = index + 1 == EXPONENTS.len();
        let mean = if coarsest { similarity } else { structure };
        product *= mean.max(0.0).powf(EXPONENTS[index]);
    }
    product
}

/// Means over one scale: of the contrast-structure term, and of that times the luminance term.
#[expect(clippy::cast_precision_loss, reason = "pixels are far fewer than 2^53")]
fn means(a: &Scale, b: &Plane, window: &[f32; TAPS]) -> (f64, f64) {
    let mean = b.blurred(window);
    let mean_square = b.times(b).blurred(window);
    let mean_product = a.plane.times(b).blurred(window);
    let (mut structure, mut similarity) = (0.0, 0.0);
    for i in 0..mean.samples.len() {
        let (ma, mb) = (a.mean.samples[i], mean.samples[i]);
        let variances = a.mean_square.samples[i] + mean_square.samples[i] - ma * ma - mb * mb;
        let covariance = mean_product.samples[i] - ma * mb;
        let term = (2.0 * covariance + C2) / (variances + C2);
        let luminance = (2.0 * ma * mb + C1) / (ma * ma + mb * mb + C1);
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

    /// The Gaussian mean around every pixel that has the whole window inside.
    fn blurred(&self, window: &[f32; TAPS]) -> Self {
        let width = self.width;
        let narrow = width + 1 - TAPS;
        let rows = self.samples.len() / width + 1 - TAPS;
        let mut column = vec![0.0; width];
        let mut samples = vec![0.0; narrow * rows];
        for (out, around) in samples.chunks_exact_mut(narrow).zip(self.samples.windows(width * TAPS).step_by(width)) {
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

    /// Half the size: means of 2x2 pixels. An odd side gets a border of zeros on both ends first, as in pytorch_msssim.
    fn halved(&self) -> Self {
        let (width, height) = (self.width, self.samples.len() / self.width);
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

fn add(sums: &mut [f32], samples: &[f32], weight: f32) {
    for (sum, &sample) in sums.iter_mut().zip(samples) {
        *sum += weight * sample;
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "weights need no more than f32")]
fn window() -> [f32; TAPS] {
    let weight = |tap: usize| (-(tap as f64 - (TAPS / 2) as f64).powi(2) / (2.0 * SIGMA * SIGMA)).exp();
    let sum: f64 = (0..TAPS).map(weight).sum();
    std::array::from_fn(|tap| (weight(tap) / sum) as f32)
}

#[cfg(test)]
mod tests {
    use nestcast_codec::{Channels, Size};

    use super::*;

    fn picture(width: u32, height: u32, sample: impl Fn(u32, u32, u32) -> u32) -> Picture {
        let size = Size::new(width, height).expect("a valid size");
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let samples = pixels.flat_map(|(x, y)| [0, 1, 2].map(|c| u8::try_from(sample(x, y, c)).expect("a byte")));
        Picture::new(size, Channels::Rgb, samples.collect()).expect("the shape fits")
    }

    fn pattern(x: u32, y: u32, c: u32) -> u32 {
        (x * (3 + c) + y * (5 - c) + x * y * (c + 1) / 64) % 256
    }

    /// Half the contrast, and a regular noise of -11 to 11.
    fn faded(x: u32, y: u32, c: u32) -> u32 {
        (pattern(x, y, c) / 2 + 64 + (x * 31 + y * 17) % 23 - 11).min(255)
    }

    /// The figures are from a double-precision script that spells out pytorch_msssim; the second has odd sides.
    #[test]
    fn agrees_with_the_reference() {
        for (width, height, expected) in [(192, 176, 0.802_078_536), (181, 203, 0.802_476_426)] {
            let reference = Reference::new(&picture(width, height, pattern)).expect("large enough");
            let value = reference.compare(&picture(width, height, faded));
            assert!((value - expected).abs() < 1e-4, "{value}");
            assert!((reference.compare(&picture(width, height, pattern)) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn small_pictures_have_none() {
        assert!(Reference::new(&picture(175, 300, pattern)).is_none());
    }
}
