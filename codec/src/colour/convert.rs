//! Samples to a picture's planes and back, a few rows at a time (spec, "Colour" and "YCbCr").
//!
//! Planes contain a picture's colours along its axes, computed from samples less 128. One matrix converts a format's
//! samples to planes, and one converts back: it combines the axes with the format's own colours. No sample is rounded
//! on the way.

use std::ops::Range;

use crate::colour::axes::Axes;
use crate::colour::ycbcr;
use crate::picture::{Channels, Format, PlaneMut, View};
use crate::simd::widest;

/// Pixels that are converted together; a multiple of eight.
const BATCH_PIXELS: usize = 64;

/// Converts samples of a format to planes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToPlanes {
    /// Row-major.
    matrix: [f32; 9],
    /// The offset to subtract from the samples first: a grey of 128.
    zero: [f32; 3],
}

impl ToPlanes {
    pub(crate) fn new(format: Format, axes: Axes) -> Self {
        match format {
            Format::Ycbcr420(colours) | Format::Ycbcr420Deep { colours, .. } => {
                let matrix = product(&axes.analysis(), &ycbcr::to_rgb(colours));
                Self { matrix: single(matrix), zero: [ycbcr::middle(colours.range), 128.0, 128.0] }
            }
            _ => Self { matrix: single(axes.analysis()), zero: [128.0; 3] },
        }
    }

    /// Fills planes, row after row, with the colours of these rows of a picture. Encoders split off opacity before.
    pub(crate) fn rows(&self, picture: &View<'_>, rows: Range<usize>, planes: &mut [&mut [f32]; 3]) {
        let width = picture.size.width();
        for (at, y) in rows.enumerate() {
            let [a, b, c] =
                planes.each_mut().map(|plane| plane.get_mut(at * width..(at + 1) * width).unwrap_or_default());
            match picture.format {
                Format::Grey => widest!(grey_to_plane(picture.planes[0].row(y, width), a)),
                Format::Rgb => widest!(self.rgb_row(picture.planes[0].row(y, 3 * width), [a, b, c])),
                Format::Ycbcr420(_) => {
                    let half = width.div_ceil(2);
                    let [_, blue, red] = &picture.planes;
                    let luma = picture.planes[0].row(y, width);
                    let chroma = [blue.row(y / 2, half), red.row(y / 2, half)];
                    widest!(self.ycbcr_row(luma, chroma, [a, b, c]));
                }
                Format::Ycbcr420Deep { bits, .. } => self.deep_ycbcr_row(picture, bits, y, [a, b, c]),
                format => {
                    self.interleaved_row(picture.planes[0].row(y, format.pixel_bytes() * width), format, [a, b, c])
                }
            }
        }
    }

    /// Converts the colours of a row of any interleaved format. It is slower than the functions for usual formats.
    fn interleaved_row(&self, samples: &[u8], format: Format, [y, u, v]: [&mut [f32]; 3]) {
        let m = &self.matrix;
        for (x, pixel) in samples.chunks_exact(format.pixel_bytes()).enumerate() {
            let channel = |at: usize| sample(pixel, at, format.is_deep()) - 128.0;
            match format.channels() {
                Channels::Grey => y[x] = channel(0),
                Channels::Rgb => {
                    let [r, g, b] = [0, 1, 2].map(channel);
                    y[x] = m[0] * r + m[1] * g + m[2] * b;
                    u[x] = m[3] * r + m[4] * g + m[5] * b;
                    v[x] = m[6] * r + m[7] * g + m[8] * b;
                }
            }
        }
    }

    #[inline(always)]
    fn rgb_row(&self, samples: &[u8], planes: [&mut [f32]; 3]) {
        let m = &self.matrix;
        let [y, u, v] = planes.map(|plane| plane.chunks_mut(BATCH_PIXELS));
        for (((samples, y), u), v) in samples.chunks(3 * BATCH_PIXELS).zip(y).zip(u).zip(v) {
            let mut packed = [0; BATCH_PIXELS];
            unpack(samples, &mut packed);
            for (((&pixel, y), u), v) in packed.iter().zip(y).zip(u).zip(v) {
                let channel = |shift: u32| (pixel >> shift & 255) as i32 as f32 - 128.0;
                let [r, g, b] = [channel(0), channel(8), channel(16)];
                *y = m[0] * r + m[1] * g + m[2] * b;
                *u = m[3] * r + m[4] * g + m[5] * b;
                *v = m[6] * r + m[7] * g + m[8] * b;
            }
        }
    }

