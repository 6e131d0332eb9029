//! RGB to a picture's three planes and back.

use crate::colour::axes::Axes;
use crate::colour::planes::Planes;
use crate::parallel;
use crate::picture::Picture;

/// Pixels that one job takes: small enough to stay in cache, large enough to be worth a hand-over.
const CHUNK: usize = 1 << 15;
/// Pixels that are converted together; a multiple of eight.
const BATCH: usize = 64;

pub(crate) fn from_picture(picture: &Picture, axes: Axes, threads: usize) -> Planes {
    let (size, channels) = (picture.size(), picture.channels());
    let mut components = vec![vec![0.0_f32; size.pixels()]; channels.count()];
    let mut parts: Vec<_> = components.iter_mut().map(|plane| plane.chunks_mut(CHUNK)).collect();
    let jobs = picture.samples().chunks(CHUNK * channels.count()).map(|samples| {
        let planes: Vec<&mut [f32]> = parts.iter_mut().filter_map(Iterator::next).collect();
        (samples, planes)
    });
    let matrix = axes.analysis();
    parallel::for_each(threads, jobs, |(samples, mut planes)| to_planes(&matrix, samples, &mut planes));
    Planes { size, channels, axes, components }
}

pub(crate) fn to_picture(planes: &Planes, threads: usize) -> Picture {
    let (size, channels, matrix) = (planes.size, planes.channels, planes.axes.synthesis());
    let mut samples = vec![0_u8; size.pixels() * channels.count()];
    let jobs = samples.chunks_mut(CHUNK * channels.count()).enumerate();
    parallel::for_each(threads, jobs, |(index, samples)| {
        let planes: Vec<&[f32]> = planes.components.iter().map(|plane| &plane[index * CHUNK..]).collect();
        to_samples(&matrix, &planes, samples);
    });
    Picture::new(size, channels, samples).expect("one sample for every pixel and channel")
}

/// Fills one plane from grey samples, or three from RGB by the matrix of [`Axes::analysis`].
pub(crate) fn to_planes<P: AsMut<[f32]>>(m: &[f32; 9], samples: &[u8], planes: &mut [P]) {
    match planes {
        [plane] => {
            for (value, &sample) in plane.as_mut().iter_mut().zip(samples) {
                *value = f32::from(sample) - 128.0;
            }
        }
        [y, u, v] => {
            let [y, u, v] = [y, u, v].map(|plane| plane.as_mut().chunks_mut(BATCH));
            for (((samples, y), u), v) in samples.chunks(3 * BATCH).zip(y).zip(u).zip(v) {
                let mut packed = [0; BATCH];
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
        _ => unreachable!("a picture has one or three components"),
    }
}

/// Fills grey samples from one plane, or RGB from three by the matrix of [`Axes::synthesis`]. `planes` may be longer than the samples: rows are padded.
pub(crate) fn to_samples<P: AsRef<[f32]>>(m: &[f32; 9], planes: &[P], samples: &mut [u8]) {
    match planes {
        [plane] => {
            for (sample, &value) in samples.iter_mut().zip(plane.as_ref()) {
                [*sample, ..] = to_sample(value).to_le_bytes();
            }
        }
        [y, u, v] => {
            let [y, u, v] = [y, u, v].map(|plane| plane.as_ref().chunks(BATCH));
            for (((samples, y), u), v) in samples.chunks_mut(3 * BATCH).zip(y).zip(u).zip(v) {
                let mut packed = [0; BATCH];
                for (((pixel, &y), &u), &v) in packed.iter_mut().zip(y).zip(u).zip(v) {
                    let r = to_sample(m[0] * y + m[1] * u + m[2] * v);
                    let g = to_sample(m[3] * y + m[4] * u + m[5] * v);
                    let b = to_sample(m[6] * y + m[7] * u + m[8] * v);
                    *pixel = r | g << 8 | b << 16;
                }
                pack(&packed, samples);
            }
        }
        _ => unreachable!("a picture has one or three components"),
    }
}

/// Pixels of three bytes into the low bytes of words; the fourth byte is any.
fn unpack(samples: &[u8], packed: &mut [u32; BATCH]) {
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

/// Pixels of three bytes out of the low bytes of words, whose fourth byte is 0.
fn pack(packed: &[u32; BATCH], samples: &mut [u8]) {
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

/// Rounds half up and clips to 0..=255; what is not a number gives 0.
///
/// All of it has a vector instruction: between 0 and 256 the sum with `WHOLE` is `WHOLE` and the nearest integer.
#[inline]
fn to_sample(value: f32) -> u32 {
    const WHOLE: f32 = 8_388_608.0;
    let value = value + 128.5;
    let value = if value > 0.0 { value } else { 0.0 };
    let value = if value < 255.0 { value } else { 255.0 };
    let nearest = value + WHOLE;
    nearest.to_bits() - WHOLE.to_bits() - u32::from(nearest - WHOLE > value)
}
