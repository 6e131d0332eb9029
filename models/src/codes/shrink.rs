//! Any picture as a small square: each of its pixels is the mean of the area below it.

use std::ops::Range;

use nestcast_codec::{Channels, Picture};

/// Pixels of each side of the pictures that codes are made of.
pub const SIDE_PIXELS: usize = SIDE_U32 as usize;
pub(super) const SIDE_U32: u32 = 32;

/// The whole picture as `side` x `side` RGB samples, rows of red, green, blue, stretched in each direction on its own.
/// Each sample is the rounded mean of the area below it, in which a pixel that is partly below counts by its share. A
/// planar picture gives its luma. `side` is 1 to 32.
pub(super) fn shrink(picture: &Picture, side: usize) -> Vec<u8> {
    let width = picture.size().width();
    let height = picture.size().height();
    let channels =
        if picture.channels() == Channels::Rgb && picture.samples().len() == 3 * width * height { 3 } else { 1 };
    let mut sums = [[0_u64; 3 * SIDE_PIXELS]; SIDE_PIXELS];
    for (y, row) in picture.samples().chunks_exact(channels * width).take(height).enumerate() {
        let across = across(row, channels, side);
        for (target, weight) in targets(y, height, side) {
            sums[target].iter_mut().zip(across).for_each(|(sum, value)| *sum += weight * value);
        }
    }
    let area = (width * height) as u64;
    let mean = |sum: &u64| u8::try_from((sum + area / 2) / area).unwrap_or(u8::MAX);
    sums.iter().take(side).flat_map(|row| &row[..3 * side]).map(mean).collect()
}

/// A row's sums over the widths of `side` pixels, each by red, green and blue.
fn across(row: &[u8], channels: usize, side: usize) -> [u64; 3 * SIDE_PIXELS] {
    let width = row.len() / channels;
    let mut sums = [0; 3 * SIDE_PIXELS];
    for (target, sums) in sums.chunks_exact_mut(3).take(side).enumerate() {
        let (below, first, last) = below(target, width, side);
        for (colour, sum) in sums.iter_mut().enumerate() {
            let samples = row[below.start * channels + colour % channels..].iter().step_by(channels).take(below.len());
            let whole: u64 = samples.clone().map(|&sample| u64::from(sample)).sum();
            let ends = [samples.clone().next(), samples.clone().next_back()];
            let ends = ends.map(|sample| sample.map_or(0, |&sample| u64::from(sample)));
            *sum = side as u64 * whole - first * ends[0] - last * ends[1];
        }
    }
    sums
}

/// The pixels of `length` that lie below one of `side`, and how many `side`ths of the first and of the last lie outside
/// it.
fn below(target: usize, length: usize, side: usize) -> (Range<usize>, u64, u64) {
    let start = target * length;
    let end = (target + 1) * length;
    let pixels = start / side..end.div_ceil(side);
    let outside = (start - pixels.start * side, pixels.end * side - end);
    (pixels, outside.0 as u64, outside.1 as u64)
}

/// Which of `side` lie above pixel `at` of `length`, each with the number of `side`ths of it.
fn targets(at: usize, length: usize, side: usize) -> impl Iterator<Item = (usize, u64)> {
    let start = at * side;
    let end = (at + 1) * side;
    (start / length..end.div_ceil(length)).map(move |target| {
        let overlap = end.min((target + 1) * length) - start.max(target * length);
        (target, overlap as u64)
    })
}

#[cfg(test)]
mod tests {
    use nestcast_codec::Size;

    use super::*;

    /// The definition, in floats, pixel by pixel.
    fn defined(picture: &Picture, channels: usize, side: usize) -> Vec<f64> {
        let width = picture.size().width();
        let height = picture.size().height();
        let overlap = |target: usize, at: usize, length: usize| {
            let scale = length as f64 / side as f64;
            let start = target as f64 * scale;
            let end = (target + 1) as f64 * scale;
            (end.min(at as f64 + 1.0) - start.max(at as f64)).max(0.0) / scale
        };
        let sample =
            |x: usize, y: usize, colour: usize| picture.samples()[(y * width + x) * channels + colour % channels];
        let mean = |index: usize| {
            let target_y = index / 3 / side;
            let target_x = index / 3 % side;
            let colour = index % 3;
            let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
            let weighted = pixels.map(|(x, y)| {
                overlap(target_x, x, width) * overlap(target_y, y, height) * f64::from(sample(x, y, colour))
            });
            weighted.sum::<f64>()
        };
        (0..3 * side * side).map(mean).collect()
    }

    #[test]
    fn each_pixel_is_the_mean_below_it() {
        for (width, height, channels) in [(1, 1, 1), (5, 40, 3), (32, 32, 3), (33, 31, 1), (64, 100, 3)] {
            let samples =
                (0..width * height * channels).map(|at| u8::try_from(at * 89 % 251).expect("a byte")).collect();
            let size = Size::new(u32::try_from(width).expect("short"), u32::try_from(height).expect("short"));
            let kind = if channels == 1 { Channels::Grey } else { Channels::Rgb };
            let picture = Picture::new(size.expect("a size"), kind, samples).expect("all samples");
            for side in [SIDE_PIXELS, 30, 1] {
                let small = shrink(&picture, side);
                let means = defined(&picture, channels, side);
                assert_eq!(small.len(), means.len());
                for (at, (&given, mean)) in small.iter().zip(means).enumerate() {
                    assert!(
                        (f64::from(given) - mean).abs() <= 0.5 + 1e-9,
                        "{at} of {width}x{height}: {given}, not {mean}"
                    );
                }
            }
            if (width, height) == (32, 32) {
                assert_eq!(shrink(&picture, SIDE_PIXELS), picture.samples());
            }
        }
    }
}