    /// As [`Self::ycbcr_row`], of samples of 9 to 16 bits.
    fn deep_ycbcr_row(&self, picture: &View<'_>, bits: u8, row: usize, [y, u, v]: [&mut [f32]; 3]) {
        let m = &self.matrix;
        let step = 1.0 / f32::from(1_u16 << (bits.clamp(9, 16) - 8));
        let sample =
            |plane: usize, x: usize, y: usize| f32::from(picture.deep_sample(plane, x, y)) * step - self.zero[plane];
        for x in 0..y.len() {
            let [luma, blue, red] = [sample(0, x, row), sample(1, x / 2, row / 2), sample(2, x / 2, row / 2)];
            y[x] = m[0] * luma + (m[1] * blue + m[2] * red);
            u[x] = m[3] * luma + (m[4] * blue + m[5] * red);
            v[x] = m[6] * luma + (m[7] * blue + m[8] * red);
        }
    }

    /// Every colour difference serves two pixels.
    #[inline(always)]
    fn ycbcr_row(&self, luma: &[u8], [blue, red]: [&[u8]; 2], planes: [&mut [f32]; 3]) {
        let m = &self.matrix;
        let zero = self.zero;
        let [y, u, v] = planes.map(|plane| plane.chunks_mut(BATCH_PIXELS));
        let [blue, red] = [blue, red].map(|row| row.chunks(BATCH_PIXELS / 2));
        for (((((luma, blue), red), y), u), v) in luma.chunks(BATCH_PIXELS).zip(blue).zip(red).zip(y).zip(u).zip(v) {
            let blue = twice(blue, zero[1]);
            let red = twice(red, zero[2]);
            let chroma = blue.iter().zip(&red);
            for ((((&luma, (blue, red)), y), u), v) in luma.iter().zip(chroma).zip(y).zip(u).zip(v) {
                let luma = f32::from(luma) - zero[0];
                *y = m[0] * luma + (m[1] * blue + m[2] * red);
                *u = m[3] * luma + (m[4] * blue + m[5] * red);
                *v = m[6] * luma + (m[7] * blue + m[8] * red);
            }
        }
    }
}

/// Converts planes to samples of a format.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FromPlanes {
    format: Format,
    /// Row-major.
    matrix: [f32; 9],
    /// The offset to add to the samples last: a grey of 128.
    zero: [f32; 3],
}

impl FromPlanes {
    pub(crate) fn new(format: Format, axes: Axes) -> Self {
        match format {
            Format::Ycbcr420(colours) => {
                let matrix = product(&ycbcr::from_rgb(colours), &axes.synthesis());
                Self { format, matrix: single(matrix), zero: [ycbcr::middle(colours.range), 128.0, 128.0] }
            }
            _ => Self { format, matrix: single(axes.synthesis()), zero: [128.0; 3] },
        }
    }

