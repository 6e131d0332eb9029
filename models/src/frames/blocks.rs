//! Frames of planar YCbCr 4:2:0 as a network's input: the numbers of each block of 4 x 4 luma samples, one after the
//! other.

use std::ops::Range;

use nestcast_codec::{DecodedFrame, PlaneMut};

use crate::deep::tiles::Tile;
use crate::tensor::Tensor;

/// Luma samples of a block, each way.
pub(super) const BLOCK_SIDE: usize = 4;
/// Samples of a block: those of luma, then those of the blue and of the red difference, row by row.
pub(super) const BLOCK_SAMPLES: usize = 24;
/// Numbers of a block: the frame's samples, what the frame adds to its prediction, and the significance of each plane.
pub(super) const BLOCK_CHANNELS: usize = 2 * BLOCK_SAMPLES + 3;
/// Where each plane's samples begin in a block.
const FIRST_SAMPLES: [usize; 3] = [0, 16, 20];

/// Predictions are in eighths of a step.
const PREDICTED_UNIT: f32 = 1.0 / 8.0;

/// The place of a plane's samples.
#[derive(Clone, Copy)]
struct Plane {
    number: usize,
    /// Samples of a block, each way.
    side: usize,
    width: usize,
    height: usize,
}

impl Plane {
    fn of(frame: &DecodedFrame<'_>, number: usize) -> Self {
        let [width, height] = frame.plane(number);
        Self { number, side: if number == 0 { BLOCK_SIDE } else { BLOCK_SIDE / 2 }, width, height }
    }
}

/// Copies a tile and its surroundings; beyond the frame the outermost samples are repeated.
pub(super) fn read(tile: &Tile, frame: &DecodedFrame<'_>, input: &mut Tensor) {
    let [across, down] = [&tile.x.outer, &tile.y.outer].map(blocks_of);
    input.shape.clear();
    input.shape.extend([1, down.len(), across.len(), BLOCK_CHANNELS]);
    // All is written below.
    input.data.resize(down.len() * across.len() * BLOCK_CHANNELS, 0.0);
    let rows = input.data.chunks_exact_mut(across.len() * BLOCK_CHANNELS);
    for (row, blocks) in down.zip(rows) {
        let (blocks, _) = blocks.as_chunks_mut::<BLOCK_CHANNELS>();
        for plane in [0, 1, 2].map(|number| Plane::of(frame, number)) {
            let first = FIRST_SAMPLES[plane.number];
            for i in 0..plane.side {
                let y = (row * plane.side + i).min(plane.height - 1);
                let filtered = frame.filtered(plane.number, y);
                let predicted = frame.predicted(plane.number, y);
                scatter(plane, across.start, first + i * plane.side, blocks, |x| filtered[x]);
                let added = |x: usize| filtered[x] - f32::from(predicted[x]) * PREDICTED_UNIT;
                scatter(plane, across.start, BLOCK_SAMPLES + first + i * plane.side, blocks, added);
            }
            read_significance(plane, frame, row, across.start, blocks);
        }
    }
}

/// Writes one row of samples into the blocks from block `start` on.
#[inline(always)]
fn scatter(
    plane: Plane,
    start: usize,
    channel: usize,
    blocks: &mut [[f32; BLOCK_CHANNELS]],
    value: impl Fn(usize) -> f32,
) {
    let whole = (plane.width / plane.side).saturating_sub(start).min(blocks.len());
    let (inside, beyond) = blocks.split_at_mut(whole);
    for (at, block) in (start..).zip(inside) {
        for (x, out) in (at * plane.side..).zip(&mut block[channel..channel + plane.side]) {
            *out = value(x);
        }
    }
    for (at, block) in (start + whole..).zip(beyond) {
        for (x, out) in (at * plane.side..).zip(&mut block[channel..channel + plane.side]) {
            *out = value(x.min(plane.width - 1));
        }
    }
}

/// The significance of blocks of 4 x 4 samples of the plane, where a block of a difference covers four blocks of luma.
fn read_significance(
    plane: Plane,
    frame: &DecodedFrame<'_>,
    row: usize,
    start: usize,
    blocks: &mut [[f32; BLOCK_CHANNELS]],
) {
    let own = BLOCK_SIDE / plane.side;
    let of_row = frame.significance(plane.number, (row / own).min(plane.height.div_ceil(BLOCK_SIDE) - 1));
    for (at, block) in (start..).zip(blocks) {
        block[2 * BLOCK_SAMPLES + plane.number] = f32::from(of_row[(at / own).min(of_row.len() - 1)]);
    }
}

/// Writes the tile's own samples, corrected; `correction` covers the surroundings too.
pub(super) fn write(tile: &Tile, frame: &DecodedFrame<'_>, correction: &[f32], out: &mut [PlaneMut<'_>; 3]) {
    let across = blocks_of(&tile.x.outer);
    let down = blocks_of(&tile.y.outer);
    let own_across = blocks_of(&tile.x.inner);
    let own_down = blocks_of(&tile.y.inner);
    let rows = correction.chunks_exact(across.len() * BLOCK_SAMPLES).skip(own_down.start - down.start);
    for (row, blocks) in own_down.zip(rows) {
        let (blocks, _) = blocks.as_chunks::<BLOCK_SAMPLES>();
        let blocks = &blocks[own_across.start - across.start..][..own_across.len()];
        for (plane, out) in [0, 1, 2].map(|number| Plane::of(frame, number)).into_iter().zip(&mut *out) {
            let y = row * plane.side;
            for (i, y) in (y..(y + plane.side).min(plane.height)).enumerate() {
                let from = own_across.start * plane.side;
                let filtered = &frame.filtered(plane.number, y)[from..];
                let samples = &mut out.samples[y * out.stride + from..][..plane.width - from];
                let first = FIRST_SAMPLES[plane.number] + i * plane.side;
                let parts = filtered.chunks(plane.side).zip(samples.chunks_mut(plane.side));
                for ((filtered, samples), block) in parts.zip(blocks) {
                    let values = filtered.iter().zip(&block[first..first + plane.side]);
                    samples.iter_mut().zip(values).for_each(|(out, (value, more))| *out = sample(value + more));
                }
            }
        }
    }
}

/// The blocks of a span of luma samples, the last of which may be cut.
fn blocks_of(span: &Range<usize>) -> Range<usize> {
    span.start / BLOCK_SIDE..span.end.div_ceil(BLOCK_SIDE)
}

/// The nearest sample, half up, of its value less 128.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped; what is not a number is 0")]
fn sample(value: f32) -> u8 {
    (value + 128.5).clamp(0.0, 255.0) as u8
}