    /// Fills these rows of a picture of `width` from planes that begin with the first of these rows, whose number is
    /// even.
    pub(crate) fn rows(&self, planes: [&[f32]; 3], width: usize, rows: Range<usize>, out: &mut [PlaneMut<'_>; 3]) {
        for (at, y) in rows.clone().enumerate() {
            let row = |at: usize| planes.map(|plane| plane.get(at * width..(at + 1) * width).unwrap_or_default());
            match self.format {
                Format::Grey => widest!(plane_to_grey(row(at)[0], out[0].row(y, width))),
                Format::Rgb => widest!(self.rgb_row(row(at), out[0].row(y, 3 * width))),
                Format::Ycbcr420(_) => {
                    let [luma, blue, red] = out;
                    widest!(self.luma_row(row(at), luma.row(y, width)));
                    if y % 2 == 0 {
                        let half = width.div_ceil(2);
                        let below = if y + 1 < rows.end { at + 1 } else { at };
                        widest!(self.chroma_row(1, [row(at), row(below)], blue.row(y / 2, half)));
                        widest!(self.chroma_row(2, [row(at), row(below)], red.row(y / 2, half)));
                    }
                }
                format => self.interleaved_row(row(at), out[0].row(y, format.pixel_bytes() * width)),
            }
        }
    }

    /// Writes a row of any interleaved format, opaque. It is slower than the functions for usual formats.
    fn interleaved_row(&self, [y, u, v]: [&[f32]; 3], samples: &mut [u8]) {
        let m = &self.matrix;
        let (colours, deep) = (self.format.channels().count(), self.format.is_deep());
        for (x, pixel) in samples.chunks_exact_mut(self.format.pixel_bytes()).enumerate() {
            pixel.fill(u8::MAX);
            for channel in 0..colours {
                let value = if colours == 1 {
                    y[x]
                } else {
                    m[3 * channel] * y[x] + m[3 * channel + 1] * u[x] + m[3 * channel + 2] * v[x]
                };
                if deep {
                    pixel[2 * channel..][..2].copy_from_slice(&to_deep_sample(value).to_le_bytes());
                } else {
                    [pixel[channel], ..] = to_sample(value, 128.0).to_le_bytes();
                }
            }
        }
    }

    #[inline(always)]
    fn rgb_row(&self, planes: [&[f32]; 3], samples: &mut [u8]) {
        let m = &self.matrix;
        let [y, u, v] = planes.map(|plane| plane.chunks(BATCH_PIXELS));
        for (((samples, y), u), v) in samples.chunks_mut(3 * BATCH_PIXELS).zip(y).zip(u).zip(v) {
            let mut packed = [0; BATCH_PIXELS];
            for (((pixel, &y), &u), &v) in packed.iter_mut().zip(y).zip(u).zip(v) {
                let r = to_sample(m[0] * y + m[1] * u + m[2] * v, 128.0);
                let g = to_sample(m[3] * y + m[4] * u + m[5] * v, 128.0);
                let b = to_sample(m[6] * y + m[7] * u + m[8] * v, 128.0);
                *pixel = r | g << 8 | b << 16;
            }
            pack(&packed, samples);
        }
    }

    #[inline(always)]
    fn luma_row(&self, [y, u, v]: [&[f32]; 3], samples: &mut [u8]) {
        let m = &self.matrix;
        let zero = self.zero[0];
        for (((sample, y), u), v) in samples.iter_mut().zip(y).zip(u).zip(v) {
            [*sample, ..] = to_sample(m[0] * y + m[1] * u + m[2] * v, zero).to_le_bytes();
        }
    }

    /// Writes the means of two by two pixels, of fewer at an edge.
    #[inline(always)]
    fn chroma_row(&self, row: usize, planes: [[&[f32]; 3]; 2], samples: &mut [u8]) {
        let [a, b, c] = [3 * row, 3 * row + 1, 3 * row + 2].map(|at| self.matrix[at]);
        let pairs = |line: usize| {
            let [y, u, v] = planes[line].map(|plane| plane.chunks(2));
            y.zip(u).zip(v)
        };
        for ((sample, ((y, u), v)), ((below_y, below_u), below_v)) in samples.iter_mut().zip(pairs(0)).zip(pairs(1)) {
            let mean = |upper: &[f32], lower: &[f32]| {
                let last = upper.len() - 1;
                (upper[0] + upper[last] + (lower[0] + lower[last])) * 0.25
            };
            let value = a * mean(y, below_y) + b * mean(u, below_u) + c * mean(v, below_v);
            [*sample, ..] = to_sample(value, self.zero[row]).to_le_bytes();
        }
    }
}

/// Steps of a sample of 16 bits in one of a sample of 8 bits: 65535 / 255.
const DEEP_STEPS_OF_A_BYTE: f32 = 257.0;

/// Returns a sample of a pixel on the scale of 8 bits.
#[inline(always)]
pub(crate) fn sample(pixel: &[u8], at: usize, deep: bool) -> f32 {
    if deep {
        f32::from(u16::from_le_bytes([pixel[2 * at], pixel[2 * at + 1]])) / DEEP_STEPS_OF_A_BYTE
    } else {
        pixel[at].into()
    }
}

/// As [`to_sample`] of a value itself less 128, in 16 bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, and NaN gives 0")]
fn to_deep_sample(value: f32) -> u16 {
    ((value + 128.0) * DEEP_STEPS_OF_A_BYTE + 0.5).floor() as u16
}

/// Repeats each sample for two pixels, less `zero`.
#[inline(always)]
fn twice(samples: &[u8], zero: f32) -> [f32; BATCH_PIXELS] {
    let mut values = [0.0; BATCH_PIXELS];
    for (pair, &sample) in values.as_chunks_mut::<2>().0.iter_mut().zip(samples) {
        *pair = [f32::from(sample) - zero; 2];
    }
    values
}

#[inline(always)]
fn grey_to_plane(samples: &[u8], plane: &mut [f32]) {
    for (value, &sample) in plane.iter_mut().zip(samples) {
        *value = f32::from(sample) - 128.0;
    }
}

/// Converts a plane of one component, itself less 128, to samples: rounds to the nearest, half up, and clips to
/// 0..=255.
#[inline(always)]
pub(crate) fn plane_to_grey(plane: &[f32], samples: &mut [u8]) {
    for (sample, &value) in samples.iter_mut().zip(plane) {
        [*sample, ..] = to_sample(value, 128.0).to_le_bytes();
    }
}

/// Returns the matrix that does `second`, then `first`.
fn product(first: &[f64; 9], second: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|at| (0..3).map(|k| first[at / 3 * 3 + k] * second[3 * k + at % 3]).sum())
}

#[expect(clippy::cast_possible_truncation, reason = "planes are single precision")]
fn single(matrix: [f64; 9]) -> [f32; 9] {
    matrix.map(|value| value as f32)
}

/// Spreads pixels of three bytes into the low bytes of words; the fourth byte is arbitrary.
#[inline(always)]
fn unpack(samples: &[u8], packed: &mut [u32; BATCH_PIXELS]) {
    let (eights, rest) = samples.as_chunks::<24>();
    let (words, last) = packed.split_at_mut(8 * eights.len());
    for (bytes, words) in eights.iter().zip(words.as_chunks_mut::<8>().0) {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        *words = std::array::from_fn(|i| if i < 7 { word(3 * i) } else { word(20) >> 8 });
    }
    for (&[r, g, b], word) in rest.as_chunks::<3>().0.iter().zip(last) {
        *word = u32::from_le_bytes([r, g, b, 0]);
    }
}

/// Packs pixels of three bytes from the low bytes of words, whose fourth byte is 0.
#[inline(always)]
fn pack(packed: &[u32; BATCH_PIXELS], samples: &mut [u8]) {
    let (eights, rest) = samples.as_chunks_mut::<24>();
    let (words, last) = packed.split_at(8 * eights.len());
    for (bytes, words) in eights.iter_mut().zip(words.as_chunks::<8>().0) {
        let pair = |i: usize| u64::from(words[2 * i]) | u64::from(words[2 * i + 1]) << 24;
        let [a, b, c, d] = [pair(0), pair(1), pair(2), pair(3)];
        let [first, second, third] = [a | b << 48, b >> 16 | c << 32, c >> 32 | d << 16];
        bytes[..8].copy_from_slice(&first.to_le_bytes());
        bytes[8..16].copy_from_slice(&second.to_le_bytes());
        bytes[16..].copy_from_slice(&third.to_le_bytes());
    }
    for (pixel, word) in rest.as_chunks_mut::<3>().0.iter_mut().zip(last) {
        let [r, g, b, _] = word.to_le_bytes();
        *pixel = [r, g, b];
    }
}

/// Adds `zero`, rounds half up and clips to 0..=255; NaN gives 0.
///
/// Every step has a vector instruction: between 0 and 256 the sum with `ROUNDING_OFFSET` is `ROUNDING_OFFSET` and the
/// nearest integer.
#[inline(always)]
fn to_sample(value: f32, zero: f32) -> u32 {
    const ROUNDING_OFFSET: f32 = 8_388_608.0;
    let value = value + (zero + 0.5);
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 255.0 { value } else { 255.0 };
    let nearest = value + ROUNDING_OFFSET;
    nearest.to_bits() - ROUNDING_OFFSET.to_bits() - u32::from(nearest - ROUNDING_OFFSET > value)
}
